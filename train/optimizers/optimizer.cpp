#include "gradus/train/optimizers/optimizer.hpp"

#include <iterator>

#include "gradus/autograd/graph/anomaly.hpp"
#include "gradus/autograd/graph/autocast.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::train {

using autograd::anomaly_mode;

Optimizer::Optimizer(NamedParameters parameters, const std::vector<std::string>& buffer_names)
    : Optimizer(std::move(parameters), [&](const std::string&, const Tensor&) { return buffer_names; }) {}

Optimizer::Optimizer(NamedParameters parameters, const BufferNames& names_of) {
  for (auto& [name, parameter] : parameters) {
    if (!parameter.is_contiguous())
      fail("optimizer", name, " must be packed, row-major, got a view of other strides; contiguous() is.");
    std::vector<std::string> names = names_of(name, parameter);
    Slot slot{std::move(name), parameter, std::move(names), {}};
    for (size_t i = 0; i < slot.buffer_names.size(); ++i)
      slot.buffers.push_back(zeros(parameter.shape(), parameter.dtype()));
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::step(double lr, double grad_scale) {
  const NoGrad no_grad;
  for (const Slot& slot : slots_) {
    const Tensor grad = slot.parameter.grad();
    if (grad.defined() && (grad.shape() != slot.parameter.shape() || grad.dtype() != slot.parameter.dtype()))
      fail("optimizer", "the gradient of ", slot.name, " must be ", gradus::name(slot.parameter.dtype()), " ",
           slot.parameter.shape(), ", got ", gradus::name(grad.dtype()), " ", grad.shape(), ".");
  }
  ++steps_;
  std::vector<Slot*> of_small_ops;
  for (Slot& slot : slots_) {
    const Tensor grad = slot.parameter.grad();
    if (!grad.defined()) continue;
    if (is_of_small_ops(slot))
      of_small_ops.push_back(&slot);
    else
      update(slot, grad.contiguous(), steps_, lr, grad_scale);
  }
  parallel_for(std::ssize(of_small_ops), 1,
               [&, products = autocast_dtype(), finds_anomalies = anomaly_mode](int64_t begin, int64_t end) {
                 const NoGrad here;  // modes are a thread's own
                 const Autocast autocast(products);
                 const AnomalyMode anomaly(finds_anomalies);
                 for (int64_t i = begin; i < end; ++i) {
                   Slot& slot = *of_small_ops[static_cast<size_t>(i)];
                   update(slot, slot.parameter.grad().contiguous(), steps_, lr, grad_scale);
                 }
               });
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.zero_grad();
}

nn::StateDict Optimizer::state_dict() const {
  nn::StateDict state{{"steps", full({}, static_cast<double>(steps_), DType::int64)}};
  for (const Slot& slot : slots_)
    for (size_t i = 0; i < slot.buffers.size(); ++i)
      state[slot.buffer_names[i] + "." + slot.name] = slot.buffers[i];
  return state;
}

void Optimizer::load_state_dict(const nn::StateDict& state) {
  const nn::StateDict own = state_dict();
  for (const auto& [name, buffer] : own) {
    const auto found = state.find(name);
    if (found == state.end()) fail("optimizer", "the state must have ", name, ", got none.");
    const Tensor& value = found->second;
    if (value.shape() != buffer.shape() || value.dtype() != buffer.dtype())
      fail("optimizer", name, " of the state must be ", gradus::name(buffer.dtype()), " ", buffer.shape(),
           ", got ", gradus::name(value.dtype()), " ", value.shape(), ".");
  }
  for (const auto& [name, value] : state)
    if (!own.contains(name))
      fail("optimizer", "the state must have this optimizer's names only, got ", name, ".");

  steps_ = static_cast<int64_t>(state.at("steps").item());
  for (Slot& slot : slots_)
    for (size_t i = 0; i < slot.buffers.size(); ++i)
      slot.buffers[i].copy_(state.at(slot.buffer_names[i] + "." + slot.name));
}

}  // namespace gradus::train
