// mean_loss() of trainer.hpp.
#include "gradus/autograd/graph/record.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {
namespace {

/// The mean losses of the batches that this rank has, those of the others 0, without dropout, unrecorded.
std::vector<double> losses_of(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches,
                              Communicator* ranks) {
  const nn::EvaluationMode evaluation(model);
  const NoGrad no_grad;
  const size_t rank = ranks ? static_cast<size_t>(ranks->rank()) : 0,
               size = ranks ? static_cast<size_t>(ranks->size()) : 1;
  std::vector<double> losses(batches.size());
  for (size_t i = rank; i < batches.size(); i += size)
    if (batches[i].targets() > 0) losses[i] = loss(batches[i]).item();  // the mean over none is NaN
  return losses;
}

}  // namespace

double mean_loss(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches,
                 Communicator* ranks) {
  if (batches.empty()) fail("evaluate", "needs at least one batch, got none.");
  const int64_t targets = data::count_targets(batches);
  if (targets == 0) fail("evaluate", "needs at least one target, got none in its batches.");
  std::vector<double> losses = losses_of(model, loss, batches, ranks);
  add_ranks(ranks, losses);
  double sum = 0;  // in the order of the batches, so that the ranks do not matter
  for (size_t i = 0; i < batches.size(); ++i) sum += losses[i] * static_cast<double>(batches[i].targets());
  return sum / static_cast<double>(targets);
}

}  // namespace gradus::train
