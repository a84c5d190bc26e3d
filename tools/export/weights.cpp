#include "gradus/tools/export/weights.hpp"

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::exports {

nn::StateDict linear_weights(const models::GPT& model) {
  const NoGrad no_grad;
  const bool lacks_biases = model.config().arch == models::Arch::gpt2 && !model.config().bias;
  nn::StateDict weights;
  for (const auto& [name, parameter] : model.state_dict()) {
    const Tensor values = parameter.to(DType::float32).contiguous();
    const bool is_table = name == "wte.weight" || name == "wpe.weight" || name == "lm_head.weight";
    const std::string layer = name.substr(0, name.rfind('.'));
    if (lacks_biases && !is_table) weights.emplace(layer + ".bias", zeros({values.size(0)}));
    weights.emplace(name, values);
  }
  return weights;
}

std::span<const float> numbers_of(const Tensor& tensor) {
  return {tensor.data<float>(), static_cast<size_t>(tensor.numel())};
}

std::string described(const models::GPTConfig& config) {
  const bool llama = config.arch == models::Arch::llama;
  return concat(llama ? config.qk_norm ? "Qwen3" : "Llama" : "GPT-2", "’s shape, ", config.n_layer,
                " layers, ", config.n_head, " heads, ", config.n_embd, " wide, block ", config.block_size);
}

}  // namespace gradus::exports
