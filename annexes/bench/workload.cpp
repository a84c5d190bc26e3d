#include "gradus/annexes/bench/workload.hpp"

#include <map>
#include <span>
#include <sstream>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/optimizers/muon.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::bench {
namespace {

using models::DecoderConfig;

const DecoderConfig kSmallest{.vocab_size = 32, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 16};
const DecoderConfig kNano{.vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128};
const DecoderConfig kSmall{.vocab_size = 65, .block_size = 256, .n_layer = 6, .n_head = 6, .n_embd = 384};
const DecoderConfig kGPT2{.vocab_size = 50257, .block_size = 64, .n_layer = 12, .n_head = 12, .n_embd = 768};

/// A preset of the default recipe, for the 65 characters of tiny Shakespeare.
DecoderConfig with_characters(const char* preset) {
  DecoderConfig config = models::preset(preset);
  config.vocab_size = 65;
  return config;
}

DecoderConfig with_dropout(DecoderConfig config, double p) {
  config.dropout = p;
  return config;
}

constexpr const char* kTasks[] = {"train", "forward", "generate"};

/// y = x w^T (forward), gx = gy w, gw = gy^T x.
void add_linear(std::vector<Product>& all, bool training, int64_t rows, int64_t in, int64_t out,
                int64_t times) {
  all.push_back({false, true, rows, out, in, 1, times});
  if (!training) return;
  all.push_back({false, false, rows, in, out, 1, times});
  all.push_back({true, false, out, in, rows, 1, times});
}

/// The steps of Muon's iteration for matrices (m, n): y y^T, its square, and the product with y.
void add_muon(std::vector<Product>& all, int64_t m, int64_t n, int64_t times) {
  if (m > n) std::swap(m, n);
  all.push_back({false, true, m, m, n, 1, train::kMuonSteps * times});
  all.push_back({false, false, m, m, m, 1, train::kMuonSteps * times});
  all.push_back({false, false, m, n, m, 1, train::kMuonSteps * times});
}

}  // namespace

std::vector<Workload> workloads() {
  return {{"W0", Task::train, kSmallest, 4},
          {"W1", Task::train, kNano, 12},
          {"W1d", Task::train, with_dropout(kNano, 0.1), 12},
          {"W2", Task::train, with_dropout(kSmall, 0.2), 8},
          {"W2n", Task::train, kSmall, 8},
          {"W3", Task::train, kGPT2, 4},
          {"W4-W2n", Task::forward, kSmall, 8},
          {"W4-W3", Task::forward, kGPT2, 4},
          {"W5-W1", Task::generate, kNano, 1},
          {"W5-W3", Task::generate, kGPT2, 1},
          {"W5-W3h", Task::generate, kGPT2, 1, DType::bfloat16},
          {"W5-W3q8", Task::generate, kGPT2, 1, DType::q8_0},
          {"W5-W3q4", Task::generate, kGPT2, 1, DType::q4_0},
          {"W6", Task::train, with_characters("mini"), 12},
          {"W7", Task::train, with_characters("midi"), 8}};
}

std::vector<Workload> select_workloads(const std::vector<std::string>& names) {
  const std::vector<Workload> all = workloads();
  if (names.empty()) return all;
  std::vector<Workload> selected;
  for (const std::string& name : names) {
    if (name.find(' ') != std::string::npos) {
      selected.push_back(workload_from(name));
      continue;
    }
    const size_t before = selected.size();
    for (const Workload& w : all)
      if (w.name == name || w.name.starts_with(name + "-")) selected.push_back(w);
    if (selected.size() > before) continue;
    fail("bench", "--workload must name some of ", joined(all, ", ", &Workload::name), ", got '", name, "'.");
  }
  return selected;
}

Workload with_precision(Workload w, DType precision) {
  if (w.task == Task::generate)
    fail("bench", "--precision is for workloads that train or go forward, got ", w.name,
         ". Hint: W5-W3h generates from weights in bfloat16.");
  if (w.dtype == precision) return w;
  w.name += concat(" ", train::word(precision));
  w.dtype = precision;
  return w;
}

std::string to_text(const Workload& w) {
  const DecoderConfig& c = w.config;
  return concat(kTasks[static_cast<int>(w.task)], " ", c.arch, " ", c.n_layer, " ", c.n_head, " ", c.n_embd,
                " ", c.block_size, " ", w.batch, " ", c.vocab_size, " ", c.dropout, " ", name(w.dtype));
}

Workload workload_from(const std::string& text) {
  std::istringstream words(text);
  std::string task, arch, dtype, rest;
  Workload w;
  w.name = text;
  DecoderConfig& c = w.config;
  words >> task >> arch;
  if (arch != c.arch && words) c = models::preset(train::usual_preset(arch));
  words >> c.n_layer >> c.n_head >> c.n_embd >> c.block_size >> w.batch >> c.vocab_size >> c.dropout >> dtype;
  for (const Task one : {Task::train, Task::forward, Task::generate})
    if (task == kTasks[static_cast<int>(one)]) w.task = one;
  for (size_t i = 0; i < std::size(kDTypeNames); ++i)
    if (const auto one = static_cast<DType>(i); dtype == name(one) && (i == 0 || is_storage(one)))
      w.dtype = one;
  const bool known = task == kTasks[static_cast<int>(w.task)] && dtype == name(w.dtype) &&
                     (!is_in_tiles(w.dtype) || w.task == Task::generate);
  if (!words || words >> rest || !known || w.batch < 1)
    fail(
        "bench",
        "a workload must be a task, an architecture, layers, heads, width, block, batch, vocabulary, dropout "
        "and float32 or bfloat16, or ",
        listed(std::span(kDTypeNames).last(kTileTypes)), " to generate, got '", text, "'.");
  c.validate();
  return w;
}

train::TrainConfig train_config(const Workload& w) {
  constexpr int64_t kEndless = 1'000'000'000;
  train::TrainConfig config;
  if (w.config.arch == config.model.arch) {
    config.lr = 3e-4;
    config.beta2 = 0.95;
  } else {
    config = train::preset(train::usual_preset(w.config.arch));
  }
  config.model = w.config;
  config.batch = w.batch;
  config.steps = kEndless;
  config.min_lr = config.lr;
  config.warmup = 0;
  config.decay = "constant";
  config.seed = kSeed;
  config.precision = w.dtype;
  return config;
}

double Product::operations() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(batch) * static_cast<double>(times);
}

std::vector<Product> products(const Workload& w) {
  if (w.task == Task::generate) return {};
  const bool training = w.task == Task::train;
  const DecoderConfig& c = w.config;
  const int64_t L = c.n_layer, C = c.n_embd, T = c.block_size, hs = C / c.n_head;
  const int64_t rows = w.batch * T, heads = w.batch * c.n_head;
  std::map<std::pair<int64_t, int64_t>, int64_t> matrices, parts;  // the number of each size
  for (const auto& [name, shape] : c.parameter_shapes())
    if (const int64_t count = train::muon_matrices(name, shape); count > 0) {
      ++matrices[{shape[0], shape[1]}];
      parts[{shape[0] / count, shape[1]}] += count;
    }
  std::vector<Product> all;
  for (const auto& [size, times] : matrices) add_linear(all, training, rows, size.second, size.first, times);
  add_linear(all, training, rows, C, c.vocab_size, 1);  // the head
  all.push_back({false, true, T, T, hs, heads, L});     // q k^T
  all.push_back({false, false, T, hs, T, heads, L});    // weights v
  if (!training) return all;
  all.push_back({false, true, T, T, hs, heads, L});   // g v^T
  all.push_back({true, false, T, hs, T, heads, L});   // weights^T g
  all.push_back({false, false, T, hs, T, heads, L});  // s k
  all.push_back({true, false, T, hs, T, heads, L});   // s^T q
  if (train_config(w).optimizer == "muon")
    for (const auto& [size, times] : parts) add_muon(all, size.first, size.second, times);
  return all;
}

double operations(const Workload& w) {
  double sum = 0;
  for (const Product& p : products(w)) sum += p.operations();
  return sum;
}

}  // namespace gradus::bench
