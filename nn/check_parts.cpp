#include "gradus/nn/check_parts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/tensor/raw.hpp"
#include "gradus/files/error.hpp"

namespace gradus::nn::detail {
namespace {

/// Values, or tokens below vocab_size, that differ from x at each position.
Tensor other_than(const Tensor& x, int64_t vocab_size) {
  Generator generator = Generator(0).stream("check_causal");
  if (is_floating(x.dtype())) return randn(x.shape(), generator, x.dtype());
  std::vector<int64_t> tokens = x.to_vector<int64_t>();
  const auto [least, most] = std::minmax_element(tokens.begin(), tokens.end());
  const int64_t low = vocab_size > 0 ? 0 : *least, high = vocab_size > 0 ? vocab_size - 1 : *most;
  if (*least < low || *most > high || low == high)
    fail("check_causal", "needs tokens in [0, vocab_size) that it can change, got ", *least, " to ", *most,
         " for vocab_size ", vocab_size, ". Hint: set vocab_size to that of the model.");
  for (int64_t& token : tokens) {
    const int64_t drawn = low + generator.below(high - low);
    token = drawn + (drawn >= token ? 1 : 0);
  }
  return tensor(tokens, x.shape());
}

/// x with its first slice along dim moved to the end.
Tensor rotated(const Tensor& x, int64_t dim) {
  return cat({x.slice(dim, 1, x.size(dim)), x.slice(dim, 0, 1)}, dim);
}

/// For an output that depends on an input `reach` positions later.
std::string_view causal_hint(const Change& change, int64_t reach, int64_t T, double size_of_rounding) {
  const double size = std::abs(change.to - change.from);
  if (!std::isfinite(size))
    return "a product with 0 does not hide NaN or infinity, and a mask after the softmax can leave 0 / 0";
  if (size <= size_of_rounding)
    return "this is the size of rounding: a masked value has taken part in a sum, as with a mask after the "
           "softmax; set tolerance if it may";
  if (reach == T - 1)
    return "look for a mask that is missing or comes after the softmax, or for a sum over all positions";
  return "look for a mask or a shift that is off by this number of positions, over all layers together";
}

/// The largest finite magnitude.
double largest(const Tensor& x) {
  double most = 0;
  for (const double value : x.to(DType::float64).to_vector<double>())
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most;
}

}  // namespace

std::string Change::text() const {
  char text[80];  // digits that distinguish a float32 from its neighbours
  std::snprintf(text, sizeof text, "%.9g became %.9g at ", from, to);
  return concat(text, at);
}

std::optional<Change> change(const Tensor& before, const Tensor& after, double allowed) {
  if (before.shape() != after.shape())
    fail("check", "outputs must have the shape ", before.shape(), " here, got ", after.shape(), ".");
  const std::vector<double> a = before.to(DType::float64).to_vector<double>();
  const std::vector<double> b = after.to(DType::float64).to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<uint64_t>(a[i]) != std::bit_cast<uint64_t>(b[i]) &&
        !(std::isnan(a[i]) && std::isnan(b[i])) && !(allowed > 0.0 && std::abs(a[i] - b[i]) <= allowed))
      return Change{before.shape().index_of(static_cast<int64_t>(i)), a[i], b[i]};
  return {};
}

double rounding(const Tensor& outputs) {
  const DType dtype = outputs.dtype();
  return (dtype == DType::float32 ? 1e-4 : dtype == DType::float64 ? 1e-12 : 0.0) * largest(outputs);
}

Tensor clone(const Tensor& x) { return x.defined() ? raw::clone(x) : x; }

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.shape() == b.shape() && !change(a, b, 0.0);
}

bool has_equal_rows(const Tensor& x) {
  return x.dim() > 0 && x.size(0) > 1 && same_bits(x, x.slice(0, 0, 1).expand(x.shape()));
}

Tensor to_float64(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) ? x.to(DType::float64) : x;
}

void change_at_random(Tensor& values, Generator generator) {
  if (!is_floating(values.dtype())) return;
  const NoGrad off;
  const Tensor noise = randn(values.shape(), generator, values.dtype());
  values.copy_(where(eq(values, 0.0), noise * 0.05, values * (noise * 0.1 + 1.0)));
}

Scratch::Scratch(Module& module) : modes_(module) {
  start(module);
  replace_tensors(module, [](const Tensor& old, bool) { return in_place_of(old, clone(old)); });
}

Scratch::~Scratch() {
  for (const Slot& slot : slots) *slot.place = slot.original;
  for (const Drop& drop : dropouts) *drop.place = drop.original;
}

void Scratch::change(const Generator& generator, bool buffers) {
  for (const Slot& slot : slots)
    if (buffers || slot.place->requires_grad()) change_at_random(*slot.place, generator.stream(slot.name));
}

CheckFinding check_causal(const OutputsOf& f, const Tensor& x, const CausalOptions& options) {
  const int dim = !x.defined() ? -1 : x.dim() - (is_floating(x.dtype()) ? 2 : 1);
  if (dim < 0 || x.numel() == 0 || x.size(dim) < 2)
    fail("check_causal", "x must be (..., T, C) values or (..., T) tokens with T >= 2, got ",
         x.defined() ? concat(x.shape()) : "none", ".");
  const int64_t T = x.size(dim);
  const Tensor given = x.detach(), other = other_than(given, options.vocab_size), before = clone(f(clone(x)));
  if (before.dim() <= dim || before.size(dim) != T)
    fail("check_causal", "outputs must have the ", T, " positions of x in dimension ", dim, ", got ",
         before.shape(), " for x ", x.shape(), ".");
  // With time first, the first changed element is the one that depends on the most distant input.
  const auto earlier = [&](const Tensor& y, int64_t t) { return y.slice(dim, 0, t).transpose(0, dim); };
  const double allowed = options.tolerance * largest(before);
  CheckFinding finding{"check_causal", CheckFinding::passed, "no output may depend on a later input, "};
  int64_t reach = 0;
  std::string seen;
  for (int64_t t = 1; t < T; ++t) {
    const Tensor after = f(cat({given.slice(dim, 0, t), other.slice(dim, t, T)}, dim));
    std::optional<Change> seen_by = change(earlier(before, t), earlier(after, t), allowed);
    if (!seen_by || t - seen_by->at[0] <= reach) continue;
    reach = t - seen_by->at[0];
    std::swap(seen_by->at[0], seen_by->at[dim]);
    seen = concat("got one that sees ", reach, reach == 1 ? " position" : " positions",
                  " ahead: ", seen_by->text(), " when x was changed from position ", t,
                  " on. Hint: ", causal_hint(*seen_by, reach, T, rounding(before)), ".");
  }
  if (reach > 0) finding.outcome = CheckFinding::failed;
  finding.message += reach > 0 ? seen : concat("and none did for ", T - 1, " changes of x.");
  return finding;
}

Got examples_alone(const OutputsOf& f, const Tensor& x) {
  const int64_t B = x.size(0);
  const Tensor before = clone(f(x));
  if (const auto moved = change(rotated(before, 0), f(rotated(x, 0)), rounding(before)))
    return moved->text() + " when each row moved up by one";
  std::vector<Tensor> rows;
  for (int64_t b = 0; b < B; ++b) rows.push_back(clone(f(x.slice(0, b, b + 1))));
  if (const auto alone = change(before, cat(rows, 0), rounding(before))) return alone->text() + " alone";
  return "";
}

Got decoded(const OutputsOf& f, const std::function<CachedSequence()>& start, const Tensor& x) {
  const int64_t T = x.size(1);
  const Tensor given = x.detach(), other = rotated(given, 1), full = clone(f(given));
  const double allowed = rounding(full);
  Got fault;  // the first, which needs the shortest input
  // Feeds x in pieces of these lengths. After each piece it feeds one of another sequence to `second`, which
  // may overwrite shared memory.
  const auto feed = [&](std::string_view how, std::string_view hint, const std::vector<int64_t>& pieces,
                        const CachedSequence& sequence, const CachedSequence* second = nullptr) {
    int64_t end = 0;
    for (const int64_t size : pieces) {
      if (!fault.empty()) return;
      int64_t begin = end;
      end += size;
      try {
        Tensor outputs = clone(sequence.decode(given.slice(1, begin, end)));
        if (second) second->decode(other.slice(1, begin, end));
        if (outputs.dim() + 1 == full.dim()) outputs = outputs.unsqueeze(1);  // of the last position only
        if (outputs.dim() == full.dim() && outputs.size(1) == 1) begin = end - 1;
        auto wrong = change(full.slice(1, begin, end), outputs, allowed);
        if (!wrong) continue;
        wrong->at[1] += begin;
        fault = wrong->text();
      } catch (const Error& error) {
        fault = concat("at positions ", begin, " to ", end - 1, " the error \"", error.what(), "\"");
      }
      fault += concat(" when x was fed ", how, ". Hint: look at ", hint);
    }
  };
  std::vector<int64_t> uneven;
  for (int64_t begin = 0, size = 1; begin < T; begin += uneven.back(), size = size % 3 + 1)
    uneven.push_back(std::min(size, T - begin));
  const std::vector<int64_t> single(static_cast<size_t>(T), 1);
  feed("at once", "where decode differs from the call: positions, mask, dropout", {T}, start());
  feed("one by one", "the length of the cache, the positions of new tokens, overwritten entries", single,
       start());
  feed("in pieces of 1, 2 and 3", "the mask of several new positions behind old ones", uneven, start());
  const CachedSequence sequence = start(), second = start();
  feed("next to a second sequence", "the storage of caches, which must hold all of the state", uneven,
       sequence, &second);
  if (second.clear) {
    second.clear();
    feed("into a cleared cache", "clear(), which must forget all positions, in every layer", uneven, second);
  }
  return fault;
}

Tensor loss_of_copies(const CheckedModule& c, const Tensor& x, const Tensor& y, uint64_t seed) {
  Generator generator(seed);
  return c.loss(clone(x), clone(y), &generator);
}

Training train(const CheckedModule& c, const ModuleCheckOptions& o) {
  const Scratch copies(c.model);
  struct Trained {
    std::string name;
    Tensor p, before;
    double largest = -1;  // gradient; -1: none
  };
  std::vector<Trained> all;
  for (const auto& [name, p] : c.model.named_parameters())
    if (p.requires_grad()) all.push_back({name, p, clone(p)});
  const auto value = [&] {
    const NoGrad off;
    return loss_of_copies(c, c.x, c.y, o.seed).item();
  };
  Training t{.first = value()};
  Generator dropout = Generator(o.seed).stream("dropout");
  for (int64_t step = 1; step <= o.steps && !t.fitted; ++step) {
    c.model.train();
    c.model.zero_grad();
    c.loss(clone(c.x), clone(c.y), &dropout).backward();
    const NoGrad off;
    const double left = 1.0 - static_cast<double>(step - 1) / static_cast<double>(o.steps);
    for (auto& [name, p, before, largest] : all) {
      const Tensor g = p.grad();
      if (!g.defined() || g.numel() == 0) continue;
      if (const double size = amax(abs(g)).item(); !(size <= largest)) largest = size;
      p.copy_(p - sign(g) * (o.lr * left));
    }
    if (step % 10 != 0 && step != o.steps) continue;
    c.model.eval();
    t.last = value();
    t.fitted = t.first > 0 ? t.last <= o.overfit_to * t.first : t.last < t.first;
  }
  std::map<std::string, std::vector<std::string>> names;  // of the parameters with each fault
  for (const auto& [name, p, before, largest] : all) {
    const char* fault = largest == -1                      ? "no gradient for "
                        : largest == 0                     ? "only zeros for "
                        : !std::isfinite(largest)          ? "NaN or infinity for "
                        : same_bits(p, before)             ? "no change of "
                        : p.dim() > 1 && has_equal_rows(p) ? "equal rows in "
                                                           : nullptr;
    if (fault) names[fault].push_back(name);
  }
  if (!names.empty()) t.gradients = names.begin()->first + joined(names.begin()->second);
  return t;
}

Got gradcheck_parameters(const CheckedModule& c, const ModuleCheckOptions& o, const Scratch& scratch) {
  c.model.to(DType::float64);
  c.model.train();
  const Tensor in = to_float64(c.x), targets = to_float64(c.y);
  std::vector<Tensor> values;
  std::vector<std::string> names;
  std::map<const autograd::TensorImpl*, size_t> index;  // tied ones once
  for (const auto& [name, place, original, is_buffer] : scratch.slots) {
    if (is_buffer || !place->requires_grad() || !index.emplace(original.impl(), values.size()).second)
      continue;
    values.push_back(place->detach());
    names.push_back(name);
  }
  const GradcheckFunction f = [&](const std::vector<Tensor>& given) {
    for (const Scratch::Slot& slot : scratch.slots)
      if (const auto at = index.find(slot.original.impl()); at != index.end())
        *slot.place = given[at->second];
    return loss_of_copies(c, in, targets, o.seed);
  };
  GradcheckOptions options{.order = o.order, .directions = 2, .seed = o.seed};
  if (gradcheck(f, values, options)) return "";
  // A difference may cross a kink, such as relu's at 0. A wrong gradient fails with a shorter one too.
  options.eps = 1e-7;
  options.tolerance = 1e-5;
  const GradcheckReport report = gradcheck(f, values, options);
  if (report) return "";
  const GradcheckInput& at = *std::ranges::max_element(report.inputs, {}, &GradcheckInput::worst);
  if (at.input >= names.size() || !std::isfinite(at.worst)) return report.message;
  return concat(names[at.input], at.where.substr(at.where.find(' ', std::string_view("input ").size())),
                ", order ", at.order, ": numeric ", at.numeric, ", analytic ", at.analytic,
                report.cause.empty() ? "" : "; likely cause: ", report.cause);
}

}  // namespace gradus::nn::detail
