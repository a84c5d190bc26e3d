#include "gradus/nn/watch.hpp"

#include <algorithm>
#include <map>

#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {
namespace detail {

/// What an Activations keeps, or how an Intervention replaces.
class Watch : public std::enable_shared_from_this<Watch> {
 public:
  explicit Watch(std::vector<std::string> patterns, bool gradients = false,
                 Intervention::Function replace = {})
      : patterns_(std::move(patterns)), gradients_(gradients), replace_(std::move(replace)) {}

  /// The name under which a pattern asks for a point of the module at `path`; empty if none does.
  std::string wanted(const std::string& path, std::string_view point) {
    std::string name = concat(path, path.empty() || point.empty() ? "" : ".", point);
    if (name.empty()) name = "out";
    if (!replace_ && std::find(points.begin(), points.end(), name) == points.end()) points.push_back(name);
    for (const std::string& as : {name, point.empty() ? name + ".out" : name})
      for (const std::string& pattern : patterns_)
        if (matches(pattern, as)) return as;
    return "";
  }

  Tensor pass(const std::string& name, const Tensor& x) {
    if (replace_) return replaced(name, x);
    const auto [value, is_new] = values.try_emplace(name);
    if (is_new) names.push_back(name);
    value->second.all.push_back(x);
    value->second.grad = Tensor();
    // A gradient that arrives after clear(), or after a later call, belongs to no kept value.
    if (gradients_ && x.requires_grad())
      x.register_hook([weak = weak_from_this(), name, node = x.impl()](const Tensor& g) {
        const auto watch = weak.lock();
        if (!watch || !watch->values.contains(name)) return;
        auto& [all, grad] = watch->values.at(name);
        if (all.back().impl() == node) grad = grad.defined() ? grad + g.detach() : g.detach();
      });
    return x;
  }

  struct Value {
    std::vector<Tensor> all;
    Tensor grad;  // of the last one
  };
  std::map<std::string, Value, std::less<>> values;
  std::vector<std::string> names, points;  // of values, and of all points, as they appeared

 private:
  Tensor replaced(const std::string& name, const Tensor& x) const {
    const auto text = [](const Tensor& t) { return concat(gradus::name(t.dtype()), " ", t.shape()); };
    const Tensor y = replace_(x, name);
    if (!y.defined() || y.shape() != x.shape() || y.dtype() != x.dtype())
      fail("intervention", "the new value of '", name, "' must be ", text(x), ", got ",
           y.defined() ? text(y) : "none", ".");
    return y;
  }

  std::vector<std::string> patterns_;
  bool gradients_;
  Intervention::Function replace_;  // empty: keeps the values
};

void WatchList::add(const std::string& path, const std::shared_ptr<Watch>& watch) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.watch.expired(); });
  entries_.push_back({path, watch});
}

bool WatchList::wants(std::string_view point) const {
  bool wanted = false;  // All hear of the point.
  for (const auto& [path, weak] : entries_)
    if (const auto watch = weak.lock()) wanted = !watch->wanted(path, point).empty() || wanted;
  return wanted;
}

Tensor WatchList::pass(std::string_view point, Tensor x) const {
  for (const auto& [path, weak] : entries_)
    if (const auto watch = weak.lock())
      if (const std::string name = watch->wanted(path, point); !name.empty()) x = watch->pass(name, x);
  return x;
}

}  // namespace detail

Activations::Activations(Module& model, std::vector<std::string> patterns, const WatchOptions& options)
    : watch_(std::make_shared<detail::Watch>(std::move(patterns), options.gradients)) {
  model.add_watch(watch_);
}

const Tensor& Activations::operator[](std::string_view name) const {
  const std::vector<Tensor>& values = all(name);
  if (values.empty())
    fail("watch", "the name must be that of a kept value, got '", name, "'. Kept: ",
         watch_->values.empty()
             ? "none. Hint: call the model; points() lists the names that a pattern can match"
             : joined(watch_->names),
         ".");
  return values.back();
}

const std::vector<Tensor>& Activations::all(std::string_view name) const {
  static const std::vector<Tensor> none;
  const auto found = watch_->values.find(name);
  return found == watch_->values.end() ? none : found->second.all;
}

std::vector<std::string> Activations::names() const { return watch_->names; }
const std::vector<std::string>& Activations::points() const { return watch_->points; }
void Activations::clear() {
  watch_->values.clear();
  watch_->names.clear();
  watch_->points.clear();
}

Tensor Activations::grad(std::string_view name) const {
  (void)(*this)[name];
  const Tensor& grad = watch_->values.find(name)->second.grad;
  if (!grad.defined())
    fail("watch", "'", name, "' must have a gradient, got none. Hint: watch(model, patterns, {.gradients = ",
         "true}), then backward() from a loss that depends on it.");
  return grad;
}

Intervention::Intervention(Module& model, std::vector<std::string> patterns, Function replace)
    : watch_(std::make_shared<detail::Watch>(std::move(patterns), false, std::move(replace))) {
  model.add_watch(watch_);
}

Intervention Intervention::ablate(Module& model, std::vector<std::string> patterns) {
  return {model, std::move(patterns),
          [](const Tensor& x, const auto&) { return zeros(x.shape(), x.dtype()); }};
}

Intervention Intervention::scale(Module& model, std::vector<std::string> patterns, double factor) {
  return {model, std::move(patterns), [factor](const Tensor& x, const auto&) { return x * factor; }};
}

Intervention Intervention::patch(Module& model, std::vector<std::string> patterns,
                                 const Activations& source) {
  std::map<std::string, Tensor> values;
  for (const std::string& name : source.names()) values.emplace(name, source[name].detach());
  return {model, std::move(patterns), [values](const Tensor&, const std::string& name) {
            const auto found = values.find(name);
            if (found == values.end())
              fail("intervention", "the source must have a value for each name, got none for '", name, "'.");
            return found->second;
          }};
}

}  // namespace gradus::nn
