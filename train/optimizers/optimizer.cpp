#include "gradus/train/optimizers/optimizer.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::train {
namespace {

void check(const ParameterGroups& groups, const NamedParameters& parameters) {
  for (const ParameterGroup& group : groups) {
    if (!(group.lr_factor >= 0) || !(group.weight_decay.value_or(0) >= 0))
      fail("optimizer", "factors of the rate and weight decays must be at least 0, got ", group.lr_factor,
           " and ", group.weight_decay.value_or(0), " for '", group.pattern, "'.");
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&](const NamedParameter& p) { return nn::matches(group.pattern, p.first); }))
      fail("optimizer", "a pattern must match the name of a parameter, got '", group.pattern,
           "'. Hint: * is any text, as in 'h.0.*'; summary() of a module lists the names.");
  }
}

}  // namespace

Optimizer::Optimizer(NamedParameters parameters, const BufferNames& buffer_names,
                     const ParameterGroups& groups) {
  check(groups, parameters);
  for (NamedParameter& of : parameters) {
    auto& [name, parameter] = of;
    if (!parameter.is_contiguous())
      fail("optimizer", name, " must be packed, row-major, got a view of other strides; contiguous() is.");
    Slot slot{.of = of};
    for (const ParameterGroup& group : groups) {
      if (!nn::matches(group.pattern, name)) continue;
      if (group.frozen) parameter.requires_grad_(false);
      slot.lr_factor *= group.lr_factor;
      if (group.weight_decay) slot.weight_decay = group.weight_decay;
    }
    if (!parameter.requires_grad()) {
      untrained_.push_back(name);
      continue;
    }
    slot.buffer_names = buffer_names(of);
    for (size_t i = 0; i < slot.buffer_names.size(); ++i)
      slot.buffers.push_back(zeros(parameter.shape(), parameter.dtype()));
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::step(double lr, double grad_scale, const Updated& updated) {
  const NoGrad no_grad;
  for (Slot& slot : slots_) {
    const Tensor &parameter = slot.parameter(), grad = parameter.grad();
    if (grad.defined() && (grad.shape() != parameter.shape() || grad.dtype() != parameter.dtype()))
      fail("optimizer", "the gradient of ", slot.name(), " must be ", gradus::name(parameter.dtype()), " ",
           parameter.shape(), ", got ", gradus::name(grad.dtype()), " ", grad.shape(), ".");
  }
  ++steps_;
  std::mutex one_at_a_time;
  const auto update_one = [&](Slot& slot) {
    update(slot, slot.parameter().grad().contiguous(), steps_, lr * slot.lr_factor, grad_scale);
    if (!updated) return;
    const std::lock_guard lock(one_at_a_time);
    updated(slot.parameter());
  };
  std::vector<Slot*> of_small_ops;
  for (Slot& slot : slots_) {
    if (!slot.parameter().grad().defined()) continue;
    if (is_of_small_ops(slot))
      of_small_ops.push_back(&slot);
    else
      update_one(slot);
  }
  parallel_for(
      std::ssize(of_small_ops), 1,
      [&, products = autocast_dtype(), finds_anomalies = autograd::anomaly_mode](int64_t begin, int64_t end) {
        const NoGrad here;  // each thread has its own modes
        const Autocast autocast(products);
        const AnomalyMode anomaly(finds_anomalies);
        for (int64_t i = begin; i < end; ++i) update_one(*of_small_ops[static_cast<size_t>(i)]);
      });
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter().zero_grad();
}

nn::StateDict Optimizer::state_dict() const {
  nn::StateDict state{{"steps", full({}, static_cast<double>(steps_), DType::int64)}};
  for (const Slot& slot : slots_)
    for (size_t i = 0; i < slot.buffers.size(); ++i)
      state[slot.buffer_names[i] + "." + slot.name()] = slot.buffers[i];
  return state;
}

void Optimizer::load_state_dict(const nn::StateDict& state) {
  nn::StateDict given = state, own = state_dict();
  for (const std::string& name : untrained_)
    std::erase_if(given, [&](const auto& entry) { return entry.first.ends_with("." + name); });
  nn::check_state("optimizer", own, given);
  steps_ = static_cast<int64_t>(given.at("steps").item());
  own.erase("steps");
  for (auto& [name, buffer] : own) buffer.copy_(given.at(name));
}

}  // namespace gradus::train
