// LoRA: see layers.hpp.
#include "gradus/nn/layers.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {

LoRA::LoRA(int64_t in_features, int64_t out_features, Generator& generator, const LoRAOptions& options)
    : scale(options.alpha / static_cast<double>(options.rank)), dropout(options.dropout) {
  if (options.rank < 1) fail("lora", "rank must be at least 1, got ", options.rank, ".");
  if (!(options.alpha > 0) || !std::isfinite(options.alpha))
    fail("lora", "alpha must be a finite number above 0, got ", options.alpha, ".");
  if (!(options.dropout >= 0 && options.dropout < 1))
    fail("lora", "dropout must be in [0, 1), got ", options.dropout, ".");
  A = new_parameter({options.rank, in_features},
                    [&](Tensor& x) { kaiming_uniform_(x, generator, std::sqrt(5.0)); });
  B = new_parameter({out_features, options.rank}, zeros_);
}

Tensor LoRA::operator()(const Tensor& x, Generator* generator) const {
  const Tensor kept = generator && dropout > 0 ? gradus::dropout(x, dropout, *generator) : x;
  return linear(linear(kept, A) * scale, B);
}

Tensor LoRA::update() const {
  const NoGrad no_grad;
  return matmul(B, A) * scale;
}

std::vector<std::pair<std::string, Linear*>> linear_layers(Module& module) {
  std::vector<std::pair<std::string, Linear*>> layers;
  detail::for_each_module(module, [&](const std::string& name, Module& one) {
    if (auto* const layer = dynamic_cast<Linear*>(&one)) layers.emplace_back(name, layer);
  });
  return layers;
}

bool is_lora_on(const std::string& pattern, const std::string& name) {
  return matches(pattern, name) || matches("*." + pattern, name);
}

std::vector<std::string> add_lora(Module& module, const LoRAOptions& options, Generator& generator) {
  const auto layers = linear_layers(module);
  for (const std::string& pattern : options.on)
    if (std::ranges::none_of(layers, [&](const auto& layer) { return is_lora_on(pattern, layer.first); }))
      fail("lora", "a pattern must match the name of a linear layer, got ", files::in_quotes(pattern),
           ". Hint: the first is ", layers.empty() ? "missing" : layers.front().first, "; * is any text.");
  std::vector<std::string> names;
  std::vector<std::pair<Linear*, LoRA>> adapters;  // the module changes when all are there
  for (const auto& [name, layer] : layers) {
    if (std::ranges::none_of(options.on,
                             [&, &own = name](const auto& pattern) { return is_lora_on(pattern, own); }))
      continue;
    if (layer->lora) fail("lora", name, " must have no adapter, got one.");
    LoRA lora(layer->weight.size(1), layer->weight.size(0), generator, options);
    if (layer->weight.dtype() == DType::float64)
      for (Tensor* factor : {&lora.A, &lora.B})
        *factor = factor->detach().to(DType::float64).requires_grad_();
    names.push_back(name);
    adapters.emplace_back(layer, std::move(lora));
  }
  for (Tensor& parameter : module.parameters()) parameter.requires_grad_(false);
  for (auto& [layer, lora] : adapters) layer->lora = std::move(lora);
  return names;
}

void merge_lora(Module& module) {
  const NoGrad no_grad;
  const auto layers = linear_layers(module);
  for (const auto& [name, layer] : layers)
    if (layer->lora && !is_floating(layer->weight.dtype()))
      fail("lora", name, ".weight must be float32 or float64 to be merged, got ",
           gradus::name(layer->weight.dtype()), ".");
  for (const auto& [name, layer] : layers) {
    if (!layer->lora) continue;
    Tensor weight = layer->weight.detach();
    weight.copy_(weight + layer->lora->update());
    layer->lora.reset();
  }
}

}  // namespace gradus::nn
