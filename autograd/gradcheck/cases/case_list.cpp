#include "gradus/autograd/gradcheck/cases/case_list.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gradus::cases {
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

}  // namespace gradus::cases
