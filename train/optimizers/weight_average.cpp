#include "gradus/train/optimizers/weight_average.hpp"

#include <algorithm>
#include <utility>

#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::train {
namespace {

constexpr const char *kMean = "average.", *kSteps = "average_steps";

template <class T>
T* elements_of(Tensor& x) {
  return x.mutable_data<T>();
}
template <class T>
const T* elements_of(const Tensor& x) {
  return x.data<T>();
}

/// Calls f(a[i], b[i]) for the elements of two packed tensors of one shape and dtype, which a const one
/// keeps.
template <class B, class F>
void for_each_pair(Tensor& a, B& b, const F& f) {
  dispatch_float("weight_average", a.dtype(), [&]<class T>() {
    T* const x = a.mutable_data<T>();
    auto* const y = elements_of<T>(b);
    parallel_for(a.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(x[i], y[i]);
    });
  });
}

}  // namespace

WeightAverage::WeightAverage(NamedParameters parameters, double decay) : decay_(decay) {
  if (!(decay >= 0 && decay < 1)) fail("weight_average", "decay must be in [0, 1), got ", decay, ".");
  check_parameters("weight_average", parameters);
  for (NamedParameter& one : parameters) {
    if (!one.second.requires_grad()) continue;
    const Tensor& parameter = parameters_.emplace_back(std::move(one)).second;
    means_.push_back(empty(parameter.shape(), parameter.dtype()));
    means_.back().copy_(parameter.detach());
  }
}

void WeightAverage::update() {
  ++steps_;
  const auto t = static_cast<double>(steps_);
  const double kept = std::min(decay_, t / (t + 10));
  for (size_t i = 0; i < means_.size(); ++i) {
    if (parameters_[i].second.impl()->replaced)
      fail("weight_average", "its parameters must be those of the model, got ", parameters_[i].first,
           ", which the model no longer has. Hint: make it after Module::to().");
    for_each_pair(means_[i], std::as_const(parameters_[i].second),
                  [kept]<class T>(T& mean, T value) { mean += static_cast<T>(1 - kept) * (value - mean); });
  }
}

void WeightAverage::swap() {
  for (size_t i = 0; i < means_.size(); ++i)
    for_each_pair(means_[i], parameters_[i].second, [](auto& mean, auto& value) { std::swap(mean, value); });
}

nn::StateDict WeightAverage::state_dict() const {
  nn::StateDict state{{kSteps, full({}, static_cast<double>(steps_), DType::int64)}};
  for (size_t i = 0; i < means_.size(); ++i) state[kMean + parameters_[i].first] = means_[i];
  return state;
}

nn::StateDict WeightAverage::take_from(nn::StateDict& state) {
  nn::StateDict taken;
  for (auto at = state.begin(); at != state.end();) {
    const bool is_mine = at->first.starts_with(kMean) || at->first == kSteps;
    if (is_mine) taken.insert(*at);
    at = is_mine ? state.erase(at) : std::next(at);
  }
  return taken;
}

void WeightAverage::check_state(const nn::StateDict& state) const {
  nn::check_state("weight_average", state_dict(), state);
}

void WeightAverage::load_state_dict(const nn::StateDict& state) {
  check_state(state);
  steps_ = static_cast<int64_t>(state.at(kSteps).item());
  for (size_t i = 0; i < means_.size(); ++i) means_[i].copy_(state.at(kMean + parameters_[i].first).detach());
}

}  // namespace gradus::train
