#include "gradus/tools/cases/conventions.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::cases {
namespace {

template <class Holds>
bool any_of(const Tensor& x, const Holds& holds) {
  if (!x.defined() || x.dtype() != DType::float64) return false;
  const auto values = x.to_vector<double>();
  return std::any_of(values.begin(), values.end(), holds);
}

bool has_infinite_x(const CallCase& c) {
  return any_of(c.input("x"), [](double x) { return std::isinf(x); });
}

bool has_x_whose_cube_is_infinite(const CallCase& c) {
  return any_of(c.input("x"), [](double x) { return std::isinf(x * x * x); });
}

bool has_base_0(const CallCase& c) {
  return any_of(c.input("x"), [](double x) { return x == 0; });
}

bool has_mask(const CallCase& c) { return c.input("mask").defined(); }

bool has_deviation_0(const CallCase& c) {
  return std::any_of(c.answers.outputs.begin(), c.answers.outputs.end(),
                     [](const Tensor& y) { return any_of(y, [](double v) { return v == 0; }); });
}

/// The argument, or its default.
template <class T>
T argument(const CallCase& c, std::string_view name) {
  const auto given = c.arguments.find(name);
  return std::get<T>(given == c.arguments.end() ? *c.operation->find(name)->otherwise : given->second);
}

bool has_no_target(const CallCase& c) {
  const Tensor target = c.input("target");
  if (!target.defined() || target.dtype() != DType::int64) return false;
  const auto classes = target.to_vector<int64_t>();
  return std::all_of(classes.begin(), classes.end(),
                     [&](int64_t t) { return t == argument<int64_t>(c, "ignore_index"); });
}

// The largest |x| / sqrt(var + eps) of a row: by this factor rounding grows if the mean is subtracted after
// the division.
double lost_by_dividing_first(const CallCase& c) {
  autograd::Dims dims;
  for (size_t d = 0; d < argument<std::vector<int64_t>>(c, "normalized_shape").size(); ++d)
    dims.push_back(-1 - static_cast<int64_t>(d));
  const Tensor x = c.input("x");
  if (x.numel() == 0) return 1;
  return amax(gradus::abs(x) * rsqrt(var(x, dims, 0, true) + argument<double>(c, "eps"))).item();
}

bool has_large_mean(const CallCase& c) { return lost_by_dividing_first(c) > 100; }

bool is_finite_instead(const CallCase&, double got, double expected) {
  return std::isfinite(got) && std::isnan(expected);
}

bool is_within_rounding(const CallCase& c, double got, double expected) {
  constexpr double kRounding = 0x1p-53;
  const double allowed = 8 * kRounding * lost_by_dividing_first(c);
  return std::abs(got - expected) <= allowed * std::max(1.0, std::abs(expected));
}

constexpr std::array<Convention, 8> kConventions{{
    {"scaled_dot_product_attention", "a query that may attend to nothing gives 0, not NaN", has_mask,
     is_finite_instead},
    {"logsumexp", "a slice of nothing but -inf has gradient 0, not NaN", has_infinite_x, is_finite_instead},
    {"cross_entropy", "the mean over no targets has second derivatives of 0, not NaN", has_no_target,
     is_finite_instead},
    {"std", "a constant slice has second derivatives of 0, not NaN", has_deviation_0, is_finite_instead},
    {"pow", "0 to a constant power has second derivatives, not NaN", has_base_0, is_finite_instead},
    {"gelu", "the limits at infinity, not NaN, also of the cube", has_x_whose_cube_is_infinite,
     is_finite_instead},
    {"silu", "the limits at infinity, not NaN", has_infinite_x, is_finite_instead},
    {"layer_norm",
     "x - mean is taken before it is divided, which keeps the digits PyTorch loses where the mean is large",
     has_large_mean, is_within_rounding},
}};

}  // namespace

const Convention* convention_of(const CallCase& c) {
  for (const Convention& convention : kConventions)
    if (convention.op == c.operation->name && convention.applies(c)) return &convention;
  return nullptr;
}

}  // namespace gradus::cases
