// The pairwise workload on ns-3: each host has a whole UDP and IPv4 stack.
//
// Hosts are around one hub, each on a point-to-point link with its access latency. The hub forwards
// frames by their destination and has no stack: ns-3 looks for static routes one after the other, as
// many as there are hosts. So a message queues at the sender's device and at the hub's, which adds two
// transmissions to a transaction. Cores are what the other programs of this folder have: a time at
// which each is free. Usage: ns3_star HOSTS SECONDS; prints one line of JSON.

#include "machine.hpp"

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

// The workload's constants; bench/workload.py has the same.
constexpr double RATE_PER_S              = 1.0;
constexpr uint32_t MESSAGE_BYTES         = 668;
constexpr const char* ACCESS_RATE        = "10Mbps";
constexpr double ACCESS_LATENCY_MEDIAN_S = 0.010;
constexpr double ACCESS_LATENCY_SIGMA    = 0.25;
constexpr double ANSWER_CPU_S            = 0.15e-3;
constexpr double CONFIRM_CPU_S           = 0.10e-3;

constexpr uint16_t PORT          = 9;
constexpr uint32_t FIRST_ADDRESS = 0x0a000001; // 10.0.0.1
constexpr uint32_t SUBNET        = 4;          // addresses of a link with two ends

enum Kind : uint8_t { PROPOSAL, REPLY };

// What a message begins with; the rest of it is nothing.
class Trade : public ns3::Header {
public:
  Kind kind        = PROPOSAL;
  uint32_t sender  = 0;
  int64_t since_ns = 0;

  static ns3::TypeId GetTypeId()
  {
    static ns3::TypeId type = ns3::TypeId("Trade").SetParent<ns3::Header>().AddConstructor<Trade>();
    return type;
  }
  ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
  uint32_t GetSerializedSize() const override { return 13; }
  void Serialize(ns3::Buffer::Iterator at) const override
  {
    at.WriteU8(kind);
    at.WriteU32(sender);
    at.WriteU64(static_cast<uint64_t>(since_ns));
  }
  uint32_t Deserialize(ns3::Buffer::Iterator at) override
  {
    kind     = static_cast<Kind>(at.ReadU8());
    sender   = at.ReadU32();
    since_ns = static_cast<int64_t>(at.ReadU64());
    return GetSerializedSize();
  }
  void Print(std::ostream& out) const override { out << sender; }
};

class Pairwise {
public:
  explicit Pairwise(uint32_t count) : core_free_s_(count), other_(0, count - 2)
  {
    ns3::NodeContainer hosts;
    hosts.Create(count);
    ns3::InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(hosts);
    auto hub = ns3::CreateObject<ns3::Node>();
    std::lognormal_distribution<double> factor(0, ACCESS_LATENCY_SIGMA);
    for (uint32_t host = 0; host < count; host++) {
      connect(host, hosts.Get(host), hub, ACCESS_LATENCY_MEDIAN_S * factor(chance_));
      ns3::Simulator::Schedule(ns3::Seconds(gap_(chance_)), &Pairwise::issue, this, host);
    }
  }

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
  static ns3::Ipv4Address address(uint32_t host) { return ns3::Ipv4Address(FIRST_ADDRESS + SUBNET * host); }

  void connect(uint32_t number, ns3::Ptr<ns3::Node> host, ns3::Ptr<ns3::Node> hub, double latency_s)
  {
    ns3::PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", ns3::StringValue(ACCESS_RATE));
    link.SetChannelAttribute("Delay", ns3::TimeValue(ns3::Seconds(latency_s)));
    auto ends = link.Install(host, hub);
    ends.Get(1)->SetReceiveCallback(ns3::MakeCallback(&Pairwise::forward, this));
    at_hub_.push_back(ends.Get(1));

    const ns3::Ipv4Mask mask("255.255.255.252");
    auto ip        = host->GetObject<ns3::Ipv4>();
    auto interface = ip->AddInterface(ends.Get(0));
    ip->AddAddress(interface, ns3::Ipv4InterfaceAddress(address(number), mask));
    ip->SetUp(interface);
    ns3::Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(ip)->SetDefaultRoute(ns3::Ipv4Address(address(number).Get() + 1), interface);

    auto socket = ns3::Socket::CreateSocket(host, ns3::UdpSocketFactory::GetTypeId());
    socket->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), PORT));
    socket->SetRecvCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this, number](ns3::Ptr<ns3::Socket> from) { receive(number, from); }));
    sockets_.push_back(socket);
  }

  bool forward(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> frame, uint16_t protocol, const ns3::Address&)
  {
    ns3::Ipv4Header ip;
    frame->PeekHeader(ip);
    auto device = at_hub_[(ip.GetDestination().Get() - FIRST_ADDRESS) / SUBNET];
    device->Send(frame->Copy(), device->GetBroadcast(), protocol);
    return true;
  }

  void issue(uint32_t host)
  {
    ns3::Simulator::Schedule(ns3::Seconds(gap_(chance_)), &Pairwise::issue, this, host);
    uint32_t partner = other_(chance_);
    partner += partner >= host;
    Trade trade;
    trade.since_ns = ns3::Simulator::Now().GetNanoSeconds();
    send(host, partner, trade);
  }

  void send(uint32_t from, uint32_t to, Trade trade)
  {
    trade.sender = from;
    auto message = ns3::Create<ns3::Packet>(MESSAGE_BYTES - trade.GetSerializedSize());
    message->AddHeader(trade);
    sockets_[from]->SendTo(message, 0, ns3::InetSocketAddress(address(to), PORT));
  }

  void receive(uint32_t host, ns3::Ptr<ns3::Socket> socket)
  {
    ns3::Address from;
    while (auto message = socket->RecvFrom(from)) {
      Trade trade;
      message->RemoveHeader(trade);
      if (trade.kind == PROPOSAL) {
        trade.kind = REPLY;
        ns3::Simulator::Schedule(work(host, ANSWER_CPU_S), &Pairwise::send, this, host, trade.sender, trade);
      } else {
        ns3::Simulator::Schedule(work(host, CONFIRM_CPU_S), &Pairwise::confirm, this, trade.since_ns);
      }
    }
  }

  void confirm(int64_t since_ns)
  {
    latencies_s_.push_back(1e-9 * static_cast<double>(ns3::Simulator::Now().GetNanoSeconds() - since_ns));
  }

  // Books a core; returns how long it takes until it is done.
  ns3::Time work(uint32_t host, double length_s)
  {
    double now_s       = ns3::Simulator::Now().GetSeconds();
    core_free_s_[host] = std::max(now_s, core_free_s_[host]) + length_s;
    return ns3::Seconds(core_free_s_[host] - now_s);
  }

  std::vector<ns3::Ptr<ns3::Socket>> sockets_;
  std::vector<ns3::Ptr<ns3::NetDevice>> at_hub_;
  std::vector<double> core_free_s_, latencies_s_;
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
  ns3::Simulator::Stop(ns3::Seconds(std::atof(argv[2])));
  ns3::Simulator::Run();
  double ended_s = wall_s();

  std::printf("{\"transactions\": %llu, \"mean_latency_s\": %.9f, \"latency_sd_s\": %.9f, \"setup_s\": %.6f, "
              "\"run_s\": %.6f, \"memory_mb\": %.1f}\n",
              static_cast<unsigned long long>(pairwise.completed()), pairwise.mean_latency_s(),
              pairwise.latency_sd_s(), started_s - created_s, ended_s - started_s,
              peak_memory_mb());
  // Destroying what thousands of hosts have takes as long as making it.
  std::fflush(stdout);
  std::_Exit(0);
}
