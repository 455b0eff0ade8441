#include "shim.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

static_assert(SIMGRID_VERSION_MAJOR == 4 && SIMGRID_VERSION_MINOR == 1, "manifests of runs name SimGrid 4.1");

namespace sg4     = simgrid::s4u;
namespace routing = simgrid::kernel::routing;
using simgrid::kernel::timer::Timer;
using Links = std::vector<simgrid::kernel::resource::StandardLinkImpl*>;

namespace {

// One CPU second is this many flops, so that amounts stay far above SimGrid's work precision.
constexpr double FLOPS_PER_CPU_S = 1e9;
constexpr uint32_t NO_SITE       = std::numeric_limits<uint32_t>::max();

// Where a phone is.
struct Place {
  Links up;
  Links down;
  double latency_s = 0;
  // Of its site; none of two who reach each other only by what lies between sites.
  uint32_t site = NO_SITE;
  const routing::NetPoint* netpoint = nullptr;
};

// Phones with what is theirs of a way, around the platform that joins their sites.
class Phones : public routing::NetZoneImpl {
public:
  explicit Phones(const std::string& name) : NetZoneImpl(name) {}

  // By number in this zone.
  std::vector<Place> places;
  const routing::NetPoint* relay = nullptr;
  // Of the way that is looked for.
  bool relayed = false;
  // What a way is made of, as users of SimGrid know it.
  std::unordered_map<const simgrid::kernel::resource::StandardLinkImpl*, const sg4::Link*> links;

  void get_local_route(const routing::NetPoint* src, const routing::NetPoint* dst, routing::Route* into,
                       double* latency_s) override
  {
    const Place& from = places.at(src->id());
    const Place& to   = places.at(dst->id());
    into->link_list_.insert(into->link_list_.end(), from.up.begin(), from.up.end());
    double found_s = from.latency_s;
    if (relayed && relay != nullptr) {
      between(from.netpoint, relay, into->link_list_, &found_s);
      between(relay, to.netpoint, into->link_list_, &found_s);
    } else if (not relayed && (from.site != to.site || from.site == NO_SITE)) {
      between(from.netpoint, to.netpoint, into->link_list_, &found_s);
    }
    // The air of one site is shared once.
    bool is_shared = not into->link_list_.empty() && not to.down.empty() && into->link_list_.back() == to.down.front();
    into->link_list_.insert(into->link_list_.end(), to.down.begin() + (is_shared ? 1 : 0), to.down.end());
    drop_idle_fat_pipes(into->link_list_);
    if (latency_s != nullptr)
      *latency_s += found_s + to.latency_s;
  }

private:
  // A fat pipe bounds each flow by itself. Where a shared link of the way is no faster, it never does,
  // and would only join flows that have nothing to do with each other in one system of equations.
  void drop_idle_fat_pipes(Links& way) const
  {
    using Policy   = sg4::Link::SharingPolicy;
    double slowest = std::numeric_limits<double>::infinity();
    for (const auto* link : way)
      if (const auto* known = links.at(link); known->get_sharing_policy() == Policy::SHARED)
        slowest = std::min(slowest, known->get_bandwidth());
    auto is_idle = [this, slowest](const auto* link) {
      const auto* known = links.at(link);
      return known->get_sharing_policy() == Policy::FATPIPE && known->get_bandwidth() >= slowest;
    };
    way.erase(std::remove_if(way.begin(), way.end(), is_idle), way.end());
  }

  static void between(const routing::NetPoint* from, const routing::NetPoint* to, Links& links, double* latency_s)
  {
    if (from == nullptr || to == nullptr)
      return;
    Links found;
    get_global_route(from, to, found, latency_s);
    links.insert(links.end(), found.begin(), found.end());
  }
};

struct Platform {
  Phones* zone = nullptr;
  std::vector<const routing::NetPoint*> netpoints;
  std::string mistake;
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
  new sg4::Engine(&argc, argv.data());
  // SimGrid's own exit handlers, registered by now, take activities that still run
  // for a bug and crash on them. Ours runs first: the run is over, and nothing of it needs them.
  on_exit([](int status, void*) { fflush(nullptr); _exit(status); }, nullptr);
}

const char* load_platform(const char* path)
{
  auto* engine = sg4::Engine::get_instance();
  try {
    engine->load_platform(path);
  } catch (const std::exception& error) {
    platform.mistake = error.what();
    return platform.mistake.c_str();
  }
  for (const auto* netpoint : engine->get_all_netpoints())
    if (not netpoint->is_netzone())
      platform.netpoints.push_back(netpoint);
  auto by_name = [](const auto* one, const auto* other) { return one->get_name() < other->get_name(); };
  std::sort(platform.netpoints.begin(), platform.netpoints.end(), by_name);
  return nullptr;
}

uint32_t netpoints()
{
  return static_cast<uint32_t>(platform.netpoints.size());
}

const char* name_at(uint32_t number)
{
  return platform.netpoints.at(number)->get_cname();
}

bool is_host_at(uint32_t number)
{
  return platform.netpoints.at(number)->is_host();
}

// What no name of a platform should be, so that none is taken.
constexpr const char* OURS = "pocketsim:";

Phones& zone()
{
  if (platform.zone == nullptr) {
    platform.zone = new Phones(std::string(OURS) + "phones");
    platform.zone->set_parent(sg4::Engine::get_instance()->get_netzone_root()->get_impl());
  }
  return *platform.zone;
}

uint32_t add_site(double bytes_per_s)
{
  auto number = static_cast<uint32_t>(platform.sites.size());
  auto* link  = zone().add_link(OURS + ("site-" + std::to_string(number)), {bytes_per_s})->seal();
  platform.sites.push_back(link);
  return number;
}

uint32_t add_host(uint32_t cores, Place place)
{
  auto number = static_cast<uint32_t>(platform.phones.size());
  auto* host  = zone().add_host(OURS + ("phone-" + std::to_string(number)), {FLOPS_PER_CPU_S});
  host->set_core_count(static_cast<int>(cores));
  zone().places.resize(host->get_netpoint()->id() + 1);
  zone().places.back() = std::move(place);
  platform.phones.push_back(host);
  return number;
}

const routing::NetPoint* named(const char* netpoint)
{
  return netpoint == nullptr ? nullptr : sg4::Engine::get_instance()->netpoint_by_name_or_null(netpoint);
}

uint32_t add_phone(uint32_t cores, double up_bytes_per_s, double down_bytes_per_s, double latency_s, int64_t air,
                   uint32_t site, const char* netpoint)
{
  auto name   = OURS + ("radio-" + std::to_string(platform.phones.size()));
  auto* radio = zone().add_split_duplex_link(name, {up_bytes_per_s}, {down_bytes_per_s});
  radio->set_latency(latency_s)->seal();
  Place place{{radio->get_link_up()->get_impl()}, {radio->get_link_down()->get_impl()}, latency_s, site, named(netpoint)};
  if (air >= 0) {
    auto* shared = platform.sites.at(static_cast<size_t>(air))->get_impl();
    place.up.push_back(shared);
    place.down.insert(place.down.begin(), shared);
  }
  return add_host(cores, std::move(place));
}

bool add_netpoint(const char* netpoint)
{
  Place place;
  place.netpoint = named(netpoint);
  if (place.netpoint == nullptr || place.netpoint->is_netzone())
    return false;
  add_host(1, std::move(place));
  return true;
}

void set_relay(const char* netpoint)
{
  zone().relay = named(netpoint);
}

void seal()
{
  auto* engine = sg4::Engine::get_instance();
  engine->seal_platform();
  for (const auto* link : engine->get_all_links())
    zone().links.emplace(link->get_impl(), link);
}

bool route(uint32_t from, uint32_t to, pocketsim_route* found)
{
  std::vector<sg4::Link*> links;
  double latency_s = 0;
  try {
    std::tie(links, latency_s) = platform.phones[from]->route_to(platform.phones[to]);
  } catch (const std::exception&) {
    links.clear();
  }
  *found = {latency_s, std::numeric_limits<double>::infinity(), 0};
  for (const auto* link : links) {
    auto policy        = link->get_sharing_policy();
    found->bytes_per_s = std::min(found->bytes_per_s, link->get_bandwidth());
    found->sharing |= policy != sg4::Link::SharingPolicy::FATPIPE ? 1 : 0;
    found->sharing |= policy == sg4::Link::SharingPolicy::WIFI ? 2 : 0;
  }
  // Some zones have no way from a netpoint to itself, which then takes nothing.
  return not links.empty() || latency_s > 0 || from == to;
}

void carry(uint32_t token, uint32_t from, uint32_t to, double bytes, bool relayed)
{
  auto flight = sg4::Comm::sendto_init(platform.phones[from], platform.phones[to]);
  flight->set_payload_size(static_cast<uint64_t>(bytes));
  flight->on_this_completion_cb([token](const sg4::Comm& ended) {
    uint32_t outcome = outcome_of(ended);
    bury(platform.flights, token);
    platform.callbacks->flight_ended(platform.user, token, outcome);
  });
  zone().relayed = relayed; // it is asked for the way at once
  flight->start();
  zone().relayed = false;
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

double next_date()
{
  auto* engine  = sg4::Engine::get_instance();
  double now    = sg4::Engine::get_clock();
  double next_s = std::numeric_limits<double>::infinity();
  for (auto* model : engine->get_all_models()) {
    double in_s = model->next_occurring_event(now); // negative for never
    if (in_s >= 0)
      next_s = std::min(next_s, now + in_s);
  }
  return next_s;
}

void run(double end_s, const pocketsim_callbacks* callbacks, void* user)
{
  platform.callbacks = callbacks;
  platform.user      = user;
  sg4::Engine::get_instance()->run_until(end_s);
}

constexpr pocketsim_functions FUNCTIONS{
    POCKETSIM_INTERFACE, init,      load_platform, netpoints, name_at, is_host_at, add_site, add_phone, add_netpoint,
    set_relay,           seal,      route,         carry,     spend,   wake_at,    set_on,   clock_s,   next_date,
    run};

} // namespace

const pocketsim_functions* pocketsim_simgrid()
{
  return &FUNCTIONS;
}
