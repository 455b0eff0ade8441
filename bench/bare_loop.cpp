// The pairwise workload written directly against SimGrid, without pocketsim.
//
// This is the ceiling for the engine: the same SimGrid calls (maestro-level activities with
// completion callbacks, kernel timers, no actors), but no plan, no machines, no trace and no
// language border. Usage: bare_loop HOSTS SECONDS; prints one line of JSON.

#include "machine.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace sg4 = simgrid::s4u;
using simgrid::kernel::timer::Timer;

namespace {

// The workload's constants; bench/workload.py has the same.
constexpr double RATE_PER_S       = 1.0;
constexpr double MESSAGE_BYTES    = 668;
constexpr double ACCESS_BYTES_PER_S = 10e6 / 8;
constexpr double ACCESS_LATENCY_MEDIAN_S = 0.010;
constexpr double ACCESS_LATENCY_SIGMA    = 0.25;
constexpr double ANSWER_CPU_S     = 0.15e-3;
constexpr double CONFIRM_CPU_S    = 0.10e-3;
constexpr double FLOPS_PER_CPU_S  = 1e9;

enum Stage : uint8_t { PROPOSAL, ANSWERING, REPLY, CONFIRMING };

struct Transaction {
  uint32_t proposer;
  uint32_t partner;
  double started_s;
  Stage stage;
  sg4::CommPtr flight; // a communication that nobody references is destroyed while it runs
};

class Pairwise {
public:
  Pairwise(const std::vector<sg4::Host*>& hosts, double end_s) : hosts_(hosts), end_s_(end_s), random_(hosts.size())
  {
    for (uint32_t host = 0; host < hosts.size(); host++) {
      random_[host] = mix(host); // far apart, or neighbours would draw the same numbers
      schedule(host);
    }
  }
  uint64_t completed() const { return completed_; }
  double mean_latency_s() const { return latency_sum_s_ / static_cast<double>(completed_); }
  double latency_sd_s() const
  {
    double mean_s = mean_latency_s();
    return std::sqrt(latency_squares_s2_ / static_cast<double>(completed_) - mean_s * mean_s);
  }

private:
  // splitmix64: eight bytes of state a host, because state that leaves the cache is what costs.
  double uniform(uint32_t host)
  {
    return static_cast<double>(mix(random_[host]++) >> 11) * 0x1.0p-53;
  }

  static uint64_t mix(uint64_t counter)
  {
    uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15ULL;
    z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z          = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  void schedule(uint32_t host)
  {
    double date_s = sg4::Engine::get_clock() - std::log1p(-uniform(host)) / RATE_PER_S;
    if (date_s < end_s_)
      Timer::set(date_s, [this, host] { propose(host); });
  }

  void propose(uint32_t host)
  {
    schedule(host);
    auto partner = static_cast<uint32_t>(uniform(host) * static_cast<double>(hosts_.size() - 1));
    partner += partner >= host;
    uint32_t number = allocate();
    auto& now       = transactions_[number];
    now.proposer    = host;
    now.partner     = partner;
    now.started_s   = sg4::Engine::get_clock();
    now.stage       = PROPOSAL;
    carry(number, host, partner);
  }

  void advance(uint32_t number)
  {
    auto& now = transactions_[number];
    // An ended communication holds the callback that is running: it may go when the next one ends.
    if (now.flight)
      graveyard_ = std::move(now.flight);
    switch (now.stage) {
      case PROPOSAL:
        now.stage = ANSWERING;
        return spend(number, now.partner, ANSWER_CPU_S);
      case ANSWERING:
        now.stage = REPLY;
        return carry(number, now.partner, now.proposer);
      case REPLY:
        now.stage = CONFIRMING;
        return spend(number, now.proposer, CONFIRM_CPU_S);
      case CONFIRMING:
        completed_++;
        double latency_s = sg4::Engine::get_clock() - now.started_s;
        latency_sum_s_ += latency_s;
        latency_squares_s2_ += latency_s * latency_s;
        free_.push_back(number);
    }
  }

  void carry(uint32_t number, uint32_t from, uint32_t to)
  {
    auto comm = sg4::Comm::sendto_init(hosts_[from], hosts_[to]);
    comm->set_payload_size(static_cast<uint64_t>(MESSAGE_BYTES));
    comm->on_this_completion_cb([this, number](const sg4::Comm&) { advance(number); });
    comm->start();
    transactions_[number].flight = std::move(comm);
  }

  void spend(uint32_t number, uint32_t host, double cpu_s)
  {
    auto exec = sg4::Exec::init();
    exec->set_flops_amount(cpu_s * FLOPS_PER_CPU_S)->set_host(hosts_[host]);
    exec->on_this_completion_cb([this, number](const sg4::Exec&) { advance(number); });
    // A detached execution keeps itself alive and leaves SimGrid's list of maestro's activities when
    // it ends; a started one stays in that list for good.
    exec->detach();
  }

  uint32_t allocate()
  {
    if (free_.empty()) {
      transactions_.emplace_back();
      return static_cast<uint32_t>(transactions_.size() - 1);
    }
    uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }

  std::vector<sg4::Host*> hosts_;
  double end_s_;
  std::vector<uint64_t> random_;
  std::vector<Transaction> transactions_;
  std::vector<uint32_t> free_;
  sg4::CommPtr graveyard_;
  uint64_t completed_        = 0;
  double latency_sum_s_      = 0;
  double latency_squares_s2_ = 0;
};

std::vector<sg4::Host*> build_star(sg4::Engine& engine, uint32_t count)
{
  auto* zone = engine.get_netzone_root()->add_netzone_star("star");
  std::vector<sg4::Host*> hosts;
  std::mt19937_64 chance(1);
  std::lognormal_distribution<double> factor(0, ACCESS_LATENCY_SIGMA);
  for (uint32_t i = 0; i < count; i++) {
    auto name  = std::to_string(i);
    auto* host = zone->add_host("phone-" + name, FLOPS_PER_CPU_S);
    auto* link = zone->add_split_duplex_link("radio-" + name, ACCESS_BYTES_PER_S, ACCESS_BYTES_PER_S);
    link->set_latency(ACCESS_LATENCY_MEDIAN_S * factor(chance))->seal();
    zone->add_route(host, nullptr, {{link, sg4::LinkInRoute::Direction::UP}}, true);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

} // namespace

int main(int argc, char** argv)
{
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s HOSTS SECONDS\n", argv[0]);
    return 2;
  }
  auto count   = static_cast<uint32_t>(std::atoi(argv[1]));
  double end_s = std::atof(argv[2]);

  double created_s = wall_s();
  // As in the engine (MODEL_OPTIONS in sim/engine/src/resources/simgrid/mod.rs); the other options there are CM02's defaults.
  char program[] = "bare_loop", model[] = "--cfg=network/model:CM02", reverse[] = "--cfg=network/crosstraffic:0",
       quiet[]    = "--log=root.thres:error";
  char* options[] = {program, model, reverse, quiet, nullptr};
  int option_count = 4;
  sg4::Engine engine(&option_count, options);
  Pairwise pairwise(build_star(engine, count), end_s);

  double started_s = wall_s();
  engine.run_until(end_s);
  double ended_s = wall_s();

  std::printf("{\"transactions\": %llu, \"mean_latency_s\": %.9f, \"latency_sd_s\": %.9f, \"setup_s\": %.6f, "
              "\"run_s\": %.6f, \"memory_mb\": %.1f}\n",
              static_cast<unsigned long long>(pairwise.completed()), pairwise.mean_latency_s(),
              pairwise.latency_sd_s(), started_s - created_s, ended_s - started_s,
              peak_memory_mb());
  // Transactions that were under way would each be cancelled with a backtrace: leave without destructors.
  std::fflush(stdout);
  std::_Exit(0);
}
