// Plain SimGrid, to compare with: flows between hosts of a platform, each an actor that waits and sends.
//
// simgrid_flows PLATFORM < flows, a line for each: from, to, bytes, and when it begins, in seconds.
// Prints a line for each: the latency of its route and when it ended. Options are given as --cfg.
#include <simgrid/s4u.hpp>

#include <cstdio>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Flow {
  std::string from;
  std::string to;
  double bytes;
  double start_s;
  double end_s = 0;
};

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  engine.seal_platform();
  std::vector<Flow> flows;
  for (Flow flow; std::cin >> flow.from >> flow.to >> flow.bytes >> flow.start_s;)
    flows.push_back(flow);
  for (auto& flow : flows) {
    auto* from = engine.host_by_name(flow.from);
    auto* to   = engine.host_by_name(flow.to);
    from->add_actor("flow", [&flow, from, to] {
      sg4::this_actor::sleep_until(flow.start_s);
      sg4::Comm::sendto(from, to, static_cast<uint64_t>(flow.bytes));
      flow.end_s = sg4::Engine::get_clock();
    });
  }
  engine.run();
  for (const auto& flow : flows) {
    std::vector<sg4::Link*> links;
    double latency_s = 0;
    std::tie(links, latency_s) = engine.host_by_name(flow.from)->route_to(engine.host_by_name(flow.to));
    std::printf("%.17g %.17g\n", latency_s, flow.end_s);
  }
  return 0;
}
