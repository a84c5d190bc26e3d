#include "gradus/nn/checks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>
#include <string_view>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"

namespace gradus::nn {

std::ostream& operator<<(std::ostream& os, const CheckReport& report) { return os << report.message; }

namespace detail {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Prints enough digits to distinguish a float32 from its neighbours.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// The report "[op] text; worst change ..., allowed .... Hint: ...". Without a hint, the check has passed.
CheckReport report(std::string_view op, const std::string& text, double worst, double allowed,
                   std::string_view hint = {}) {
  return {hint.empty(), worst,
          concat("[", op, "] ", text, "; worst change ", number(worst), ", allowed ", number(allowed),
                 hint.empty() ? "" : ". Hint: ", hint, ".")};
}

/// The changes of outputs that must not change.
struct Change {
  double worst = 0;           ///< the largest, including allowed ones
  std::optional<Shape> at{};  ///< the first element that changed by more than allowed
  double from = 0, to = 0;    ///< its values

  explicit operator bool() const { return at.has_value(); }
};

/// NaN must stay NaN. Otherwise allowed = 0 requires equal bits.
Change compare(const Tensor& before, const Tensor& after, double allowed) {
  const std::vector<double> a = before.to(DType::float64).to_vector<double>();
  const std::vector<double> b = after.to(DType::float64).to_vector<double>();
  Change change;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same_bits = std::bit_cast<uint64_t>(a[i]) == std::bit_cast<uint64_t>(b[i]);
    if (same_bits || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double size = std::abs(a[i] - b[i]);
    change.worst = std::max(change.worst, std::isnan(size) ? kInfinity : size);
    if (change || (allowed > 0.0 && size <= allowed)) continue;
    change.at = before.shape().index_of(static_cast<int64_t>(i));
    change.from = a[i];
    change.to = b[i];
  }
  return change;
}

/// The largest finite magnitude.
double largest(const Tensor& x) {
  double most = 0;
  for (const double value : x.to(DType::float64).to_vector<double>())
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most;
}

/// The default tolerance where sums may be computed in another order.
double rounding(DType dtype) {
  if (dtype == DType::float32) return 1e-5;
  return dtype == DType::float64 ? 1e-12 : 0.0;
}

/// The allowed change of these outputs, in their units. Throws Error unless tolerance >= 0.
double allowance(std::string_view op, const Tensor& outputs, std::optional<double> tolerance) {
  const double relative = tolerance.value_or(rounding(outputs.dtype()));
  if (!(relative >= 0.0)) fail(op, "tolerance must be >= 0, got ", relative, ".");
  return relative * largest(outputs);
}

void check_input(std::string_view op, const Tensor& x) {
  if (!x.defined() || x.numel() == 0)
    fail(op, "x must have elements, got ", x.defined() ? concat(x.shape()) : "none", ".");
  if (x.dtype() == DType::boolean) fail(op, "x must be float32, float64 or int64, got bool.");
}

void check_shape(std::string_view op, const Tensor& outputs, const Shape& expected) {
  if (outputs.shape() != expected)
    fail(op, "outputs must have the shape ", expected, " here, got ", outputs.shape(), ".");
}

/// f(x), with copies of input and output: a function may write into its input, and return memory that its
/// next call overwrites.
Tensor outputs_of(std::string_view op, const Function& f, const Tensor& x) {
  const Tensor y = f(clone(x));
  if (!y.defined()) fail(op, "the model must return a tensor, got none.");
  return clone(y);
}

/// x with its first slice along dim moved to the end.
Tensor rotated(const Tensor& x, int64_t dim) {
  return cat({x.slice(dim, 1, x.size(dim)), x.slice(dim, 0, 1)}, dim);
}

// -- causality

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

/// Values for changed positions, which differ from x at each position.
Tensor other_than(const Tensor& x, int dim, const CausalOptions& o) {
  if (o.vocab_size < 0) fail(kCausal, "vocab_size must be >= 0, got ", o.vocab_size, ".");
  Generator generator = Generator(o.seed).stream(kCausal);
  if (!is_floating(x.dtype())) {
    if (o.scale != 1.0) fail(kCausal, "scale applies to values, not to tokens, got ", o.scale, ".");
    return other_tokens(x, o.vocab_size, generator);
  }
  const Tensor other = randn(x.shape(), generator, x.dtype()) * o.scale;
  for (int64_t t = 1; t < x.size(dim); ++t)
    if (compare(x.select(dim, t), other.select(dim, t), 0.0).worst == 0.0)
      fail(kCausal, "x must change at each position, got the same at position ", t,
           ". Hint: take another scale or seed.");
  return other;
}

/// For an output that depends on an input `reach` positions later.
std::string_view causal_hint(int64_t reach, int64_t T, double worst, double size_of_rounding) {
  if (!std::isfinite(worst))
    return "a product with 0 does not hide NaN or infinity, and a mask after the softmax can leave 0 / 0";
  if (worst <= size_of_rounding)
    return "this is the size of rounding: a masked value has taken part in a sum, as with a mask after the "
           "softmax; set tolerance if it may";
  if (reach == T - 1)
    return "look for a mask that is missing or comes after the softmax, or for a sum over all positions";
  return "look for a mask or a shift that is off by this number of positions, over all layers together";
}

}  // namespace

bool equal(const Tensor& a, const Tensor& b) { return !compare(a, b, 0.0); }

Tensor clone(const Tensor& x) {
  if (!x.defined()) return x;
  Tensor copy = empty(x.shape(), x.dtype());
  copy.copy_(x);
  return copy;
}

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

  // With time first, the first changed element is the one that depends on the most distant input.
  const auto earlier = [&](const Tensor& y, int64_t t) { return y.slice(dim, 0, t).transpose(0, dim); };
  Change farthest;
  int64_t reach = 0, changed_from = 0;
  double worst = 0;
  for (int64_t t = 1; t < T; ++t) {
    const Tensor after = outputs_of(kCausal, f, cat({given.slice(dim, 0, t), other.slice(dim, t, T)}, dim));
    check_shape(kCausal, after, before.shape());
    const Change change = compare(earlier(before, t), earlier(after, t), allowed);
    worst = std::max(worst, change.worst);
    if (!change || t - (*change.at)[0] <= reach) continue;
    reach = t - (*change.at)[0];
    changed_from = t;
    farthest = change;
  }
  const std::string rule = "no output may depend on a later input, ";
  if (reach == 0)
    return report(kCausal, concat(rule, "and none did for ", T - 1, " changes of x"), worst, allowed);
  std::swap((*farthest.at)[0], (*farthest.at)[dim]);
  return report(kCausal,
                concat(rule, "got one that sees ", reach, reach == 1 ? " position" : " positions",
                       " ahead: at ", *farthest.at, " ", number(farthest.from), " became ",
                       number(farthest.to), " when x was changed from position ", changed_from, " on"),
                worst, allowed, causal_hint(reach, T, worst, rounding(before.dtype()) * largest(before)));
}

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

  const Change by_order = compare(before, reordered, allowed), alone = compare(before, cat(rows, 0), allowed);
  const double worst = std::max(by_order.worst, alone.worst);
  if (by_order)
    return report(
        kOp,
        concat("rows in another order must give the same outputs in that order, got ", number(by_order.to),
               " for ", number(by_order.from), " at ", *by_order.at, " when each row moved up by one"),
        worst, allowed, "look for code that depends on a row's index in the batch, or on its neighbours");
  if (alone)
    return report(kOp,
                  concat("a row must give the same alone and in a batch, got ", number(alone.to),
                         " alone and ", number(alone.from), " in the batch at ", *alone.at),
                  worst, allowed, "look for statistics or sums over dimension 0");
  return report(
      kOp, concat("a row must give the same alone, in a batch and in another order, and all ", B, " did"),
      worst, allowed);
}

CheckReport check_eval_deterministic(const Drawing& model, const Tensor& x) {
  constexpr std::string_view kOp = "check_eval_deterministic";
  check_input(kOp, x);
  // Two streams, because a model that draws from a copy of its generator does not advance it.
  const Generator first(1), second(2);
  Generator a = first, b = second;
  const auto call = [&](Generator& generator) {
    return outputs_of(
        kOp, [&](const Tensor& in) { return model(in, &generator); }, x);
  };
  const Tensor once = call(a), again = call(b);
  check_shape(kOp, again, once.shape());

  const Change change = compare(once, again, 0.0);
  const bool drew = !(a == first && b == second);
  const std::string rule =
      concat("[", kOp, "] two calls in evaluation mode must give the same bits and draw nothing, ");
  if (!change && !drew) return {true, 0.0, rule + "and did."};
  const std::string seen = change ? concat(number(change.from), " and then ", number(change.to), " at ",
                                           *change.at, ", worst change ", number(change.worst))
                                  : "the same bits";
  return {false, change.worst,
          concat(rule, "got ", seen, drew ? ", and draws from the generator" : "",
                 ". Hint: look for dropout that eval() does not reach, in a layer that visit does not list, "
                 "and for state kept between calls.")};
}

CheckReport check_kv_cache(const Function& model, const std::function<CachedSequence()>& start,
                           const Tensor& x, std::optional<double> tolerance) {
  constexpr std::string_view kOp = "check_kv_cache";
  check_input(kOp, x);
  if (x.dim() < 2 || x.size(1) < 2)
    fail(kOp, "x must be (B, T) or (B, T, C) with T >= 2, got ", x.shape(), ".");
  const int64_t T = x.size(1);
  const Tensor given = x.detach(), other = rotated(given, 1);
  if (equal(given, other)) fail(kOp, "positions of x must differ, got ", T, " equal ones.");
  const Tensor full = outputs_of(kOp, model, given);
  if (full.dim() < 2 || full.size(0) != x.size(0) || full.size(1) != T)
    fail(kOp, "outputs of a full call must be (", x.size(0), ", ", T, ", ...), got ", full.shape(), ".");
  const double allowed = allowance(kOp, full, tolerance);

  double worst = 0;
  std::string fault, fault_hint;  // the first fault, which needs the shortest input
  using Pieces = std::vector<int64_t>;
  // Feeds x in pieces of these lengths. After each piece it feeds one of another sequence to `second`, which
  // may overwrite shared memory.
  const auto feed = [&](std::string_view how, std::string_view hint, const Pieces& pieces,
                        const CachedSequence& sequence, const CachedSequence* second = nullptr) {
    const auto add_fault = [&](const auto&... seen) {
      if (!fault.empty()) return;
      fault = concat(seen..., " when x was fed ", how);
      fault_hint = hint;
    };
    int64_t begin = 0;
    for (const int64_t size : pieces) {
      const int64_t end = begin + size;
      Tensor outputs;
      try {
        outputs = outputs_of(kOp, sequence.decode, given.slice(1, begin, end));
        if (second) outputs_of(kOp, second->decode, other.slice(1, begin, end));
      } catch (const Error& error) {
        worst = kInfinity;
        return add_fault("at positions ", begin, " to ", end - 1, " the error \"", error.what(), "\"");
      }
      const bool all = outputs.dim() == full.dim();  // else only those of the last position
      const Tensor expected = all ? full.slice(1, begin, end) : full.select(1, end - 1);
      check_shape(kOp, outputs, expected.shape());
      Change change = compare(expected, outputs, allowed);
      worst = std::max(worst, change.worst);
      if (change && all) (*change.at)[1] += begin;
      if (change && !all) change.at->insert(1, end - 1);
      if (change) add_fault(number(change.to), " for ", number(change.from), " at ", *change.at);
      begin = end;
    }
  };

  Pieces uneven;
  for (int64_t begin = 0, size = 1; begin < T; begin += uneven.back(), size = size % 3 + 1)
    uneven.push_back(std::min(size, T - begin));
  feed("at once", "look at where decode differs from the call: positions, mask, dropout", {T}, start());
  feed("one by one", "look at the length of the cache, the positions of new tokens, overwritten entries",
       Pieces(static_cast<size_t>(T), 1), start());
  feed("in pieces of 1, 2 and 3", "look at the mask of several new positions behind old ones", uneven,
       start());
  const CachedSequence sequence = start(), second = start();
  feed("next to a second sequence", "each cache needs its own storage, and must hold all of the state",
       uneven, sequence, &second);
  if (second.clear) {
    second.clear();
    feed("into a cleared cache", "clear() must forget all positions, in every layer", uneven, second);
  }
  return report(
      kOp, concat("decode() must give what a full call gives, ", fault.empty() ? "and did" : "got ", fault),
      worst, allowed, fault_hint);
}

}  // namespace detail
}  // namespace gradus::nn
