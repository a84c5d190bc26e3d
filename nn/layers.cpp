#include "gradus/nn/layers.hpp"

#include <cmath>
#include <limits>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {

Linear::Linear(int64_t in_features, int64_t out_features, Generator& generator,
               const LinearOptions& options) {
  if (in_features < 1 || out_features < 1)
    fail("linear", "in_features and out_features must be >= 1, got ", in_features, " and ", out_features,
         ".");
  const double bound = 1.0 / std::sqrt(static_cast<double>(in_features));
  weight = new_parameter({out_features, in_features},
                         [&](Tensor& x) { kaiming_uniform_(x, generator, std::sqrt(5.0)); });
  if (options.bias)
    bias = new_parameter({out_features}, [&](Tensor& x) { uniform_(x, -bound, bound, generator); });
}

Tensor Linear::operator()(const Tensor& x, Generator* dropout) const {
  const Tensor y = linear(x, weight, bias);
  return output(lora ? y + (*lora)(x, training() ? dropout : nullptr) : y);
}

// The rows of A are not those of fused matrices, so that Muon leaves A to AdamW.
void Linear::visit(Visitor& v) {
  v("weight", weight, Role::matrix)("bias", bias, Role::vector);
  if (lora) v("lora_A.weight", lora->A, Role::embedding)("lora_B.weight", lora->B, Role::matrix);
}

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, Generator& generator) {
  if (num_embeddings < 1 || embedding_dim < 1)
    fail("embedding", "num_embeddings and embedding_dim must be >= 1, got ", num_embeddings, " and ",
         embedding_dim, ".");
  weight =
      new_parameter({num_embeddings, embedding_dim}, [&](Tensor& x) { normal_(x, 0.0, 1.0, generator); });
}

Tensor Embedding::operator()(const Tensor& index) const { return output(embedding(weight, index)); }

Generator* dropout_source(double p, bool training, Generator* dropout) {
  if (!training || p == 0.0) return nullptr;
  if (!dropout)
    fail("dropout", "needs a generator in training mode with p > 0, got none and p = ", p,
         ". Hint: pass one to the call, or call eval() on the model.");
  return dropout;
}

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0.0 && p <= 1.0)) fail<InputError>("dropout", "p must be in [0, 1], got ", p, ".");
}

Tensor Dropout::operator()(const Tensor& x, Generator* dropout) const {
  Generator* const source = dropout_source(p_, training(), dropout);
  return output(source ? gradus::dropout(x, p_, *source) : x);
}

LayerNorm::LayerNorm(int64_t features, const LayerNormOptions& options) : eps_(options.eps) {
  if (features < 1) fail("layer_norm", "features must be >= 1, got ", features, ".");
  weight = new_parameter({features}, ones_);
  if (options.bias) bias = new_parameter({features}, zeros_);
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return output(layer_norm(x, weight.shape(), weight, bias, eps_));
}

Tensor LayerNorm::share(const Tensor& part, const Tensor& x) const {
  const Tensor scale = rsqrt(var(x, {-1}, /*correction=*/0, /*keepdim=*/true) + eps_);
  return (part - mean(part, {-1}, /*keepdim=*/true)) * scale * weight;
}

RMSNorm::RMSNorm(int64_t features, const RMSNormOptions& options)
    : eps_(options.eps), unit_offset_(options.unit_offset) {
  if (features < 1) fail("rms_norm", "features must be >= 1, got ", features, ".");
  weight = new_parameter({features}, unit_offset_ ? zeros_ : ones_);
}

Tensor RMSNorm::factor() const { return unit_offset_ ? weight + 1.0 : weight; }

Tensor RMSNorm::operator()(const Tensor& x) const {
  return output(rms_norm(x, weight.shape(), factor(), eps_));
}

Tensor RMSNorm::share(const Tensor& part, const Tensor& x) const {
  const double eps = eps_.value_or(x.dtype() == DType::float64 ? std::numeric_limits<double>::epsilon()
                                                               : std::numeric_limits<float>::epsilon());
  return part * rsqrt(mean(x * x, {-1}, /*keepdim=*/true) + eps) * factor();
}

MLP::MLP(int64_t n_embd, int64_t hidden, Generator& generator, const MLPOptions& options)
    : c_fc(n_embd, hidden, generator, {.bias = options.bias}),
      c_proj(hidden, n_embd, generator, {.bias = options.bias}),
      drop(options.dropout) {}

Tensor MLP::operator()(const Tensor& x, Generator* dropout) const {
  return output(drop(project(x, dropout), dropout));
}

Tensor MLP::without_dropout(const Tensor& x) const { return output(project(x)); }

// The fused operation gives the same bits as its parts.
Tensor MLP::project(const Tensor& x, Generator* dropout) const {
  const Tensor h = c_fc(x, dropout);
  if (c_proj.lora || c_proj.may_be_watched()) return c_proj(point("act", gelu(h, Gelu::tanh)), dropout);
  return gelu_linear(h, c_proj.weight, c_proj.bias, Gelu::tanh);
}

SwiGLU::SwiGLU(int64_t n_embd, int64_t hidden, Generator& generator, const SwiGLUOptions& options)
    : gate_proj(n_embd, hidden, generator, {.bias = false}),
      up_proj(n_embd, hidden, generator, {.bias = false}),
      down_proj(hidden, n_embd, generator, {.bias = false}),
      drop(options.dropout),
      gelu_(options.gelu) {}

Tensor SwiGLU::operator()(const Tensor& x, Generator* dropout) const {
  return output(drop(project(x, dropout), dropout));
}

Tensor SwiGLU::without_dropout(const Tensor& x) const { return output(project(x)); }

Tensor SwiGLU::project(const Tensor& x, Generator* dropout) const {
  const Tensor gate = gate_proj(x, dropout), up = up_proj(x, dropout);
  if (gelu_) return down_proj(point("act", gelu(gate, Gelu::tanh) * up), dropout);
  if (down_proj.lora || down_proj.may_be_watched()) return down_proj(point("act", swiglu(gate, up)), dropout);
  return swiglu_linear(gate, up, down_proj.weight);
}

MinGRU::MinGRU(int64_t input_size, int64_t hidden_size, Generator& generator)
    : linear_z(input_size, hidden_size, generator), linear_h(input_size, hidden_size, generator) {}

Tensor MinGRU::operator()(const Tensor& x, const Tensor& h_0, Generator* dropout) const {
  if (!x.defined() || x.dim() != 3)
    fail("min_gru", "x must be of shape (B, T, C), got ", x.defined() ? x.shape() : Shape(), ".");
  const Tensor z = sigmoid(linear_z(x, dropout)), keep = 1.0 - z, update = z * linear_h(x, dropout);
  if (!h_0.defined()) return output(linear_recurrence(keep, update, 1));
  const int64_t batch = x.size(0), length = x.size(1), hidden = linear_h.weight.size(0);
  if (h_0.shape() != Shape{batch, hidden})
    fail("min_gru", "h_0 must be of shape ", Shape{batch, hidden}, ", got ", h_0.shape(), ".");
  // h_0 is the first term of a recurrence that is longer by one; its factor has no effect.
  const Tensor h = linear_recurrence(pad(keep, 1, length + 1, 1), cat({h_0.unsqueeze(1), update}, 1), 1);
  return output(h.slice(1, 1, length + 1));
}

}  // namespace gradus::nn
