#include "gradus/autograd/gradcheck/cases/case_list.hpp"

#include <algorithm>
#include <cmath>

namespace gradus {
namespace {

template <class F>
Tensor filled(const Shape& shape, const F& draw) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  std::generate(values.begin(), values.end(), draw);
  return tensor(values, shape);
}

}  // namespace

Tensor cases::OpCases::normal(const Shape& shape) {
  return filled(shape, [&] { return generator_.normal(); });
}

Tensor cases::OpCases::uniform(const Shape& shape, double low, double high) {
  return filled(shape, [&] { return low + (high - low) * generator_.uniform(); });
}

Tensor cases::OpCases::away_from(const Shape& shape, std::initializer_list<double> kinks) {
  return filled(shape, [&] {
    double x = generator_.normal();
    for (const double kink : kinks)
      if (std::abs(x - kink) < 0.1) x = kink + std::copysign(0.1, x - kink) + 0.5 * (x - kink);
    return x;
  });
}

Tensor cases::OpCases::distinct(const Shape& shape, double offset) {
  const int64_t n = shape.numel();
  double next = -0.2 * static_cast<double>(n / 2 + 1) + offset;
  std::vector<double> values(static_cast<size_t>(n));
  for (double& v : values) v = next += 0.2;
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(values[static_cast<size_t>(i)], values[static_cast<size_t>(generator_.below(i + 1))]);
  return tensor(values, shape);
}

GradcheckReport run_gradcheck(const GradcheckCase& c, int order, uint64_t seed,
                              const std::function<void(const CheckedGraph&)>& inspect) {
  return gradcheck(c.f, c.inputs,
                   {.order = std::min(order, c.max_order),
                    .eps = c.eps,
                    .tolerance = c.tolerance,
                    .seed = seed,
                    .inspect = inspect});
}

std::vector<GradcheckCase> gradcheck_cases() {
  using namespace cases;
  CaseList list;
  for (const auto add :
       {add_arithmetic, add_unary, add_choosing, add_reductions, add_softmax, add_products, add_views,
        add_joining, add_indexing, add_subscripts, add_layers, add_losses, add_attention})
    add(list);
  return list;
}

}  // namespace gradus
