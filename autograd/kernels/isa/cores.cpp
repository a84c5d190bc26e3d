#include "gradus/autograd/kernels/isa/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace gradus::kernels {
namespace {

int cores_by_affinity() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  std::set<std::string> cores;  // each named by its hardware threads, "0,8"
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::string siblings = std::to_string(cpu);
    std::ifstream topology("/sys/devices/system/cpu/cpu" + siblings + "/topology/thread_siblings_list");
    std::getline(topology, siblings);
    cores.insert(siblings.empty() ? std::to_string(cpu) : siblings);
  }
  return static_cast<int>(cores.size());
}

/// Cores' worth of time that a container grants, rounded up; a large number when there is no limit.
int cores_by_quota() {
  std::ifstream limit("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(limit >> quota >> period) || quota <= 0 || period <= 0) return CPU_SETSIZE;
  return static_cast<int>(std::min<double>((quota + period - 1) / period, CPU_SETSIZE));
}

}  // namespace

int available_cores() { return std::max(1, std::min(cores_by_affinity(), cores_by_quota())); }

}  // namespace gradus::kernels
