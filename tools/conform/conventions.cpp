#include "gradus/tools/conform/conventions.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gradus/autograd/ops.hpp"

namespace gradus::tools::conformance {
namespace {

const Written* input(const Case& c, std::string_view name) {
  for (const Written& i : c.inputs)
    if (i.name == name) return &i;
  return nullptr;
}

template <class Holds>
bool any_of_x(const Case& c, const Holds& holds) {
  const Written* x = input(c, "x");
  const auto* values = x ? std::get_if<std::vector<double>>(&x->data) : nullptr;
  return values && std::any_of(values->begin(), values->end(), holds);
}

bool has_infinite_x(const Case& c) {
  return any_of_x(c, [](double x) { return std::isinf(x); });
}

bool has_x_whose_cube_is_infinite(const Case& c) {
  return any_of_x(c, [](double x) { return std::isinf(x * x * x); });
}

bool has_base_0(const Case& c) {
  return any_of_x(c, [](double x) { return x == 0; });
}

bool has_mask(const Case& c) { return input(c, "mask") != nullptr; }

bool has_deviation_0(const Case& c) {
  for (const Written& output : c.outputs)
    if (const auto* values = std::get_if<std::vector<double>>(&output.data))
      if (std::find(values->begin(), values->end(), 0.0) != values->end()) return true;
  return false;
}

bool has_no_target(const Case& c) {
  const Written* target = input(c, "target");
  const auto* classes = target ? std::get_if<std::vector<int64_t>>(&target->data) : nullptr;
  const auto given = c.arguments.find("ignore_index");
  const auto* ignored = given == c.arguments.end() ? nullptr : std::get_if<int64_t>(&given->second);
  return classes && std::all_of(classes->begin(), classes->end(),
                                [&](int64_t t) { return t == (ignored ? *ignored : -100); });
}

// The largest |x| / sqrt(var + eps) of a row: how many times what is left of x is rounded too coarsely if the
// mean is subtracted after x was divided.
double lost_by_dividing_first(const Case& c) {
  const auto shape = c.arguments.find("normalized_shape");
  const auto eps = c.arguments.find("eps");
  const Written* x = input(c, "x");
  if (!x || shape == c.arguments.end()) return 1;
  autograd::Dims dims;
  const auto* sizes = std::get_if<std::vector<int64_t>>(&shape->second);
  for (size_t d = 0; sizes && d < sizes->size(); ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  const auto* given = eps == c.arguments.end() ? nullptr : std::get_if<double>(&eps->second);
  const Tensor values = x->make();
  if (values.numel() == 0) return 1;
  return amax(gradus::abs(values) * rsqrt(var(values, dims, 0, true) + (given ? *given : 1e-5))).item();
}

bool has_large_mean(const Case& c) { return lost_by_dividing_first(c) > 100; }

bool is_finite_instead(const Case&, double got, double expected) {
  return std::isfinite(got) && std::isnan(expected);
}

bool is_within_rounding(const Case& c, double got, double expected) {
  constexpr double kRounding = 0x1p-53;
  const double allowed = 8 * kRounding * lost_by_dividing_first(c);
  return std::abs(got - expected) <= allowed * std::max(1.0, std::abs(expected));
}

struct Listed {
  std::string_view op;
  Convention convention;
};

constexpr std::array<Listed, 8> kConventions{{
    {"scaled_dot_product_attention",
     {"a query that may attend to nothing gives 0, not NaN", has_mask, is_finite_instead}},
    {"logsumexp", {"a slice of nothing but -inf has gradient 0, not NaN", has_infinite_x, is_finite_instead}},
    {"cross_entropy",
     {"the mean over no targets has second derivatives of 0, not NaN", has_no_target, is_finite_instead}},
    {"std", {"a constant slice has second derivatives of 0, not NaN", has_deviation_0, is_finite_instead}},
    {"pow", {"0 to a constant power has second derivatives, not NaN", has_base_0, is_finite_instead}},
    {"gelu",
     {"the limits at infinity, not NaN, also of the cube", has_x_whose_cube_is_infinite, is_finite_instead}},
    {"silu", {"the limits at infinity, not NaN", has_infinite_x, is_finite_instead}},
    {"layer_norm",
     {"x - mean is taken before it is divided, which keeps the digits PyTorch loses where the mean is large",
      has_large_mean, is_within_rounding}},
}};

}  // namespace

const Convention* convention_of(const Case& c) {
  for (const Listed& listed : kConventions)
    if (listed.op == c.op && listed.convention.applies(c)) return &listed.convention;
  return nullptr;
}

}  // namespace gradus::tools::conformance
