// The border between the Rust driver and SimGrid: plain C, tokens instead of pointers.
//
// The driver names every activity by a small dense number of its own (a token)
// and is told that number back when the activity ends. Nothing of pocketsim's
// protocols, profiles or documents is known here.
#pragma once
#include <cstdint>

extern "C" {

/// Grows with each change of what is declared here; the driver refuses another than its own.
constexpr uint32_t POCKETSIM_INTERFACE = 1;

/// How an activity ended.
enum pocketsim_outcome : uint32_t { POCKETSIM_DONE = 0, POCKETSIM_FAILED = 1 };

/// What the driver is told; `user` is the pointer given to `run`.
struct pocketsim_callbacks {
  void (*work_ended)(void* user, uint32_t token, uint32_t outcome);
  void (*flight_ended)(void* user, uint32_t token, uint32_t outcome);
  void (*wake)(void* user);
};

/// What the library does, as one table: whoever loads it looks one symbol up.
struct pocketsim_functions {
  /// POCKETSIM_INTERFACE of the header that the library was compiled with.
  uint32_t interface;

  /// Creates the only engine that this process will ever have. `options` are SimGrid's own `--cfg=` values.
  void (*init)(const char* const* options, uint32_t option_count);

  /// Adds an access point or cell whose air is shared; returns its number.
  uint32_t (*add_site)(double bytes_per_s);

  /// Adds a phone with `cores` cores, each doing one CPU second per second; `site` is -1 for none.
  uint32_t (*add_phone)(uint32_t cores, double up_bytes_per_s, double down_bytes_per_s, double latency_s, int64_t site);

  /// Closes the platform; no site or phone may be added afterwards.
  void (*seal)();

  /// Starts to carry `bytes` from one phone to another.
  void (*carry)(uint32_t token, uint32_t from, uint32_t to, double bytes);

  /// Starts to spend `cpu_s` core seconds on a phone, on up to `threads` cores at once. With one
  /// thread, `priority` is the weight against other work when the cores are shared.
  void (*spend)(uint32_t token, uint32_t phone, double cpu_s, uint32_t threads, double priority);

  /// Asks for one wake-up at `date_s`; replaces the one asked for before.
  void (*wake_at)(double date_s);

  /// Turns a phone off (its activities fail) or on.
  void (*set_on)(uint32_t phone, bool on);

  /// Simulated time in seconds.
  double (*clock)();

  /// Runs until `end_s` or until nothing is left to do.
  void (*run)(double end_s, const pocketsim_callbacks* callbacks, void* user);
};

/// The only symbol of the library.
__attribute__((visibility("default"))) const pocketsim_functions* pocketsim_simgrid();
}
