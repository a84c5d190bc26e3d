// What the tests of the vector kernels share: levels of this machine, thread counts, data, comparisons.
#pragma once

#include "catch.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/elementwise/loop.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace vectors {

inline constexpr int64_t kSizes[] = {1, 7, 8, 17, 31, 33, 63, 65, 1000};
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Sets the number of threads and puts the old one back.
struct Threads {
  explicit Threads(int n) : old(gradus::num_threads()) { gradus::set_num_threads(n); }
  ~Threads() { gradus::set_num_threads(old); }
  int old;
};

/// Sets the level and puts the old one back.
struct AtLevel {
  explicit AtLevel(std::string_view level) : old(gradus::kernels::isa_name(gradus::kernels::isa_in_use())) {
    gradus::kernels::set_isa(level);
  }
  ~AtLevel() { gradus::kernels::set_isa(old); }
  std::string_view old;
};

/// Runs a body once at each level of this machine that has loops of its own.
template <class F>
void at_each_level(F&& body) {
  for (const auto level : gradus::kernels::available_isas()) {
    if (level == gradus::kernels::Level::reference) continue;
    const AtLevel at(gradus::kernels::isa_name(level));
    INFO("level " << gradus::kernels::isa_name(level));
    body();
  }
}

/// n values spread over [-spread, spread], the same in every run.
template <class T>
std::vector<T> values(int64_t n, double spread = 3, uint64_t seed = 1) {
  std::vector<T> x(static_cast<size_t>(n));
  uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  for (T& v : x) {
    state = state * 6364136223846793005 + 1442695040888963407;
    v = static_cast<T>(spread * (static_cast<double>(state >> 11) * 0x1p-52 - 1.0));
  }
  return x;
}

/// Equal bit for bit, which NaN is to itself and 0 is not to -0.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// How many steps of T's grid `got` is from `want`; infinite if one of them is NaN or infinities differ.
template <class T>
double ulps(T got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : kInf;
  const T nearest = static_cast<T>(want);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : kInf;
  const double next = std::nextafter(std::fabs(nearest), std::numeric_limits<T>::infinity());
  const double step =
      std::isinf(next)
          ? std::ldexp(1.0, std::numeric_limits<T>::max_exponent - std::numeric_limits<T>::digits)
          : next - std::fabs(nearest);
  return std::fabs(static_cast<double>(got) - want) / step;
}

/// Within `relative` of the larger of |want| and 1; false for NaN unless both are.
inline bool near(double got, double want, double relative) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want || std::fabs(got - want) <= relative * std::fmax(std::fabs(want), 1.0);
}

template <class T>
inline constexpr double kTolerance = sizeof(T) == 4 ? 2e-6 : 1e-14;

/// CHECKs got[i] near want(i) for every i.
template <class T, class F>
void check_near(const std::vector<T>& got, F&& want, double relative = kTolerance<T>) {
  int64_t bad = -1;
  for (size_t i = 0; i < got.size() && bad < 0; ++i)
    if (!near(static_cast<double>(got[i]), static_cast<double>(want(static_cast<int64_t>(i))), relative))
      bad = static_cast<int64_t>(i);
  if (bad >= 0) {
    INFO("element " << bad << ": got " << got[static_cast<size_t>(bad)] << ", want " << want(bad));
    CHECK(bad == -1);
  } else {
    SUCCEED();
  }
}

/// A loop over n packed elements of N operands.
template <int N>
gradus::kernels::Loop<N> packed(int64_t n) {
  gradus::kernels::Loop<N> loop;
  loop.dims = 1;
  loop.size[0] = n;
  for (int k = 0; k < N; ++k) loop.stride[k][0] = 1;
  return loop;
}

}  // namespace vectors
