#include "gradus/train/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "gradus/autograd/tensor/quantized_types.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/train/optimizers/registry.hpp"

namespace gradus::train {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// The number in a file that holds one; 0 if there is none ("max").
double number_in(const std::filesystem::path& path) {
  double number = 0;
  std::ifstream(path) >> number;
  return number;
}

double system_memory() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key; meminfo >> key;)
    if (double kilobytes = 0; key == "MemAvailable:" && meminfo >> kilobytes) return kilobytes * 1024;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) : kUnlimited;
}

/// The bytes that a control group (version 2) allows beyond those that it uses. Pages of files do not count
/// as used, because the system can drop them. Infinity without a limit.
double left_in(const std::filesystem::path& group) {
  const double limit = number_in(group / "memory.max");
  if (limit == 0) return kUnlimited;
  double used = number_in(group / "memory.current");
  std::ifstream stat(group / "memory.stat");
  double bytes = 0;
  for (std::string key; stat >> key >> bytes;)
    if (key == "inactive_file") used -= bytes;
  return std::max(1.0, limit - used);
}

std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 1e15 ? "%.1f GB" : "%.1e GB", bytes / 1e9);
  return text;
}

/// Bytes of a number of a matrix that is only stored.
double stored_size(DType dtype) {
  constexpr double kTile = kWeightRows * kWeightColumns;
  return static_cast<double>(element_size(dtype)) / (is_in_tiles(dtype) ? kTile : 1);
}

}  // namespace

double available_memory() {
  std::ifstream groups("/proc/self/cgroup");
  std::string own;
  while (std::getline(groups, own) && !own.starts_with("0::")) {
  }
  std::filesystem::path group = "/sys/fs/cgroup";
  double available = std::min(system_memory(), left_in(group));
  for (const std::filesystem::path& part : std::filesystem::path(own.substr(std::min<size_t>(own.size(), 4))))
    available = std::min(available, left_in(group /= part));
  return std::isfinite(available) ? available : 0;
}

models::MemoryEstimate training_memory(const TrainConfig& config) {
  const int64_t examples = config.micro > 1 ? config.batch * config.accum / config.micro : config.batch;
  models::MemoryEstimate bytes = models::training_memory(config.model, examples, config.precision);
  const nn::NoInit untouched;  // Only shapes and roles are read: the model takes no memory.
  Generator unused(0);
  models::Decoder model(config.model, unused);
  if (config.lora > 0) nn::add_lora(model, config.lora_options(), unused);
  const ParameterGroups groups = config.parameter_groups();
  const DType frozen = dtype_of(config.weights);
  NamedParameters trained;
  bytes.parameters = bytes.gradients = bytes.packed = 0;
  for (const NamedParameter& one : model.named_parameters()) {
    const auto& [name, parameter] = one;
    const bool is_trained = parameter.requires_grad() && std::ranges::none_of(groups, [&](const auto& g) {
                              return g.frozen && nn::matches(g.pattern, one.first);
                            });
    const bool is_stored = !is_trained && parameter.dim() == 2 && is_storage(frozen);
    const auto values = static_cast<double>(parameter.numel());
    bytes.parameters += values * (is_stored ? stored_size(frozen) : 4);
    if (config.precision == DType::bfloat16 && !is_stored)
      bytes.packed += 4 * values;  // once for each direction
    if (!is_trained) continue;
    bytes.gradients += 4 * values;
    trained.push_back(one);
  }
  if (!config.teacher.empty() && std::filesystem::exists(config.teacher))
    bytes.parameters += 4.0 * static_cast<double>(models::load_config(config.teacher).num_parameters());
  if (config.ema > 0) bytes.average = bytes.gradients;
  if (config.micro > 1)  // see TreeSum
    bytes.gradients *= static_cast<double>(std::bit_width(static_cast<uint64_t>(config.micro) + 1));
  const OptimizerMemory memory = optimizer_kind(config.optimizer).memory(trained, config.precision);
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
