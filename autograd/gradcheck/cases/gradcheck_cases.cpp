#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus {
namespace cases {
namespace {

template <class Draw>
Tensor filled(const Shape& shape, const Draw& draw) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  std::generate(values.begin(), values.end(), draw);
  return tensor(values, shape);
}

}  // namespace

Tensor Values::normal(const Shape& shape) {
  return filled(shape, [&] { return generator_.normal(); });
}

Tensor Values::uniform(const Shape& shape, double low, double high) {
  return filled(shape, [&] { return low + (high - low) * generator_.uniform(); });
}

Tensor Values::away_from(const Shape& shape, std::initializer_list<double> kinks) {
  return filled(shape, [&] {
    double x = generator_.normal();
    for (const double kink : kinks)
      if (std::abs(x - kink) < 0.1) x = kink + std::copysign(0.1, x - kink) + 0.5 * (x - kink);
    return x;
  });
}

Tensor Values::distinct(const Shape& shape, double offset) {
  const int64_t n = shape.numel();
  const int64_t below = n / 2 + 1;  // values
  double next = -0.2 * static_cast<double>(below) + offset;
  std::vector<double> values(static_cast<size_t>(n));
  for (double& v : values) v = next += 0.2;
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(values[static_cast<size_t>(i)], values[static_cast<size_t>(generator_.below(i + 1))]);
  return tensor(values, shape);
}

Tensor ints(const std::vector<int64_t>& values, const Shape& shape) { return tensor(values, shape); }
Tensor bools(const std::vector<bool>& values, const Shape& shape) { return tensor(values, shape); }

GradcheckCase& CaseList::add(std::string op, std::string name, std::vector<Tensor> inputs,
                             GradcheckFunction f) {
  GradcheckCase c;
  c.op = std::move(op);
  c.name = std::move(name);
  c.inputs = std::move(inputs);
  c.f = std::move(f);
  return cases_.emplace_back(std::move(c));
}

}  // namespace cases

std::vector<GradcheckCase> gradcheck_cases() {
  cases::CaseList list;
  cases::add_arithmetic(list);
  cases::add_unary(list);
  cases::add_choosing(list);
  cases::add_reductions(list);
  cases::add_softmax(list);
  cases::add_products(list);
  cases::add_views(list);
  cases::add_joining(list);
  cases::add_indexing(list);
  cases::add_subscripts(list);
  cases::add_layers(list);
  cases::add_losses(list);
  cases::add_attention(list);
  return list.take();
}

GradcheckReport run_gradcheck(const GradcheckCase& c, int order, uint64_t seed) {
  GradcheckOptions options;
  options.order = std::min(order, c.max_order);
  options.eps = c.eps;
  options.tolerance = c.tolerance;
  options.seed = seed;
  return gradcheck(c.f, c.inputs, options);
}

}  // namespace gradus
