#include "gradus/train/evaluate.hpp"

#include <algorithm>

#include "gradus/autograd/record.hpp"

namespace gradus::train {

int64_t evaluation_batch(const models::GPTConfig& config) {
  constexpr int64_t kTokens = 4096;
  return std::max<int64_t>(1, kTokens / config.block_size);
}

double mean_loss(models::GPT& model, const std::vector<data::Batch>& batches) {
  if (batches.empty()) fail("evaluate", "needs at least one batch, got none.");
  const nn::EvaluationMode evaluation(model);
  const NoGrad no_grad;
  double sum = 0;
  int64_t count = 0;
  for (const auto& [x, y] : batches) {
    sum += model.loss(x, y).item() * static_cast<double>(y.numel());
    count += y.numel();
  }
  return sum / static_cast<double>(count);
}

}  // namespace gradus::train
