// Helpers of the tables of gradient-check cases: inputs made from a seed, and the list of cases.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/cases/gradcheck_case.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"

namespace gradus::cases {

/// The argument of a case's function: its inputs, in order.
using Inputs = const std::vector<Tensor>&;

/// float64 inputs. None comes closer to another value that matters than 0.05, thousands of steps of
/// gradcheck.
class Values {
 public:
  explicit Values(uint64_t seed) : generator_(seed) {}

  Tensor normal(const Shape& shape);                            ///< mean 0, variance 1
  Tensor uniform(const Shape& shape, double low, double high);  ///< on [low, high)
  Tensor positive(const Shape& shape) { return uniform(shape, 0.5, 2.0); }
  /// Normal values moved away from 0 and from each of `kinks` by 0.1.
  Tensor away_from(const Shape& shape, std::initializer_list<double> kinks);
  Tensor nonzero(const Shape& shape) { return away_from(shape, {0.0}); }
  /// The multiples of 0.2 around 0, plus offset, each once, in random order: no ties.
  Tensor distinct(const Shape& shape, double offset = 0.0);

 private:
  Generator generator_;
};

/// f^2: its second derivative is not zero where f is linear.
inline GradcheckFunction squared(const GradcheckFunction& f) {
  return [f](Inputs x) {
    const Tensor y = f(x);
    return y * y;
  };
}

/// How a case draws an input.
using Draw = Tensor (*)(Values&, const Shape&);
inline Tensor normal(Values& v, const Shape& s) { return v.normal(s); }
inline Tensor nonzero(Values& v, const Shape& s) { return v.nonzero(s); }
inline Tensor positive(Values& v, const Shape& s) { return v.positive(s); }

inline constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor ints(const std::vector<int64_t>& values, const Shape& shape);
Tensor bools(const std::vector<bool>& values, const Shape& shape);

/// Collects the cases of one op after another.
class CaseList {
 public:
  /// Returns the new case, so that its options can be set.
  GradcheckCase& add(std::string op, std::string name, std::vector<Tensor> inputs, GradcheckFunction f);
  std::vector<GradcheckCase> take() { return std::move(cases_); }

 private:
  std::vector<GradcheckCase> cases_;
};

void add_arithmetic(CaseList& list);
void add_unary(CaseList& list);
void add_choosing(CaseList& list);
void add_reductions(CaseList& list);
void add_softmax(CaseList& list);
void add_products(CaseList& list);
void add_views(CaseList& list);
void add_joining(CaseList& list);
void add_indexing(CaseList& list);
void add_subscripts(CaseList& list);
void add_layers(CaseList& list);
void add_losses(CaseList& list);
void add_attention(CaseList& list);

}  // namespace gradus::cases
