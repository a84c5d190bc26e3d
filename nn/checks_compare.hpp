// What the checks of checks.hpp share: calling a model, comparing what it gives. Private to nn.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "gradus/nn/checks.hpp"

namespace gradus::nn::detail {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// How much outputs moved that should have stayed.
struct Moved {
  double worst = 0;           ///< the largest change, an allowed one too
  std::optional<Shape> at{};  ///< the first element that changed by more than allowed
  double from = 0, to = 0;    ///< what it was and is

  explicit operator bool() const { return at.has_value(); }
};

/// NaN stays where NaN was; beyond that, allowed = 0 asks for equal bits.
Moved compare(const Tensor& before, const Tensor& after, double allowed);
bool equal(const Tensor& a, const Tensor& b);

double largest(const Tensor& x);  ///< finite magnitude
double rounding(DType dtype);     ///< the tolerance where the order of sums is free
/// A change of these outputs that is allowed, in their units. Throws Error unless tolerance >= 0.
double allowance(std::string_view op, const Tensor& outputs, std::optional<double> tolerance);

/// Throws Error unless x has elements, and numbers.
void check_input(std::string_view op, const Tensor& x);
void check_shape(std::string_view op, const Tensor& outputs, const Shape& expected);
/// What f gives for x. Copies on both sides: a function may write into its input, and hand out memory that
/// its next call writes into.
Tensor outputs_of(std::string_view op, const Function& f, const Tensor& x);

Tensor rotated(const Tensor& x, int64_t dim);  ///< its first slice along dim put behind the others

std::string number(double value);  ///< with digits enough to tell a float32 from its neighbours
std::string extent(double worst, double allowed);

}  // namespace gradus::nn::detail
