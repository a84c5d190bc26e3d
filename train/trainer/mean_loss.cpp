// mean_loss() of trainer.hpp.
#include <numeric>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/trainer/shared_gradients.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {
namespace {

/// The mean losses of batches first, first + stride and so on, without dropout and without recording.
std::vector<double> losses_of(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches,
                              size_t first, size_t stride) {
  const nn::EvaluationMode evaluation(model);
  const NoGrad no_grad;
  std::vector<double> losses;
  for (size_t i = first; i < batches.size(); i += stride)  // the mean over no targets is NaN
    losses.push_back(batches[i].targets() == 0 ? 0 : loss(batches[i]).item());
  return losses;
}

}  // namespace

double mean_loss(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches,
                 Communicator* ranks) {
  if (batches.empty()) fail("evaluate", "needs at least one batch, got none.");
  const int64_t targets = data::count_targets(batches);
  if (targets == 0) fail("evaluate", "needs at least one target, got none in its batches.");
  const size_t size = ranks ? static_cast<size_t>(ranks->size()) : 1,
               rank = ranks ? static_cast<size_t>(ranks->rank()) : 0;
  std::vector<size_t> counts(size, 0);
  for (size_t i = 0; i < batches.size(); ++i) ++counts[i % size];
  const std::vector<double> losses = exchange(ranks, losses_of(model, loss, batches, rank, size), counts);
  double sum = 0;                     // in the order of the batches, so that the ranks do not matter
  std::vector<size_t> next(size, 0);  // of each rank in `losses`
  std::partial_sum(counts.begin(), counts.end() - 1, next.begin() + 1);
  for (size_t i = 0; i < batches.size(); ++i)
    sum += losses[next[i % size]++] * static_cast<double>(batches[i].targets());
  return sum / static_cast<double>(targets);
}

}  // namespace gradus::train
