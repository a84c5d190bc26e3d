// A step of several micro-batches on one process: one after the other.
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/trainer/gradient_exchange.hpp"

namespace gradus::train {
namespace {

class MicroBatches : public GradientExchange {
 public:
  MicroBatches(const NamedParameters& parameters, int64_t micro)
      : GradientExchange(parameters), micro_(micro) {}

  StepSums compute(const StepWork& work) override {
    std::vector<std::vector<data::Batch>> batches;
    StepSums sums;
    for (int64_t i = 0; i < micro_; ++i)
      sums.targets += static_cast<double>(data::count_targets(batches.emplace_back(work.draw(i))));
    work.begin();
    std::vector<TreeSum> gradients(parameters_.size());
    for (int64_t i = 0; i < micro_; ++i) {
      sums.loss += work.backward(i, batches[static_cast<size_t>(i)], sums.targets);
      const NoGrad no_grad;
      for (size_t k = 0; k < parameters_.size(); ++k) {
        Tensor& parameter = parameters_[k].second;
        gradients[k].add({{i, i + 1}, gradient_or_zeros(parameter)});
        parameter.zero_grad();
      }
    }
    const NoGrad no_grad;
    for (size_t k = 0; k < parameters_.size(); ++k) parameters_[k].second.set_grad(gradients[k].total());
    return sums;
  }

 private:
  const int64_t micro_;
};

}  // namespace

std::unique_ptr<GradientExchange> make_micro_batches(const NamedParameters& parameters, int64_t micro) {
  return std::make_unique<MicroBatches>(parameters, micro);
}

}  // namespace gradus::train
