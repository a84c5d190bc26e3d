#include "gradus/autograd/graph/anomaly_check.hpp"

#include <cmath>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::autograd {
namespace {

// The elements of a tensor that are not finite.
struct NonFinite {
  int64_t count = 0;
  int64_t nans = 0;
  int64_t first = -1;  // in row-major order, of the NaNs if there are any
  double value = 0;
};

NonFinite non_finite_in(const Tensor& t) {
  NonFinite found;
  if (!t.defined() || !is_floating(t.dtype())) return found;
  const Tensor packed = raw::contiguous(t.detach());
  dispatch_float("anomaly", t.dtype(), [&]<class T>() {
    const T* values = packed.data<T>();
    const int64_t n = packed.numel();
    for (int64_t i = 0; i < n; ++i) {
      if (std::isfinite(values[i])) continue;
      const bool is_nan = std::isnan(values[i]);
      if (found.count == 0 || (is_nan && found.nans == 0)) {
        found.first = i;
        found.value = static_cast<double>(values[i]);
      }
      ++found.count;
      if (is_nan) ++found.nans;
    }
  });
  return found;
}

// "nan at (0, 1), one of 2 in float64 (2, 2)"
std::string where(const NonFinite& found, const Tensor& t) {
  const std::string value = std::isnan(found.value) ? "nan" : found.value > 0 ? "inf" : "-inf";
  const std::string others = found.count > 1 ? concat("one of ", found.count, " in ") : "in ";
  return concat(value, " at ", t.shape().index_of(found.first), ", ", others, name(t.dtype()), " ",
                t.shape());
}

std::string state(const Tensor& t) {
  const NonFinite found = non_finite_in(t);
  return found.count == 0 ? "finite" : concat("holds ", where(found, t));
}

// The text of each defined tensor, with "; " between.
template <class Text>
std::string joined(std::span<const Tensor> tensors, const Text& text) {
  std::string all;
  for (const Tensor& t : tensors)
    if (t.defined()) all += concat(all.empty() ? "" : "; ", text(t));
  return all;
}

std::string describe_input(const Tensor& x, const std::vector<const Node*>& ops) {
  if (!x.requires_grad()) return concat("constant ", name(x.dtype()), " ", x.shape());
  return describe(*x.impl()->node, ops);
}

bool any_not_finite(std::span<const Tensor> tensors) {
  for (const Tensor& t : tensors)
    if (non_finite_in(t).count > 0) return true;
  return false;
}

}  // namespace

void check_value(std::string_view op, const Tensor& out, const std::vector<Tensor>& inputs) {
  const NonFinite found = non_finite_in(out);
  if (found.count == 0) return;
  if (found.nans == 0 && any_not_finite(inputs)) return;

  std::vector<const Node*> roots;
  for (const Tensor& x : inputs)
    if (x.defined() && x.requires_grad()) roots.push_back(x.impl()->node.get());
  const std::vector<const Node*> ops = ops_below(roots);
  const std::string given =
      joined(inputs, [&](const Tensor& x) { return concat(describe_input(x, ops), ", ", state(x)); });
  fail("anomaly", op, " must give finite values, got ", where(found, out), ", as op %", ops.size() + 1,
       " of its graph, from: ", given.empty() ? "constants" : given,
       ". Hint: look for a logarithm, root or quotient of 0 or below, an overflow, or data that is not "
       "finite.");
}

bool is_anomaly(const Tensor& gx, std::span<const Tensor> gys) {
  const NonFinite found = non_finite_in(gx);
  return found.nans > 0 || (found.count > 0 && !any_not_finite(gys));
}

void refuse_gradient(const Node& from, const Node& to, const std::vector<const Node*>& ops, const Tensor& gx,
                     std::span<const Tensor> gys) {
  fail("anomaly", "the gradient rule of ", from.op, " must give finite values, got ",
       where(non_finite_in(gx), gx), ", for the input ", describe(to, ops), " of ", describe(from, ops),
       ", from a gradient that is: ", joined(gys, state),
       ". Hint: look at the values there: a root, power or quotient at 0, perhaps one that a where() hides.");
}

void check_hooked(const Node& node, const Tensor& g, const Tensor& before) {
  const NonFinite found = non_finite_in(g);
  if (found.count == 0 || non_finite_in(before).count > 0) return;
  fail("anomaly", "the hooks of ", describe(node), " must give finite values, got ", where(found, g), ".");
}

}  // namespace gradus::autograd
