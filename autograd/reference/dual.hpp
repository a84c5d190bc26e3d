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
  Dual operator-() const { return {-value, -tangent}; }
  Dual& operator+=(Dual b) { return *this = *this + b; }
  friend bool operator<(Dual a, Dual b) { return a.value < b.value; }
  friend bool operator>(Dual a, Dual b) { return b.value < a.value; }
  friend bool operator<=(Dual a, Dual b) { return a.value <= b.value; }
  friend bool operator>=(Dual a, Dual b) { return b.value <= a.value; }
  friend bool operator==(Dual a, Dual b) { return a.value == b.value; }
};

/// The number without tangents.
inline double plain(double x) { return x; }
template <class T>
double plain(const Dual<T>& x) {
  return plain(x.value);
}

/// Whether it is 0 with all its tangents.
inline bool is_zero(double x) { return x == 0; }
template <class T>
bool is_zero(const Dual<T>& x) {
  return is_zero(x.value) && is_zero(x.tangent);
}

/// f(x) and f'(x), given both at x.value. A tangent of 0 stays 0 where f' is infinite.
template <class T>
Dual<T> chain(const Dual<T>& x, T f, T slope) {
  return {f, is_zero(x.tangent) ? T(0) : slope * x.tangent};
}

template <class T>
Dual<T> exp(const Dual<T>& x) {
  const T y = exp(x.value);
  return chain(x, y, y);
}
template <class T>
Dual<T> log(const Dual<T>& x) {
  return chain(x, log(x.value), T(1) / x.value);
}
template <class T>
Dual<T> log1p(const Dual<T>& x) {
  return chain(x, log1p(x.value), T(1) / (T(1) + x.value));
}
template <class T>
Dual<T> sqrt(const Dual<T>& x) {
  const T y = sqrt(x.value);
  return chain(x, y, T(0.5) / y);
}
template <class T>
Dual<T> sin(const Dual<T>& x) {
  return chain(x, sin(x.value), cos(x.value));
}
template <class T>
Dual<T> cos(const Dual<T>& x) {
  return chain(x, cos(x.value), -sin(x.value));
}
template <class T>
Dual<T> tanh(const Dual<T>& x) {
  const T y = tanh(x.value);
  return chain(x, y, T(1) - y * y);
}
template <class T>
Dual<T> erf(const Dual<T>& x) {
  return chain(x, erf(x.value), T(2 * std::numbers::inv_sqrtpi) * exp(-(x.value * x.value)));
}
template <class T>
Dual<T> erfc(const Dual<T>& x) {
  return chain(x, erfc(x.value), T(-2 * std::numbers::inv_sqrtpi) * exp(-(x.value * x.value)));
}
template <class T>
Dual<T> abs(const Dual<T>& x) {
  return chain(x, abs(x.value), T(x.value > T(0) ? 1 : x.value < T(0) ? -1 : 0));
}
/// b^e. The slope in b is e b^(e-1), 0 for e = 0; that in e is b^e log(b), 0 for b = 0 <= e.
template <class T>
Dual<T> pow(const Dual<T>& b, const Dual<T>& e) {
  const T y = pow(b.value, e.value);
  const bool flat_b = is_zero(b.tangent) || is_zero(e.value);
  const bool flat_e = is_zero(e.tangent) || (b.value == T(0) && e.value >= T(0));
  const T along_b = flat_b ? T(0) : e.value * pow(b.value, e.value - T(1)) * b.tangent;
  const T along_e = flat_e ? T(0) : y * log(b.value) * e.tangent;
  return {y, along_b + along_e};
}

}  // namespace gradus::reference
