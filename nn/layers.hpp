// Linear and its adapters, Embedding, Dropout, LayerNorm, RMSNorm, MLP, SwiGLU and MinGRU.
//
// Parameters start with PyTorch's initial values, which constructors draw in the order of the members.
// Ownership and thread-safety as in module.hpp.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

// Low-rank updates of frozen linear layers (LoRA; Hu et al., arXiv 2106.09685). A Linear has an optional
// adapter, so that a model of any class can be fine-tuned:
//
//   add_lora(model, {.rank = 16, .alpha = 32, .on = {"*q_proj", "*v_proj"}}, generator);
//   AdamW optimizer(model.named_parameters());  // only the adapters are trained

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

/// Options of a Linear, with PyTorch's defaults.
struct LinearOptions {
  bool bias = true;  ///< whether it adds a bias
};

/// y = x W^T + b, and the update of its adapter, if it has one (see add_lora()).
class Linear : public Module {
 public:
  /// Weight and bias start uniform on +-1 / sqrt(in_features). Throws Error unless both sizes are >= 1.
  Linear(int64_t in_features, int64_t out_features, Generator& generator, const LinearOptions& options = {});

  /// (..., in) -> (..., out). In training mode, the adapter drops inputs if there is a generator.
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;
  void visit(Visitor& v) override;

  Tensor weight;             ///< (out, in); it may be set to a result of other tensors
  Tensor bias;               ///< (out) or undefined
  std::optional<LoRA> lora;  ///< the adapter, see add_lora()
};

/// Freezes all parameters of the module, and adds an adapter to each Linear whose name matches: in float64 if
/// its weight is float64, else in float32. Call it before you make an optimizer. Returns the names. Throws
/// Error for invalid options, if a pattern matches no Linear, or if a Linear has an adapter already.
std::vector<std::string> add_lora(Module& module, const LoRAOptions& options, Generator& generator);
/// Adds each adapter's update to its weight, and removes the adapter. Throws Error unless the weights are
/// float32 or float64.
void merge_lora(Module& module);
/// Every Linear of the module with its name, in the order of visit. Borrows the module.
std::vector<std::pair<std::string, Linear*>> linear_layers(Module& module);
/// Whether a pattern of LoRAOptions::on matches the name of a layer.
bool is_lora_on(const std::string& pattern, const std::string& name);

/// A table of rows, looked up by index.
class Embedding : public Module {
 public:
  /// The values start standard normal. Throws Error unless both sizes are >= 1.
  Embedding(int64_t num_embeddings, int64_t embedding_dim, Generator& generator);

  /// (...) int64 -> (..., C). Throws Error for an index outside [0, V).
  Tensor operator()(const Tensor& index) const;
  void visit(Visitor& v) override { v("weight", weight, Role::embedding); }

  Tensor weight;  ///< (V, C)
};

/// `dropout` in training mode with p > 0, else null: evaluation draws nothing. Throws Error if it is missing.
Generator* dropout_source(double p, bool training, Generator* dropout);

/// Dropout (Srivastava et al., 2014). Each call draws from the generator that it is given.
class Dropout : public Module {
 public:
  /// Throws Error unless 0 <= p <= 1.
  explicit Dropout(double p = 0.5);

  /// In training mode each element is 0 with probability p, else x / (1 - p); in evaluation mode x itself.
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;
  void visit(Visitor&) override {}
  double p() const { return p_; }  ///< the probability of a 0

 private:
  double p_;
};

/// Options of a LayerNorm, with PyTorch's defaults.
struct LayerNormOptions {
  double eps = 1e-5;  ///< added to the variance
  bool bias = true;   ///< whether it adds a bias
};

/// (x - mean) / sqrt(var + eps) * weight + bias, over the last dimension (Ba et al., arXiv 1607.06450).
class LayerNorm : public Module {
 public:
  /// Weight starts at 1, bias at 0. Throws Error unless features >= 1.
  explicit LayerNorm(int64_t features, const LayerNormOptions& options = {});

  Tensor operator()(const Tensor& x) const;  ///< (..., C) -> (..., C)
  /// The share of `part`, a term of the sum x, in the output: normalized with the deviation of x, times the
  /// weight. The shares of all terms add up to the output without its bias. Both (..., C) -> (..., C).
  Tensor share(const Tensor& part, const Tensor& x) const;
  void visit(Visitor& v) override { v("weight", weight, Role::vector)("bias", bias, Role::vector); }

  Tensor weight;  ///< (C)
  Tensor bias;    ///< (C) or undefined

 private:
  double eps_;
};

/// Options of an RMSNorm, with PyTorch's defaults.
struct RMSNormOptions {
  std::optional<double> eps = {};  ///< added to the mean square; none: that of rms_norm()
  bool unit_offset = false;        ///< whether it multiplies by 1 + weight, which starts at 0, as in Gemma
};

/// x / sqrt(mean(x^2) + eps) * weight, over the last dimension (Zhang and Sennrich, arXiv 1910.07467).
class RMSNorm : public Module {
 public:
  /// Weight starts at 1, or at 0 with unit_offset. Throws Error unless features >= 1.
  explicit RMSNorm(int64_t features, const RMSNormOptions& options = {});

  Tensor operator()(const Tensor& x) const;  ///< (..., C) -> (..., C)
  /// See LayerNorm::share().
  Tensor share(const Tensor& part, const Tensor& x) const;
  void visit(Visitor& v) override { v("weight", weight, Role::vector); }

  Tensor weight;  ///< (C)

 private:
  Tensor factor() const;

  std::optional<double> eps_;
  bool unit_offset_;
};

/// Options of an MLP.
struct MLPOptions {
  bool bias = true;      ///< of both Linear layers
  double dropout = 0.0;  ///< probability, of the outputs
};

/// The feed-forward part of GPT-2's block: dropout(c_proj(gelu(c_fc(x)))), gelu in its tanh form.
class MLP : public Module {
 public:
  /// Throws Error as Linear and Dropout do.
  MLP(int64_t n_embd, int64_t hidden, Generator& generator, const MLPOptions& options = {});

  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;  ///< (..., C) -> (..., C)
  Tensor without_dropout(const Tensor& x) const;                           ///< the same in evaluation mode
  void visit(Visitor& v) override { v("c_fc", c_fc)("c_proj", c_proj)("drop", drop); }

  Linear c_fc;    ///< C -> hidden
  Linear c_proj;  ///< hidden -> C
  Dropout drop;   ///< of the outputs

 private:
  Tensor project(const Tensor& x, Generator* dropout = nullptr) const;  // before the last dropout
};

/// Options of a SwiGLU.
struct SwiGLUOptions {
  double dropout = 0.0;  ///< probability, of the outputs
  bool gelu = false;     ///< whether gelu in its tanh form replaces silu: GeGLU, as in Gemma
};

/// The feed-forward part of Llama's block: dropout(down_proj(silu(gate_proj(x)) * up_proj(x))), without
/// biases (Shazeer, arXiv 2002.05202).
class SwiGLU : public Module {
 public:
  /// Throws Error as Linear and Dropout do.
  SwiGLU(int64_t n_embd, int64_t hidden, Generator& generator, const SwiGLUOptions& options = {});

  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;  ///< (..., C) -> (..., C)
  Tensor without_dropout(const Tensor& x) const;                           ///< the same in evaluation mode
  void visit(Visitor& v) override {
    v("gate_proj", gate_proj)("up_proj", up_proj)("down_proj", down_proj)("drop", drop);
  }

  Linear gate_proj;  ///< C -> hidden
  Linear up_proj;    ///< C -> hidden
  Linear down_proj;  ///< hidden -> C
  Dropout drop;      ///< of the outputs

 private:
  Tensor project(const Tensor& x, Generator* dropout = nullptr) const;  // before the last dropout

  bool gelu_;
};

/// h_t = (1 - z_t) * h_(t-1) + z_t * linear_h(x_t) with z_t = sigmoid(linear_z(x_t)). The gates do not depend
/// on the state, so that all time steps are computed at once (Feng et al., arXiv 2410.01201, section 3.1).
class MinGRU : public Module {
 public:
  /// Throws Error as Linear does.
  MinGRU(int64_t input_size, int64_t hidden_size, Generator& generator);

  /// (B, T, C) -> (B, T, H). h_0 (B, H) is the state before the first time step; undefined: zeros. To decode,
  /// call with T = 1 and the state that the call before returned.
  /// `dropout` is for adapters.
  Tensor operator()(const Tensor& x, const Tensor& h_0 = {}, Generator* dropout = nullptr) const;
  void visit(Visitor& v) override { v("linear_z", linear_z)("linear_h", linear_h); }

  Linear linear_z;  ///< C -> H, the gate
  Linear linear_h;  ///< C -> H, the candidate state
};

}  // namespace gradus::nn
