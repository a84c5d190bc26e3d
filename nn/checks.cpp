#include "gradus/nn/checks.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string_view>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/nn/checks_compare.hpp"

namespace gradus::nn {

std::ostream& operator<<(std::ostream& os, const CheckReport& report) { return os << report.message; }

namespace detail {

// -- causality
namespace {

constexpr std::string_view kCausal = "check_causal";

int time_dim(const Tensor& x, const std::optional<int64_t>& asked) {
  if (asked && x.dim() > 0) return wrap_dim(kCausal, *asked, x.dim());
  const int dim = x.dim() - (is_floating(x.dtype()) ? 2 : 1);
  if (dim < 0) fail(kCausal, "x must be (..., T, C) values or (..., T) tokens, got ", x.shape(), ".");
  return dim;
}

Tensor other_tokens(const Tensor& x, int64_t vocab_size, Generator& generator) {
  std::vector<int64_t> tokens = x.to_vector<int64_t>();
  const auto [least, most] = std::minmax_element(tokens.begin(), tokens.end());
  if (vocab_size > 0 && (*least < 0 || *most >= vocab_size))
    fail(kCausal, "tokens must be in [0, vocab_size = ", vocab_size, "), got ", *least, " to ", *most, ".");
  const int64_t low = vocab_size > 0 ? 0 : *least;
  const int64_t count = vocab_size > 0 ? vocab_size : *most - *least + 1;
  if (count < 2)
    fail(kCausal, "needs two tokens to change one into the other, got only ", low,
         ". Hint: set vocab_size to that of the model.");
  for (int64_t& token : tokens) {
    const int64_t drawn = low + generator.below(count - 1);
    token = drawn + (drawn >= token ? 1 : 0);
  }
  return tensor(tokens, x.shape());
}

/// What changed positions are overwritten with: differs from x at each of them.
Tensor other_than(const Tensor& x, int dim, const CausalOptions& o) {
  if (o.vocab_size < 0) fail(kCausal, "vocab_size must be >= 0, got ", o.vocab_size, ".");
  Generator generator = Generator(o.seed).stream(kCausal);
  if (!is_floating(x.dtype())) {
    if (o.scale != 1.0) fail(kCausal, "scale is one of values, which tokens have not, got ", o.scale, ".");
    return other_tokens(x, o.vocab_size, generator);
  }
  const Tensor other = randn(x.shape(), generator, x.dtype()) * o.scale;
  for (int64_t t = 1; t < x.size(dim); ++t)
    if (compare(x.select(dim, t), other.select(dim, t), 0.0).worst == 0.0)
      fail(kCausal, "x must change at each position, got what it holds at position ", t,
           ". Hint: take another scale or seed.");
  return other;
}

/// One output that depends on a later input.
struct Leak {
  int64_t reach = 0;  // how many positions ahead it sees
  int64_t changed_from = 0;
  Moved moved;
};

std::string_view hint(const Leak& leak, int64_t T, double worst, double size_of_rounding) {
  if (!std::isfinite(worst))
    return "a product with 0 does not hide NaN or infinity, and a mask after the softmax can leave 0 / 0";
  if (worst <= size_of_rounding)
    return "this is the size of rounding: what is hidden has taken part in a sum, as with a mask after the "
           "softmax; set tolerance if it may";
  if (leak.reach == T - 1)
    return "look for a mask that is missing or comes after the softmax, or for a sum over all positions";
  return "look for a mask or a shift that is off by so many positions, over all layers together";
}

}  // namespace

CheckReport check_causal(const Function& f, const Tensor& x, const CausalOptions& options) {
  check_input(kCausal, x);
  const int dim = time_dim(x, options.dim);
  const int64_t T = x.size(dim);
  if (T < 2) fail(kCausal, "x must have at least 2 positions in dimension ", dim, ", got ", x.shape(), ".");
  const Tensor given = x.detach(), other = other_than(given, dim, options);

  const Tensor before = outputs_of(kCausal, f, given);
  if (before.dim() <= dim || before.size(dim) != T)
    fail(kCausal, "outputs must have the ", T, " positions of x in dimension ", dim, ", got ", before.shape(),
         " for x ", x.shape(), ".");
  const double allowed = allowance(kCausal, before, options.tolerance);

  // Time comes first in what is compared, so that the first that moved is the one that sees furthest.
  const auto earlier = [&](const Tensor& y, int64_t t) { return y.slice(dim, 0, t).transpose(0, dim); };
  Leak leak;
  double worst = 0;
  for (int64_t t = 1; t < T; ++t) {
    const Tensor after = outputs_of(kCausal, f, cat({given.slice(dim, 0, t), other.slice(dim, t, T)}, dim));
    check_shape(kCausal, after, before.shape());
    const Moved moved = compare(earlier(before, t), earlier(after, t), allowed);
    worst = std::max(worst, moved.worst);
    if (moved && t - (*moved.at)[0] > leak.reach) leak = {t - (*moved.at)[0], t, moved};
  }
  const std::string rule = concat("[", kCausal, "] no output may depend on a later input, ");
  if (leak.reach == 0)
    return {true, worst,
            concat(rule, "and none did for ", T - 1, " changes of x; ", extent(worst, allowed), ".")};
  Shape at = *leak.moved.at;
  std::swap(at[0], at[dim]);
  return {false, worst,
          concat(rule, "got one that sees ", leak.reach, leak.reach == 1 ? " position" : " positions",
                 " ahead: at ", at, " ", number(leak.moved.from), " became ", number(leak.moved.to),
                 " when x was changed from position ", leak.changed_from, " on; ", extent(worst, allowed),
                 ". Hint: ", hint(leak, T, worst, rounding(before.dtype()) * largest(before)), ".")};
}

// -- rows of a batch
CheckReport check_batch_invariant(const Function& f, const Tensor& x, std::optional<double> tolerance) {
  constexpr std::string_view kOp = "check_batch_invariant";
  check_input(kOp, x);
  const int64_t B = x.dim() > 0 ? x.size(0) : 1;
  if (B < 2) fail(kOp, "x must have at least 2 rows, got ", x.shape(), ".");
  const Tensor given = x.detach();
  if (equal(given, rotated(given, 0))) fail(kOp, "rows of x must differ, got ", B, " equal ones.");

  const Tensor before = outputs_of(kOp, f, given);
  if (before.dim() < 1 || before.size(0) != B)
    fail(kOp, "outputs must have the ", B, " rows of x, got ", before.shape(), " for x ", x.shape(), ".");
  const double allowed = allowance(kOp, before, tolerance);

  Tensor reordered = outputs_of(kOp, f, rotated(given, 0));
  check_shape(kOp, reordered, before.shape());
  reordered = cat({reordered.slice(0, B - 1, B), reordered.slice(0, 0, B - 1)}, 0);

  Shape row_shape = before.shape();
  row_shape[0] = 1;
  std::vector<Tensor> rows;
  for (int64_t b = 0; b < B; ++b) {
    rows.push_back(outputs_of(kOp, f, given.slice(0, b, b + 1)));
    check_shape(kOp, rows.back(), row_shape);
  }

  const Moved by_order = compare(before, reordered, allowed), alone = compare(before, cat(rows, 0), allowed);
  const double worst = std::max(by_order.worst, alone.worst);
  const auto report = [&](bool passed, const auto&... text) {
    return CheckReport{passed, worst, concat("[", kOp, "] ", text...)};
  };
  if (by_order)
    return report(false, "rows in another order must give the same outputs in that order, got ",
                  number(by_order.to), " for ", number(by_order.from), " at ", *by_order.at,
                  " when each row moved up by one; ", extent(worst, allowed),
                  ". Hint: look for what depends on a row's index in the batch, or on its neighbours.");
  if (alone)
    return report(false, "a row must give the same alone and in a batch, got ", number(alone.to),
                  " alone and ", number(alone.from), " in the batch at ", *alone.at, "; ",
                  extent(worst, allowed), ". Hint: look for statistics or sums over dimension 0.");
  return report(true, "a row must give the same alone, in a batch and in another order, and all ", B,
                " did; ", extent(worst, allowed), ".");
}

// -- evaluation
CheckReport check_eval_deterministic(const Drawing& model, const Tensor& x) {
  constexpr std::string_view kOp = "check_eval_deterministic";
  check_input(kOp, x);
  // Two streams: a model that draws from a copy of its generator would not advance it.
  const Generator first(1), second(2);
  Generator a = first, b = second;
  const Tensor once = outputs_of(
      kOp, [&](const Tensor& in) { return model(in, &a); }, x);
  const Tensor again = outputs_of(
      kOp, [&](const Tensor& in) { return model(in, &b); }, x);
  check_shape(kOp, again, once.shape());

  const Moved moved = compare(once, again, 0.0);
  const bool drew = !(a == first && b == second);
  const std::string rule =
      concat("[", kOp, "] two calls in evaluation mode must give the same bits and draw nothing, ");
  if (!moved && !drew) return {true, 0.0, rule + "and did."};
  const std::string seen = moved ? concat(number(moved.from), " and then ", number(moved.to), " at ",
                                          *moved.at, ", worst change ", number(moved.worst))
                                 : "the same bits";
  return {false, moved.worst,
          concat(rule, "got ", seen, drew ? ", and draws from the generator" : "",
                 ". Hint: look for dropout that eval() does not reach, in a layer that visit does not list, "
                 "and for state kept between calls.")};
}

}  // namespace detail
}  // namespace gradus::nn
