// Helpers of the tables of gradient-check cases: inputs made from a seed, and the list of cases.
#pragma once

#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"

namespace gradus::cases {

inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline Tensor ints(const std::vector<int64_t>& values, const Shape& shape) { return tensor(values, shape); }
inline Tensor ints(const std::vector<int64_t>& values) {
  return ints(values, {static_cast<int64_t>(values.size())});
}
inline Tensor bools(const std::vector<bool>& values, const Shape& shape) { return tensor(values, shape); }

using CaseList = std::vector<GradcheckCase>;
using In = const Tensor&;  ///< an input of a case's function

/// An input in a table: a tensor, or the shape of a random one.
struct Input {
  Input() = default;
  Input(std::initializer_list<int64_t> s) : shape(s) {}
  Input(const Shape& s) : shape(s) {}
  Input(Tensor t) : tensor(std::move(t)) {}
  Shape shape;
  Tensor tensor;
};

class OpCases;
/// How a case draws an input.
using Draw = Tensor (*)(OpCases&, const Shape&);
Tensor normal(OpCases& c, const Shape& s);

/// Adds the cases of one op. The inputs that it draws are float64, and none is closer than 0.05, thousands of
/// steps of gradcheck, to a kink or a tie.
class OpCases {
 public:
  OpCases(CaseList& list, std::string op, uint64_t seed, Draw draw = cases::normal, std::string prefix = "")
      : list_(list), op_(std::move(op)), generator_(seed), draw_(draw), prefix_(std::move(prefix)) {}

  Tensor normal(const Shape& shape);                            ///< mean 0, variance 1
  Tensor uniform(const Shape& shape, double low, double high);  ///< on [low, high)
  Tensor positive(const Shape& shape) { return uniform(shape, 0.5, 2.0); }
  /// Normal values moved away from 0 and from each of `kinks` by 0.1.
  Tensor away_from(const Shape& shape, std::initializer_list<double> kinks);
  Tensor nonzero(const Shape& shape) { return away_from(shape, {0.0}); }
  /// The multiples of 0.2 around 0, plus offset, each once, in random order, so without ties.
  Tensor distinct(const Shape& shape, double offset = 0.0);

  /// f takes the inputs one by one. Shapes are drawn in order. Returns the new case, for setting options.
  template <size_t kCount, class F>
  GradcheckCase& add(const std::string& name, const Input (&inputs)[kCount], F f) {
    std::vector<Tensor> drawn;
    for (const Input& in : inputs) drawn.push_back(in.tensor.defined() ? in.tensor : draw_(*this, in.shape));
    return add_list(name, std::move(drawn), [f](const std::vector<Tensor>& x) -> Tensor {
      return [&]<size_t... I>(std::index_sequence<I...>) { return f(x[I]...); }
      (std::make_index_sequence<kCount>());
    });
  }
  /// f takes the inputs in a vector.
  GradcheckCase& add_list(const std::string& name, std::vector<Tensor> inputs, GradcheckFunction f) {
    return list_.emplace_back(GradcheckCase{op_, prefix_ + name, std::move(inputs), std::move(f)});
  }

 private:
  CaseList& list_;
  std::string op_;
  Generator generator_;
  Draw draw_;
  std::string prefix_;
};

inline Tensor normal(OpCases& c, const Shape& s) { return c.normal(s); }
inline Tensor nonzero(OpCases& c, const Shape& s) { return c.nonzero(s); }
inline Tensor positive(OpCases& c, const Shape& s) { return c.positive(s); }
inline Tensor distinct(OpCases& c, const Shape& s) { return c.distinct(s); }

/// f^2: its second derivative is not zero where f is linear.
template <class F>
auto squared(F f) {
  return [f](const auto&... x) {
    const Tensor y = f(x...);
    return y * y;
  };
}

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
