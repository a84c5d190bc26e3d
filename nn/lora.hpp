// LoRA: low-rank updates of frozen linear layers (Hu et al., arXiv 2106.09685). A Linear has an optional
// adapter, so that a model of any class can be fine-tuned:
//
//   add_lora(model, {.rank = 16, .alpha = 32, .on = {"*q_proj", "*v_proj"}}, generator);
//   AdamW optimizer(model.named_parameters());  // only the adapters are trained
//
// Ownership and thread-safety as in module.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of add_lora().
struct LoRAOptions {
  int64_t rank = 8;      ///< r, the inner size of the update
  double alpha = 16;     ///< the update is multiplied by alpha / r
  double dropout = 0.0;  ///< probability, of the adapter's inputs
  std::vector<std::string> on = {
      "*"};  ///< patterns of the names of layers; "q_proj" is any layer of that name
};

/// The adapter of a Linear, which adds scale * dropout(x) A^T B^T to its output.
struct LoRA {
  /// A starts as a Linear's weight, B at 0: the update is 0. Throws Error unless rank >= 1, alpha > 0 and
  /// dropout is in [0, 1).
  LoRA(int64_t in_features, int64_t out_features, Generator& generator, const LoRAOptions& options);

  /// (..., in) -> (..., out). Without a generator it drops nothing.
  Tensor operator()(const Tensor& x, Generator* generator = nullptr) const;
  Tensor update() const;  ///< scale * B A (out, in), outside the graph

  Tensor A;        ///< (r, in)
  Tensor B;        ///< (out, r)
  double scale;    ///< alpha / r
  double dropout;  ///< probability
};

/// Freezes all parameters of the module, and gives each Linear whose name matches an adapter, float64 if its
/// weight is, else float32. Call it before an optimizer is made. Returns the names. Throws Error for options
/// that are not valid, if a pattern matches no Linear, or if one has an adapter.
std::vector<std::string> add_lora(Module& module, const LoRAOptions& options, Generator& generator);
/// Adds each adapter's update to its weight, and removes the adapter. Throws Error unless the weights are
/// float32 or float64.
void merge_lora(Module& module);

class Linear;
/// Every Linear of the module with its name, in the order of visit. Borrows the module.
std::vector<std::pair<std::string, Linear*>> linear_layers(Module& module);
/// Whether a pattern of LoRAOptions::on matches the name of a layer.
bool is_lora_on(const std::string& pattern, const std::string& name);

}  // namespace gradus::nn
