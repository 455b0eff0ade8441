// The pairwise workload on a bare binary heap, with two FIFO queues for each radio.
//
// This is the limit for a packet model, without any simulator: a message waits for the sender's
// uplink, flies, waits for the receiver's downlink as if it had arrived whole (store and forward),
// and then for the core. That downlink is more than the other programs of this folder have; it
// adds two transmissions to each transaction. Queues hold 200 messages, and what finds one full is
// dropped and counted. Usage: bare_queues HOSTS SECONDS; prints one line of JSON.

#include "machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <random>
#include <vector>

namespace {

// The workload's constants; bench/workload.py has the same.
constexpr double RATE_PER_S              = 1.0;
constexpr double TRANSMISSION_S          = 668 / (10e6 / 8);
constexpr double ACCESS_LATENCY_MEDIAN_S = 0.010;
constexpr double ACCESS_LATENCY_SIGMA    = 0.25;
constexpr double ANSWER_CPU_S            = 0.15e-3;
constexpr double CONFIRM_CPU_S           = 0.10e-3;
constexpr double LONGEST_WAIT_S          = 200 * TRANSMISSION_S;

enum Kind : uint8_t { ISSUE, AT_DOWNLINK, PROPOSAL, ANSWERED, BACK_AT_DOWNLINK, REPLY, CONFIRMED };

struct Event {
  double date_s;
  uint64_t serial; // orders simultaneous events
  double started_s;
  uint32_t proposer;
  uint32_t partner;
  Kind kind;

  bool operator<(const Event& other) const // the heap gives the greatest: the earliest
  {
    return date_s != other.date_s ? date_s > other.date_s : serial > other.serial;
  }
};

class Pairwise {
public:
  explicit Pairwise(uint32_t count)
      : access_s_(count), uplink_free_s_(count), downlink_free_s_(count), core_free_s_(count), other_(0, count - 2)
  {
    std::lognormal_distribution<double> factor(0, ACCESS_LATENCY_SIGMA);
    for (auto& latency_s : access_s_)
      latency_s = ACCESS_LATENCY_MEDIAN_S * factor(chance_);
    for (uint32_t host = 0; host < count; host++)
      push(gap_(chance_), ISSUE, {0, 0, 0, host, host, ISSUE});
  }

  void run(double end_s)
  {
    while (!events_.empty() && events_.top().date_s <= end_s) {
      Event event = events_.top();
      events_.pop();
      advance(event);
    }
  }

  uint64_t dropped() const { return dropped_; }
  uint64_t completed() const { return latencies_s_.size(); }
  double mean_latency_s() const
  {
    double sum_s = 0;
    for (double latency_s : latencies_s_)
      sum_s += latency_s;
    return sum_s / static_cast<double>(completed());
  }
  double latency_sd_s() const
  {
    double mean_s = mean_latency_s(), squares_s2 = 0;
    for (double latency_s : latencies_s_)
      squares_s2 += (latency_s - mean_s) * (latency_s - mean_s);
    return std::sqrt(squares_s2 / static_cast<double>(completed()));
  }

private:
  void advance(Event event)
  {
    switch (event.kind) {
      case ISSUE:
        return issue(event);
      case AT_DOWNLINK:
        return receive(event, event.partner, PROPOSAL);
      case PROPOSAL:
        return push(serve(core_free_s_[event.partner], event.date_s, ANSWER_CPU_S), ANSWERED, event);
      case ANSWERED:
        return send(event, event.partner, BACK_AT_DOWNLINK);
      case BACK_AT_DOWNLINK:
        return receive(event, event.proposer, REPLY);
      case REPLY:
        return push(serve(core_free_s_[event.proposer], event.date_s, CONFIRM_CPU_S), CONFIRMED, event);
      case CONFIRMED:
        latencies_s_.push_back(event.date_s - event.started_s);
    }
  }

  void issue(Event event)
  {
    push(event.date_s + gap_(chance_), ISSUE, event);
    event.partner = other_(chance_);
    event.partner += event.partner >= event.proposer;
    event.started_s = event.date_s;
    send(event, event.proposer, AT_DOWNLINK);
  }

  void send(const Event& event, uint32_t from, Kind next)
  {
    if (is_full(uplink_free_s_[from], event.date_s))
      return;
    double way_s = access_s_[event.proposer] + access_s_[event.partner];
    push(serve(uplink_free_s_[from], event.date_s, TRANSMISSION_S) + way_s, next, event);
  }

  void receive(const Event& event, uint32_t at, Kind next)
  {
    if (!is_full(downlink_free_s_[at], event.date_s))
      push(serve(downlink_free_s_[at], event.date_s, TRANSMISSION_S), next, event);
  }

  bool is_full(double free_s, double now_s)
  {
    bool full = free_s - now_s > LONGEST_WAIT_S;
    dropped_ += full;
    return full;
  }

  // Books a FIFO server; returns when it is done.
  static double serve(double& free_s, double now_s, double length_s)
  {
    return free_s = std::max(now_s, free_s) + length_s;
  }

  void push(double date_s, Kind kind, Event event)
  {
    event.date_s = date_s;
    event.serial = serial_++;
    event.kind   = kind;
    events_.push(event);
  }

  std::vector<double> access_s_, uplink_free_s_, downlink_free_s_, core_free_s_, latencies_s_;
  std::priority_queue<Event> events_;
  uint64_t serial_ = 0, dropped_ = 0;
  std::mt19937_64 chance_{1};
  std::exponential_distribution<double> gap_{RATE_PER_S};
  std::uniform_int_distribution<uint32_t> other_;
};

} // namespace

int main(int argc, char** argv)
{
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s HOSTS SECONDS\n", argv[0]);
    return 2;
  }
  double created_s = wall_s();
  Pairwise pairwise(static_cast<uint32_t>(std::atoi(argv[1])));
  double started_s = wall_s();
  pairwise.run(std::atof(argv[2]));
  double ended_s = wall_s();

  std::printf("{\"transactions\": %llu, \"mean_latency_s\": %.9f, \"latency_sd_s\": %.9f, \"dropped\": %llu, "
              "\"setup_s\": %.6f, \"run_s\": %.6f, \"memory_mb\": %.1f}\n",
              static_cast<unsigned long long>(pairwise.completed()), pairwise.mean_latency_s(),
              pairwise.latency_sd_s(), static_cast<unsigned long long>(pairwise.dropped()), started_s - created_s,
              ended_s - started_s, peak_memory_mb());
}
