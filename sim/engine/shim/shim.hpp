// The border between the Rust driver and SimGrid: plain C, tokens instead of pointers.
//
// The driver names every activity by a small dense number of its own (a token)
// and is told that number back when the activity ends. Nothing of pocketsim's
// protocols, profiles or documents is known here.
#pragma once
#include <cstdint>

extern "C" {

/// Grows with each change of what is declared here; the driver refuses another than its own.
constexpr uint32_t POCKETSIM_INTERFACE = 2;

/// How an activity ended.
enum pocketsim_outcome : uint32_t { POCKETSIM_DONE = 0, POCKETSIM_FAILED = 1 };

/// What the driver is told; `user` is the pointer given to `run`.
struct pocketsim_callbacks {
  void (*work_ended)(void* user, uint32_t token, uint32_t outcome);
  void (*flight_ended)(void* user, uint32_t token, uint32_t outcome);
  void (*wake)(void* user);
};

/// The way from one phone to another, or from one netpoint of a platform to another.
struct pocketsim_route {
  /// One way, seconds; of some zones more than its links have.
  double latency_s;
  /// Of its slowest link; infinite without any.
  double bytes_per_s;
  /// Whether flows share a link of it (1), and whether such a link is Wi-Fi's (2).
  uint32_t sharing;
};

/// What the library does, as one table: whoever loads it looks one symbol up.
struct pocketsim_functions {
  /// POCKETSIM_INTERFACE of the header that the library was compiled with.
  uint32_t interface;

  /// Creates the only engine that this process will ever have. `options` are SimGrid's own `--cfg=` values.
  void (*init)(const char* const* options, uint32_t option_count);

  /// Reads what lies between sites, a platform in XML, before anything is added. Returns what is wrong
  /// with it, or nothing; of some mistakes SimGrid ends the process, and says why.
  const char* (*load_platform)(const char* path);

  /// How many hosts and routers the platform has; `name_at` tells their names, by name.
  uint32_t (*netpoints)();
  const char* (*name_at)(uint32_t number);
  bool (*is_host_at)(uint32_t number);

  /// Adds an access point or cell whose air is shared; returns its number.
  uint32_t (*add_site)(double bytes_per_s);

  /// Adds a phone with `cores` cores, each doing one CPU second per second; `air` is the number of
  /// its shared site, -1 for none. At `site`, whatever that is, it reaches others without what lies
  /// between sites; the way to others is from `netpoint`, unless that is null.
  uint32_t (*add_phone)(uint32_t cores, double up_bytes_per_s, double down_bytes_per_s, double latency_s, int64_t air,
                        uint32_t site, const char* netpoint);

  /// Adds what is at `netpoint` itself; no two are at one site. False where there is no such netpoint.
  bool (*add_netpoint)(const char* netpoint);

  /// Relays are at `netpoint`; without one, relayed ways do not touch what lies between sites.
  void (*set_relay)(const char* netpoint);

  /// Closes the platform; nothing may be added afterwards.
  void (*seal)();

  /// Finds the way from one to another of those that were added, in their order. False if there is none.
  bool (*route)(uint32_t from, uint32_t to, pocketsim_route* found);

  /// Starts to carry `bytes` from one to another of those that were added, perhaps by the relay.
  void (*carry)(uint32_t token, uint32_t from, uint32_t to, double bytes, bool relayed);

  /// Starts to spend `cpu_s` core seconds on a phone, on up to `threads` cores at once. With one
  /// thread, `priority` is the weight against other work when the cores are shared.
  void (*spend)(uint32_t token, uint32_t phone, double cpu_s, uint32_t threads, double priority);

  /// Asks for one wake-up at `date_s`; replaces the one asked for before.
  void (*wake_at)(double date_s);

  /// Turns a phone off (its activities fail) or on.
  void (*set_on)(uint32_t phone, bool on);

  /// Simulated time in seconds.
  double (*clock)();

  /// When something happens next to what is carried or spent; infinite for never.
  double (*next_date)();

  /// Runs until `end_s` or until nothing is left to do.
  void (*run)(double end_s, const pocketsim_callbacks* callbacks, void* user);
};

/// The only symbol of the library.
__attribute__((visibility("default"))) const pocketsim_functions* pocketsim_simgrid();
}
