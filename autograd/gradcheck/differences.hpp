// Compares a gradient with finite differences of the function along a line. Internal.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/function.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"

namespace gradus::gradchecking {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kLeft = 16;        ///< of rounding that may add up
inline constexpr double kGap = 1e-12;      ///< relative, what rounding may leave between two derivatives
inline constexpr double kRateError = 0.2;  ///< a right gradient's falling_rate() is within it of 4

/// The results of a function along a line, at x + t u. Each is computed once.
class Line {
 public:
  explicit Line(std::function<Numbers(double t)> values) : values_(std::move(values)) {}
  const Numbers& at(double t);
  /// The sum of weights * (at(to) - at(from)); results of weight 0 do not count.
  double change(const Numbers& weights, double from, double to);
  bool is_float32() const;  ///< whether float32 represents all known results

 private:
  std::function<Numbers(double t)> values_;
  std::map<double, Numbers> known_;
};

/// The result of comparing an analytic derivative with finite differences along one direction.
struct Verdict {
  enum Kind { right, wrong, not_smooth, not_finite, too_coarse };
  Kind kind = right;
  double ratio = 0;    ///< the error as a multiple of the allowed error
  double numeric = 0;  ///< derivative by differences
  double analytic = 0;
  std::string text{};  ///< what keeps differences from judging
};

struct Judging {
  double unit = 1;          ///< length of the direction, to which the derivatives of the verdict refer
  double largest_term = 0;  ///< of other derivatives: much less may be rounding
  double worst = 1;         ///< an error known already: smaller ones need not be exact
  bool closely = false;     ///< allow no more than the bound of the extrapolated derivative's error
  Numbers noise{};          ///< the least rounding of each result; empty: unknown
};

/// Compares the derivative of sum(weights * results) at t = 0 with the sum of `terms`. Differences of length
/// eps suffice if they agree. Else the derivative is extrapolated from differences of many lengths (Ridders,
/// 1982), with a bound of its error from the rounding of the results and from how well the differences agree;
/// and the slopes on both sides are compared.
Verdict judge(Line& line, const Numbers& weights, const Numbers& terms, const GradcheckOptions& options,
              const Judging& how = {});

/// The length of a difference of an element, in units of eps.
inline double scale(double x) { return std::max(std::abs(x), 0.01); }

/// A direction u from input i of a function, which must outlive it, as the inputs must.
struct Direction {
  Direction(const Function& f_, const std::vector<Tensor>& inputs_, size_t i_, Numbers u_, double unit_ = 1);

  const Function& f;
  const std::vector<Tensor>& inputs;
  size_t i;
  Numbers u;
  double unit;  ///< of the verdict's numbers
  Line line;
  std::unique_ptr<Direction>
      shorter{};  ///< relative to the elements, however small; those that are 0 as before
};

/// Compares the derivative in a direction with the input's gradient; where differences cannot judge, also in
/// the shorter direction. largest_term: of all calls. noise: as in Judging.
Verdict judge(Direction& direction, const Numbers& weights, const Numbers& gradient,
              const GradcheckOptions& options, double worst, double& largest_term, bool closely = false,
              const Numbers& noise = {});

/// The Taylor remainder f(x + h u) - f(x) - h g u falls by four when h halves, and its odd half by eight.
/// That half over h is the error of central differences: returns by how much it falls, 4 if the gradient g is
/// right, at the smallest h at which rounding does not hide it. 0 if there is none, or if the even half does
/// not fall by four, as beyond a kink.
double falling_rate(Direction& direction, const Numbers& weights, const Numbers& gradient, double eps);

}  // namespace gradus::gradchecking
