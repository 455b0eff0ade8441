#include "shim.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static_assert(SIMGRID_VERSION_MAJOR == 4 && SIMGRID_VERSION_MINOR == 1, "manifests of runs name SimGrid 4.1");

namespace sg4 = simgrid::s4u;
using simgrid::kernel::timer::Timer;

namespace {

// One CPU second is this many flops, so that amounts stay far above SimGrid's work precision.
constexpr double FLOPS_PER_CPU_S = 1e9;

struct Platform {
  sg4::NetZone* zone = nullptr;
  std::vector<sg4::Link*> sites;
  std::vector<sg4::Host*> phones;
  // A running activity must be referenced by somebody, and must not be destroyed inside its own
  // completion callback, which lives in it: ended ones wait in the graveyard for the next callback.
  std::vector<sg4::ActivityPtr> works;
  std::vector<sg4::ActivityPtr> flights;
  std::vector<sg4::ActivityPtr> graveyard;
  Timer* alarm = nullptr;
  const pocketsim_callbacks* callbacks = nullptr;
  void* user = nullptr;
};

// SimGrid allows one engine per process, so this is one by nature.
Platform platform;

void keep(std::vector<sg4::ActivityPtr>& running, uint32_t token, sg4::ActivityPtr activity)
{
  if (token >= running.size())
    running.resize(token + 1);
  running[token] = std::move(activity);
}

void bury(std::vector<sg4::ActivityPtr>& running, uint32_t token)
{
  platform.graveyard.clear();
  platform.graveyard.push_back(std::move(running[token]));
}

uint32_t outcome_of(const sg4::Activity& activity)
{
  return activity.get_state() == sg4::Activity::State::FINISHED ? POCKETSIM_DONE : POCKETSIM_FAILED;
}

void init(const char* const* options, uint32_t option_count)
{
  std::vector<std::string> text{"pocketsim", "--log=root.thresh:warning"};
  for (uint32_t i = 0; i < option_count; i++)
    text.push_back(std::string("--cfg=") + options[i]);
  std::vector<char*> argv;
  for (auto& argument : text)
    argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  auto* engine = new sg4::Engine(&argc, argv.data());
  platform.zone = engine->get_netzone_root()->add_netzone_star("phones");
  // SimGrid's own exit handlers, registered by now, take activities that still run
  // for a bug and crash on them. Ours runs first: the run is over, and nothing of it needs them.
  on_exit([](int status, void*) { fflush(nullptr); _exit(status); }, nullptr);
}

uint32_t add_site(double bytes_per_s)
{
  auto number = static_cast<uint32_t>(platform.sites.size());
  auto* link  = platform.zone->add_link("site-" + std::to_string(number), bytes_per_s)->seal();
  platform.sites.push_back(link);
  return number;
}

uint32_t add_phone(uint32_t cores, double up_bytes_per_s, double down_bytes_per_s, double latency_s, int64_t site)
{
  auto number = static_cast<uint32_t>(platform.phones.size());
  auto name   = std::to_string(number);
  auto* host  = platform.zone->add_host("phone-" + name, FLOPS_PER_CPU_S);
  host->set_core_count(static_cast<int>(cores));
  auto* radio = platform.zone->add_split_duplex_link("radio-" + name, up_bytes_per_s, down_bytes_per_s);
  radio->set_latency(latency_s)->seal();
  std::vector<sg4::LinkInRoute> route{{radio, sg4::LinkInRoute::Direction::UP}};
  if (site >= 0)
    route.emplace_back(platform.sites.at(static_cast<size_t>(site)));
  platform.zone->add_route(host, nullptr, route, true);
  platform.phones.push_back(host);
  return number;
}

void seal()
{
  platform.zone->seal();
}

void carry(uint32_t token, uint32_t from, uint32_t to, double bytes)
{
  auto flight = sg4::Comm::sendto_init(platform.phones[from], platform.phones[to]);
  flight->set_payload_size(static_cast<uint64_t>(bytes));
  flight->on_this_completion_cb([token](const sg4::Comm& ended) {
    uint32_t outcome = outcome_of(ended);
    bury(platform.flights, token);
    platform.callbacks->flight_ended(platform.user, token, outcome);
  });
  flight->start();
  keep(platform.flights, token, flight);
}

void spend(uint32_t token, uint32_t phone, double cpu_s, uint32_t threads, double priority)
{
  auto work = sg4::Exec::init();
  // SimGrid takes the amount of each thread, and weighs many threads by their number.
  work->set_flops_amount(cpu_s * FLOPS_PER_CPU_S / threads)->set_host(platform.phones[phone]);
  if (threads > 1)
    work->set_thread_count(static_cast<int>(threads));
  else if (priority != 1.0)
    work->set_priority(priority);
  work->on_this_completion_cb([token](const sg4::Exec& ended) {
    uint32_t outcome = outcome_of(ended);
    bury(platform.works, token);
    platform.callbacks->work_ended(platform.user, token, outcome);
  });
  // Detached, or SimGrid would keep it in its list of maestro's activities after its end, for good.
  work->detach();
  keep(platform.works, token, work);
}

void wake_at(double date_s)
{
  if (platform.alarm != nullptr)
    platform.alarm->remove();
  platform.alarm = Timer::set(date_s, [] {
    platform.alarm = nullptr;
    platform.graveyard.clear();
    platform.callbacks->wake(platform.user);
  });
}

void set_on(uint32_t phone, bool on)
{
  if (on)
    platform.phones[phone]->turn_on();
  else
    platform.phones[phone]->turn_off();
}

double clock_s()
{
  return sg4::Engine::get_clock();
}

void run(double end_s, const pocketsim_callbacks* callbacks, void* user)
{
  platform.callbacks = callbacks;
  platform.user      = user;
  sg4::Engine::get_instance()->run_until(end_s);
}

constexpr pocketsim_functions FUNCTIONS{POCKETSIM_INTERFACE, init,    add_site, add_phone, seal, carry, spend,
                                        wake_at,             set_on,  clock_s,  run};

} // namespace

const pocketsim_functions* pocketsim_simgrid()
{
  return &FUNCTIONS;
}
