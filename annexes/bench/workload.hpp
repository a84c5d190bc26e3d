// The workloads of `gradus bench`: decoders on random tokens. W0 to W5 have GPT-2's shape and AdamW, from one
// whose step is mostly overhead to GPT-2 124M; W6 and W7 are the default recipe, llama and Muon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/autograd/tensor/dtype.hpp"
#include "gradus/models/decoder_config.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::bench {

enum class Task {
  train,    ///< a whole step: forward, loss, backward, clip at 1.0, update
  forward,  ///< forward with loss, nothing recorded
  generate  ///< greedy generation of block_size tokens, batch 1, key/value cache; times are by token
};

struct Workload {
  std::string name;
  Task task = Task::train;
  models::DecoderConfig config;
  int64_t batch = 1;
  /// The dtype of products in train and forward: float32 or bfloat16 (Autocast). The dtype of the matrices in
  /// generate, which may also be q8_0 or q4_0.
  DType dtype = DType::float32;

  /// Tokens in one step; 1 for generate, whose times are by token.
  int64_t tokens() const { return task == Task::generate ? 1 : batch * config.block_size; }
};

/// All of them, in the order of their names.
std::vector<Workload> workloads();
/// The workloads with these names, or with the text of to_text(); W4 and W5 select all with this prefix
/// (W4-W2n, W4-W3). Without names: all. Throws Error for an unknown name.
std::vector<Workload> select_workloads(const std::vector<std::string>& names);

/// The same with products in `precision`; if it had another one, its name becomes "W1 bf16". Throws Error for
/// a workload that generates.
Workload with_precision(Workload workload, DType precision);

/// "train gpt2 4 4 128 64 12 65 0.1 float32": task, architecture, layers, heads, width, block, batch,
/// vocabulary, dropout, dtype. torch_twin.py gets its workload as this text.
std::string to_text(const Workload& workload);
/// The inverse of to_text(), which becomes the name. Throws Error for any other text.
Workload workload_from(const std::string& text);

constexpr uint64_t kSeed = 1;  ///< of weights and batches
/// The settings of training on the workload: for GPT-2's shape AdamW at 3e-4, for others the recipe of the
/// architecture's usual preset; the learning rate does not change.
train::TrainConfig train_config(const Workload& workload);

/// A matrix product that a step computes `times` times, each time for a batch of `batch` matrices.
struct Product {
  bool transpose_a, transpose_b;
  int64_t m, n, k, batch, times;
  double operations() const;  ///< 2 m n k for each: a multiplication and an addition
};

/// All products of one step, including the part that the causal mask hides: those of the forward pass, and in
/// training those of the gradients of both operands, and Muon's. Empty for generate.
std::vector<Product> products(const Workload& workload);
/// The sum of their operations: in training with AdamW (6 N + 12 L T C) per token, where N counts the
/// elements of all matrices that tokens are multiplied with (the token table once, as the head; not the
/// positions); in a forward pass a third of it.
double operations(const Workload& workload);

}  // namespace gradus::bench
