#include "gradus/train/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "gradus/files/error.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/train/optimizers/registry.hpp"

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

}  // namespace

double available_memory() {
  const double system = system_memory();
  const double limit = number_in("/sys/fs/cgroup/memory.max");
  if (limit == 0) return system;
  const double left = std::max(1.0, limit - number_in("/sys/fs/cgroup/memory.current"));
  return system == 0 ? left : std::min(system, left);
}

models::MemoryEstimate training_memory(const TrainConfig& config) {
  models::MemoryEstimate bytes = models::training_memory(config.model, config.batch, config.precision);
  if (config.ema > 0) bytes.average = bytes.parameters;
  const nn::NoInit untouched;  // Only shapes and roles are read: the model takes no memory.
  Generator unused(0);
  const OptimizerMemory memory =
      optimizer_kind(config.optimizer)
          .memory(models::Decoder(config.model, unused).named_parameters(), config.precision);
  bytes.optimizer = memory.kept;
  bytes.update = memory.working;
  return bytes;
}

void check_memory(const models::MemoryEstimate& need, const char* hint) {
  const double available = available_memory();
  if (available > 0 && need.total() > available)
    fail("memory", "the model must fit into the ", gigabytes(available),
         " that are free, got one that needs about ", gigabytes(need.total()), ". Hint: ", hint);
}

}  // namespace gradus::train
