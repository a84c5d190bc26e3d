#include "gradus/autograd/graph/hooks.hpp"

#include "gradus/autograd/graph/node.hpp"

namespace gradus {

uint64_t autograd::HookList::add(GradHook hook) {
  hooks_.emplace(next_id_, std::move(hook));
  return next_id_++;
}

void autograd::HookList::remove(uint64_t id) { hooks_.erase(id); }

// Hooks may add and remove hooks. The initial ones run unless they were removed; each is held while it runs.
Tensor autograd::HookList::run(Tensor g, const std::function<std::string()>& what) const {
  const std::map<uint64_t, GradHook> at_start = hooks_;
  for (const auto& [id, hook] : at_start) {
    if (!hooks_.contains(id)) continue;
    const uint64_t before = g.impl()->storage->version();
    Tensor replaced = hook(g);
    if (g.impl()->storage->version() != before)
      fail("register_hook", "hook ", id, " of ", what(),
           " must not write into the gradient that it is given. Hint: return a new tensor.");
    if (!replaced.defined()) continue;
    if (replaced.shape() != g.shape() || replaced.dtype() != g.dtype())
      fail("register_hook", "hook ", id, " of ", what(), " must return ", name(g.dtype()), " ", g.shape(),
           " or nothing, got ", name(replaced.dtype()), " ", replaced.shape(), ".");
    g = std::move(replaced);
  }
  return g;
}

void HookHandle::remove() {
  if (const std::shared_ptr<autograd::HookList> list = list_.lock()) list->remove(id_);
  list_.reset();
}

HookHandle Tensor::register_hook(const GradHook& hook) const {
  if (!defined() || !requires_grad())
    fail("register_hook",
         "needs a tensor that requires a gradient. Hint: call requires_grad_() or register before detach().");
  std::shared_ptr<autograd::HookList>& list = impl()->node->hooks;
  if (!list) list = std::make_shared<autograd::HookList>();
  return {list, list->add(hook)};
}

}  // namespace gradus
