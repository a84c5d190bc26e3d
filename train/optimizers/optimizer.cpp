#include "gradus/train/optimizers/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::train {
namespace {

constexpr std::string_view kSkipped = "skipped.";

void check_groups(const ParameterGroups& groups, const NamedParameters& parameters) {
  for (const ParameterGroup& group : groups) {
    if (!(group.lr_factor >= 0) || !(group.weight_decay.value_or(0) >= 0))
      fail("optimizer", "factors of the rate and weight decays must be at least 0, got ", group.lr_factor,
           " and ", group.weight_decay.value_or(0), " for ", files::in_quotes(group.pattern), ".");
    if (std::ranges::none_of(parameters,
                             [&](const NamedParameter& p) { return nn::matches(group.pattern, p.first); }))
      fail("optimizer", "a pattern must match the name of a parameter, got ", files::in_quotes(group.pattern),
           ". Hint: * is any text, as in 'h.0.*'; summary() of a module lists the names.");
  }
}

/// The first byte of a packed tensor, and the one after its last. One tile is enough to compare: a matrix in
/// tiles has no views.
std::pair<const char*, const char*> bytes_of(const Tensor& t) {
  const auto* const begin = static_cast<const char*>(t.raw_data());
  return {begin, begin + (is_in_tiles(t.dtype()) ? 1 : t.numel()) * element_size(t.dtype())};
}

/// "h.0.weight" of the buffer "momentum.h.0.weight".
std::string parameter_of(const std::string& buffer) {
  return buffer.substr(std::min(buffer.find('.') + 1, buffer.size()));
}

}  // namespace

void check_parameters(const char* who, const NamedParameters& parameters) {
  std::set<std::string_view> names;
  std::map<const char*, const NamedParameter*> begins;  // of those that have bytes; none overlap
  for (const NamedParameter& one : parameters) {
    const auto& [name, parameter] = one;
    const auto [begin, end] = bytes_of(parameter);
    auto other = begins.lower_bound(end);  // The one before it begins last before the end.
    const bool shares =
        begin < end && other != begins.begin() && bytes_of((--other)->second->second).second > begin;
    if (!names.insert(name).second || shares)
      fail(who, "each parameter must be listed once, under a name of its own, got ", name,
           shares ? concat(", which shares elements with ", other->second->first, ".") : " twice.");
    if (begin < end) begins.emplace(begin, &one);
    if (!parameter.is_contiguous())
      fail(who, name, " must be packed, row-major, got a view of other strides; contiguous() is.");
    if (parameter.impl()->node && !parameter.impl()->node->is_leaf())
      fail<InputError>(who, name, " must be a leaf, got the result of ", parameter.impl()->node->op,
                       ", which gets no grad(). Hint: train the tensors that it is computed from.");
  }
}

Optimizer::Optimizer(NamedParameters parameters, std::optional<double> lr, const BufferNames& buffer_names,
                     const ParameterGroups& groups)
    : lr_(lr) {
  check_groups(groups, parameters);
  check_parameters("optimizer", parameters);
  for (NamedParameter& of : parameters) {
    auto& [name, parameter] = of;
    Slot slot{.of = of};
    for (const ParameterGroup& group : groups) {
      if (!nn::matches(group.pattern, name)) continue;
      if (group.frozen) parameter.requires_grad_(false);
      slot.lr_factor *= group.lr_factor;
      if (group.weight_decay) slot.weight_decay = group.weight_decay;
    }
    slot.buffer_names = buffer_names(of);
    if (parameter.requires_grad()) slot.make_buffers();
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::Slot::make_buffers() {
  while (buffers.size() < buffer_names.size())
    buffers.push_back(zeros(parameter().shape(), parameter().dtype()));
}

void Optimizer::check_step(double lr, double grad_scale) {
  if (!std::isfinite(lr) || !std::isfinite(grad_scale))
    fail("optimizer", "the rate and the factor of the gradients must be finite, got ", lr, " and ",
         grad_scale, ".");
  const Slot *alone = nullptr, *replaced = nullptr;
  bool any = false, is_trainable = slots_.empty();
  for (Slot& slot : slots_) {
    const Tensor &parameter = slot.parameter(), grad = parameter.grad();
    if (grad.defined() && (grad.shape() != parameter.shape() || grad.dtype() != parameter.dtype()))
      fail("optimizer", "the gradient of ", slot.name(), " must be ", gradus::name(parameter.dtype()), " ",
           parameter.shape(), ", got ", gradus::name(grad.dtype()), " ", grad.shape(), ".");
    any = any || slot.is_trained();
    is_trainable = is_trainable || parameter.requires_grad();
    if (!parameter.requires_grad()) continue;
    if (parameter.impl()->use_count() == 1) alone = &slot;
    if (parameter.impl()->replaced) replaced = &slot;
  }
  if (const Slot* const lost = alone || any ? alone : replaced)
    fail("optimizer", "its parameters must be those of the model, got ", lost->name(),
         ", which the model no longer has. Hint: make the optimizer after Module::to(), and after a layer is "
         "replaced.");
  if (!is_trainable)
    fail("optimizer",
         "a parameter must require a gradient, got none that does. Hint: make the optimizer after "
         "add_lora(), which freezes the parameters that are there.");
}

void Optimizer::step(double lr, double grad_scale, const Updated& updated) {
  const NoGrad no_grad;
  check_step(lr, grad_scale);
  ++steps_;
  std::mutex one_at_a_time;
  const auto update_one = [&](Slot& slot) {
    update(slot, slot.parameter().grad().contiguous(), steps_ - slot.skipped, lr * slot.lr_factor,
           grad_scale);
    if (!updated) return;
    const std::lock_guard lock(one_at_a_time);
    updated(slot.parameter());
  };
  std::vector<Slot*> of_small_ops;
  for (Slot& slot : slots_) {
    if (!slot.is_trained()) {
      const bool is_others = updated && slot.parameter().requires_grad();  // another rank updates it
      slot.skipped += is_others ? 0 : 1;
      continue;
    }
    slot.make_buffers();
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

void Optimizer::step() {
  if (!lr_) fail("optimizer", "step() needs the option lr, got none. Hint: step(lr) takes a rate.");
  step(*lr_);
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter().zero_grad();
}

NamedParameters Optimizer::parameters() const {
  NamedParameters all;
  for (const Slot& slot : slots_) all.push_back(slot.of);
  return all;
}

nn::StateDict Optimizer::state_dict() const {
  nn::StateDict state{{"steps", full({}, static_cast<double>(steps_), DType::int64)}};
  for (const Slot& slot : slots_) {
    for (size_t i = 0; i < slot.buffers.size(); ++i)
      state[slot.buffer_names[i] + "." + slot.name()] = slot.buffers[i];
    if (slot.skipped > 0 && !slot.buffers.empty())
      state[concat(kSkipped, slot.name())] = full({}, static_cast<double>(slot.skipped), DType::int64);
  }
  return state;
}

void Optimizer::load_state_dict(const nn::StateDict& state) {
  nn::StateDict given = state, own = state_dict();
  std::map<std::string_view, int64_t> skipped;
  std::set<std::string_view> untrained;
  for (const Slot& slot : slots_) {
    const std::string name = concat(kSkipped, slot.name());
    const auto found = given.find(name);
    skipped[slot.name()] = found == given.end() ? 0 : static_cast<int64_t>(found->second.item());
    given.erase(name);
    own.erase(name);
    if (slot.buffers.empty()) untrained.insert(slot.name());
  }
  std::erase_if(given, [&](const auto& entry) { return untrained.contains(parameter_of(entry.first)); });
  nn::check_state("optimizer", own, given);
  const auto steps = static_cast<int64_t>(given.at("steps").item());
  for (const auto& [name, count] : skipped)
    if (count < 0 || count > steps)
      fail("optimizer", "needs at least 0 steps, and no more of them that ", name, " skipped, got ", steps,
           " and ", count, ".");
  steps_ = steps;
  own.erase("steps");
  for (auto& [name, buffer] : own) buffer.copy_(given.at(name).detach());
  for (Slot& slot : slots_) slot.skipped = slot.buffers.empty() ? steps_ : skipped[slot.name()];
}

}  // namespace gradus::train
