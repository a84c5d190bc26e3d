// The decoder and its optimizer once more, by their definitions: float64, one simple operation at a time,
// none of the fused ones. An oracle for training.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/models/decoder.hpp"

namespace gradus::train {

class PlainDecoder {
 public:
  /// With the values of the model's parameters.
  explicit PlainDecoder(const models::Decoder& model) : config_(model.config()) {
    for (const auto& [name, parameter] : model.named_parameters()) {
      const Tensor value = parameter.detach().to(DType::float64);
      weights_[name] = value.requires_grad() ? value : value.detach().requires_grad_();
    }
  }

  /// The loss before the update; moves the parameters as AdamW does, with gradients clipped to norm `clip`.
  double step(const data::Batch& batch, double lr, double clip, double weight_decay, double beta1,
              double beta2) {
    for (auto& [name, w] : weights_) w.zero_grad();
    const Tensor loss = this->loss(batch.x, batch.y);
    loss.backward();
    double squares = 0;
    for (const auto& [name, w] : weights_)
      for (const double g : w.grad().to_vector<double>()) squares += g * g;
    const double scale = std::min(1.0, clip / (std::sqrt(squares) + 1e-6));
    ++steps_;
    for (auto& [name, w] : weights_) {
      const std::vector<double> grads = w.grad().to_vector<double>();
      std::vector<double>&m = m_[name], &v = v_[name];
      m.resize(grads.size());
      v.resize(grads.size());
      double* values = w.mutable_data<double>();
      for (size_t i = 0; i < grads.size(); ++i) {
        const double g = grads[i] * scale;
        if (w.dim() == 2) values[i] -= lr * weight_decay * values[i];
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        const double mean = m[i] / (1 - std::pow(beta1, steps_));
        const double square = v[i] / (1 - std::pow(beta2, steps_));
        values[i] -= lr * mean / (std::sqrt(square) + 1e-8);
      }
    }
    return loss.item();
  }

 private:
  const Tensor& w(const std::string& name) const { return weights_.at(name); }

  Tensor linear(const Tensor& x, const std::string& name) const {
    return matmul(x, w(name + ".weight").mT()) + w(name + ".bias");
  }

  Tensor normed(const Tensor& x, const std::string& name) const {
    const Tensor centred = x - mean(x, {-1}, true);
    const Tensor variance = mean(centred * centred, {-1}, true);
    return centred / sqrt(variance + config_.norm_eps) * w(name + ".weight") + w(name + ".bias");
  }

  // Each exp(score) of the past over their sum; the scores of a small model need no shift.
  Tensor attention(const Tensor& x, const std::string& name) const {
    const int64_t B = x.size(0), T = x.size(1), C = x.size(2), nh = config_.n_head, hs = C / nh;
    const Tensor qkv = linear(x, name + ".c_attn").reshape({B, T, 3, nh, hs}).permute({2, 0, 3, 1, 4});
    const Tensor scores =
        matmul(qkv.select(0, 0), qkv.select(0, 1).mT()) / std::sqrt(static_cast<double>(hs));
    const Tensor past = exp(scores) * tril(ones({T, T}, DType::float64));
    const Tensor heads = matmul(past / sum(past, {-1}, true), qkv.select(0, 2));
    return linear(heads.transpose(1, 2).reshape({B, T, C}), name + ".c_proj");
  }

  Tensor mlp(const Tensor& x, const std::string& name) const {
    const Tensor h = linear(x, name + ".c_fc");
    const Tensor inner = std::sqrt(2.0 / std::acos(-1.0)) * (h + 0.044715 * (h * h * h));
    return linear(0.5 * h * (1.0 + tanh(inner)), name + ".c_proj");
  }

  Tensor loss(const Tensor& idx, const Tensor& targets) const {
    const int64_t B = idx.size(0), T = idx.size(1), C = config_.n_embd;
    Tensor x = index_select(w("wte.weight"), 0, idx.reshape({B * T})).reshape({B, T, C}) +
               w("wpe.weight").slice(0, 0, T);
    for (int64_t i = 0; i < config_.n_layer; ++i) {
      const std::string block = "h." + std::to_string(i) + ".";
      x = x + attention(normed(x, block + "ln_1"), block + "attn");
      x = x + mlp(normed(x, block + "ln_2"), block + "mlp");
    }
    const Tensor logits = matmul(normed(x, "ln_f"), w("wte.weight").mT()).reshape({B * T, -1});
    const Tensor p = exp(logits) / sum(exp(logits), {-1}, true);
    return neg(mean(log(gather(p, 1, targets.reshape({B * T, 1})))));
  }

  models::DecoderConfig config_;
  std::map<std::string, Tensor> weights_;
  std::map<std::string, std::vector<double>> m_, v_;
  int steps_ = 0;
};

}  // namespace gradus::train
