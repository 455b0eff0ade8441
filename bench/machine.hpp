// What the C++ programs of this folder ask of the machine: the time, and how much memory they had.

#ifndef BENCH_MACHINE_HPP
#define BENCH_MACHINE_HPP

#include <chrono>
#include <fstream>
#include <limits>
#include <string>

inline double wall_s()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The most that this program had. getrusage's peak begins with what the process had before it became
// this program: that of whoever started it.
inline double peak_memory_mb()
{
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (double kilobytes; key == "VmHWM:" && status >> kilobytes)
      return kilobytes / 1024;
  return 0;
}

#endif
