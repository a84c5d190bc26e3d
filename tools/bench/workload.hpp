// The workloads of `gradus bench`: GPT-2-shaped decoders on random tokens, from one whose step is all
// overhead to GPT-2 124M. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/dtype.hpp"
#include "gradus/models/gpt_config.hpp"

namespace gradus::bench {

enum class Task {
  train,    ///< a whole step: forward, loss, backward, clip at 1.0, AdamW
  forward,  ///< forward with loss, nothing recorded
  generate  ///< a token: greedy generation of block_size tokens, batch 1, cached keys and values
};

struct Workload {
  std::string name;
  Task task = Task::train;
  models::GPTConfig config;
  int64_t batch = 1;
  /// Of the products of training and of a forward: float32 or bfloat16 (Autocast). Of the matrices that are
  /// generated from: q8_0 and q4_0 too.
  DType dtype = DType::float32;

  /// Of one step; 1 for generate, whose times are by token.
  int64_t tokens() const { return task == Task::generate ? 1 : batch * config.block_size; }
};

/// All of them, in the order of their names.
std::vector<Workload> workloads();
/// Those of the names: W1; or W4, W5 for all that begin so (W4-W2n, W4-W3). None named: all. Throws Error for
/// a name that is not there.
std::vector<Workload> select_workloads(const std::vector<std::string>& names);

/// The same with products in bfloat16, under the name "W1 bf16". Throws Error for what generates.
Workload in_bfloat16(Workload workload);

/// "train 4 4 128 64 12 65 0.1 float32": task, layers, heads, width, block, batch, vocabulary, dropout,
/// dtype; what the processes of a comparison are handed.
std::string to_text(const Workload& workload);
/// Throws Error unless to_text() could have given it. The name is lost.
Workload workload_from(const std::string& text);

/// One matrix product that a step makes `times` times, each time `batch` of them of one size.
struct Product {
  const char* name;
  bool transpose_a, transpose_b;
  int64_t m, n, k, batch, times;
  double operations() const;  ///< 2 m n k for each: a multiplication and an addition
};

/// All products of one step, nothing hidden by the causal mask left out: forward; of a training step also the
/// gradients of both sides. Empty for generate.
std::vector<Product> products(const Workload& workload);
/// The sum of their operations. For training (6 N + 12 L T C) a token, N the elements of all matrices that
/// tokens are multiplied with (the token table once, as the head; not the positions); forward a third of it.
double operations(const Workload& workload);

}  // namespace gradus::bench
