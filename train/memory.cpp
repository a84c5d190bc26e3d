#include "gradus/train/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "gradus/autograd/tensor/threads.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/optimizers/muon.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::train {
namespace {

/// The number in a file that holds one; 0 if there is none ("max").
double number_in(const char* path) {
  double number = 0;
  std::ifstream(path) >> number;
  return number;
}

double system_memory() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key; meminfo >> key;)
    if (double kilobytes = 0; key == "MemAvailable:" && meminfo >> kilobytes) return kilobytes * 1024;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 1e15 ? "%.1f GB" : "%.1e GB", bytes / 1e9);
  return text;
}

/// Muon keeps one moment of a matrix where AdamW keeps two, and needs room to make it orthogonal. Each thread
/// works on one matrix, and freed memory waits by size for its next use.
void settle_muon(const TrainConfig& config, models::MemoryEstimate& bytes) {
  const int as_large = config.precision == "float32" ? 4 : 5, squares = 3;  // tensors of a matrix at once
  std::map<double, int> waiting;                                            // tensors by size
  int matrices = 0;
  for (const auto& [name, shape] : config.model.parameter_shapes()) {
    const auto count = static_cast<double>(muon_matrices(name, shape));
    if (count == 0) continue;
    const auto size = static_cast<double>(shape.numel()), columns = static_cast<double>(shape[1]);
    const double shorter = std::min(static_cast<double>(shape[0]) / count, columns);
    std::map<double, int> needed{{size, as_large}};
    needed[count * shorter * shorter] += squares;
    for (const auto& [each, tensors] : needed) waiting[each] = std::max(waiting[each], tensors);
    bytes.optimizer -= 4 * size;
    ++matrices;
  }
  for (const auto& [each, tensors] : waiting)
    bytes.update += 4 * each * tensors * std::min(num_threads(), matrices);
}

}  // namespace

double available_memory() {
  const double system = system_memory();
  const double limit = number_in("/sys/fs/cgroup/memory.max");
  if (limit == 0) return system;
  const double left = std::max(1.0, limit - number_in("/sys/fs/cgroup/memory.current"));
  return system == 0 ? left : std::min(system, left);
}

models::MemoryEstimate training_memory(const TrainConfig& config) {
  models::MemoryEstimate bytes =
      models::training_memory(config.model, config.batch, precision_from(config.precision));
  if (config.ema > 0) bytes.average = bytes.parameters;
  if (config.optimizer == "muon") settle_muon(config, bytes);
  return bytes;
}

void check_memory(const models::MemoryEstimate& need, const char* hint) {
  const double available = available_memory();
  if (available > 0 && need.total() > available)
    fail("memory", "the model must fit into the ", gigabytes(available),
         " that are free, got one that needs about ", gigabytes(need.total()), ". Hint: ", hint);
}

}  // namespace gradus::train
