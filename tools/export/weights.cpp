#include "gradus/tools/export/weights.hpp"

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/record.hpp"
#include "gradus/models/pretrained.hpp"

namespace gradus::exports {

nn::StateDict linear_weights(const models::GPT& model) {
  const NoGrad no_grad;
  nn::StateDict weights;
  for (const auto& [name, stored] : models::stored_state(model))
    weights.emplace(name, (models::is_stored_transposed(name) ? stored.mT() : stored).contiguous());
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
