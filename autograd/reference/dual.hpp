// Dual: a number and its tangent, for derivatives in forward mode (Clifford, 1873; Wengert, 1964).
//
// (v, t) stands for v + t e with e^2 = 0, so f(v + t e) = f(v) + f'(v) t e: computing with such numbers gives
// the derivative J t beside the value. Dual<Dual<double>> gives second derivatives: of (v + s e1) + (t + 0
// e1) e2 the coefficient of e1 e2. Comparisons look at the value, so a kink takes the branch of its value;
// abs'(0) = 0.
#pragma once

#include <cmath>
#include <numbers>

namespace gradus::reference {

using std::abs;
using std::cos;
using std::erf;
using std::erfc;
using std::exp;
using std::log;
using std::log1p;
using std::pow;
using std::sin;
using std::sqrt;
using std::tanh;

inline constexpr double kErf = 2 * std::numbers::inv_sqrtpi;  ///< erf'(0)

/// The number without tangents, and whether it is 0 with all of them.
inline double plain(double x) { return x; }
inline double plain(long double x) { return static_cast<double>(x); }
inline bool is_zero(long double x) { return x == 0; }

template <class T>
struct Dual {
  T value{0};    ///< v
  T tangent{0};  ///< t

  Dual() = default;
  Dual(double v) : value(v) {}  // NOLINT: a constant is the natural spelling; its tangent is 0
  Dual(T v, T t) : value(v), tangent(t) {}

  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.tangent + b.tangent}; }
  friend Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.tangent - b.tangent}; }
  friend Dual operator*(Dual a, Dual b) {
    return {a.value * b.value, a.tangent * b.value + a.value * b.tangent};
  }
  friend Dual operator/(Dual a, Dual b) {
    const T y = a.value / b.value;
    return {y, (a.tangent - y * b.tangent) / b.value};
  }
  friend double plain(const Dual& x) { return plain(x.value); }
  friend bool is_zero(const Dual& x) { return is_zero(x.value) && is_zero(x.tangent); }
  Dual operator-() const { return {-value, -tangent}; }
  Dual& operator+=(Dual b) { return *this = *this + b; }
  friend bool operator<(Dual a, Dual b) { return a.value < b.value; }
  friend bool operator>(Dual a, Dual b) { return b.value < a.value; }
  friend bool operator<=(Dual a, Dual b) { return a.value <= b.value; }
  friend bool operator>=(Dual a, Dual b) { return b.value <= a.value; }
  friend bool operator==(Dual a, Dual b) { return a.value == b.value; }

  /// f(x) and f'(x) t, given f and f' at x.value. A tangent of 0 stays 0 where f' is infinite.
  friend Dual chain(Dual x, T f, T slope) { return {f, is_zero(x.tangent) ? T(0) : slope * x.tangent}; }

  friend Dual exp(Dual x) { return chain(x, exp(x.value), exp(x.value)); }
  friend Dual log(Dual x) { return chain(x, log(x.value), 1.0 / x.value); }
  friend Dual log1p(Dual x) { return chain(x, log1p(x.value), 1.0 / (1.0 + x.value)); }
  friend Dual sqrt(Dual x) { return chain(x, sqrt(x.value), 0.5 / sqrt(x.value)); }
  friend Dual sin(Dual x) { return chain(x, sin(x.value), cos(x.value)); }
  friend Dual cos(Dual x) { return chain(x, cos(x.value), -sin(x.value)); }
  friend Dual tanh(Dual x) { return chain(x, tanh(x.value), 1.0 - tanh(x.value) * tanh(x.value)); }
  friend Dual erf(Dual x) { return chain(x, erf(x.value), kErf * exp(-x.value * x.value)); }
  friend Dual erfc(Dual x) { return chain(x, erfc(x.value), -kErf * exp(-x.value * x.value)); }
  friend Dual abs(Dual x) { return chain(x, abs(x.value), double(x.value > 0) - double(x.value < 0)); }
  /// The slope in b is e b^(e-1), 0 for e = 0; that in e is b^e log(b), 0 for b = 0 <= e.
  friend Dual pow(Dual b, Dual e) {
    const T y = pow(b.value, e.value);
    const bool flat_b = is_zero(b.tangent) || is_zero(e.value);
    const bool flat_e = is_zero(e.tangent) || (b.value == 0 && e.value >= 0);
    const T along_b = flat_b ? T(0) : e.value * pow(b.value, e.value - 1.0) * b.tangent;
    return {y, flat_e ? along_b : along_b + y * log(b.value) * e.tangent};
  }
};

}  // namespace gradus::reference
