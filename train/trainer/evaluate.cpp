#include "gradus/train/trainer/evaluate.hpp"

#include "gradus/autograd/graph/record.hpp"

namespace gradus::train {

double mean_loss(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches) {
  if (batches.empty()) fail("evaluate", "needs at least one batch, got none.");
  const nn::EvaluationMode evaluation(model);
  const NoGrad no_grad;
  double sum = 0;
  int64_t count = 0;
  for (const data::Batch& batch : batches) {
    sum += loss(batch).item() * static_cast<double>(batch.y.numel());
    count += batch.y.numel();
  }
  return sum / static_cast<double>(count);
}

}  // namespace gradus::train
