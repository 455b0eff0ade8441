// How long two threads take to meet: the seconds of one meeting, a median of many.
//
// Each waits for the other without sleeping, which is the fastest way when both have a core; where
// they have not, the operating system decides, and the median is still that of two that run.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kTurns = 200;
constexpr int kMeetings = 1000;

std::atomic<int> arrived{0};
std::atomic<int> generation{0};

void meet() {
  const int now = generation.load(std::memory_order_acquire);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) == 1) {
    arrived.store(0, std::memory_order_relaxed);
    generation.store(now + 1, std::memory_order_release);
    return;
  }
  for (int spins = 0; generation.load(std::memory_order_acquire) == now; ++spins) {
    if (spins > 10000) std::this_thread::yield();
  }
}

}  // namespace

int main() {
  std::vector<double> turns_s;
  std::thread other([] {
    for (int i = 0; i < kTurns * kMeetings; ++i) meet();
  });
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kMeetings; ++i) meet();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    turns_s.push_back(took.count() / kMeetings);
  }
  other.join();
  std::nth_element(turns_s.begin(), turns_s.begin() + kTurns / 2, turns_s.end());
  std::printf("%.9f\n", turns_s[kTurns / 2]);
}
