#include "gradus/autograd/gradcheck/form.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::gradchecking {
namespace {

constexpr double kLastDigits = 64;  // times what a change of the last digits changes
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();  // between the elements of a layout

bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool shares_storage(const Tensor& t, const std::vector<Tensor>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const Tensor& other) { return other.impl()->storage == t.impl()->storage; });
}

// What rounding may leave of the gradient a of checked input k for a cotangent v: by how much
// it changes when the inputs change in their last digits.
double noise(const Subject& subject, const Numbers& v, size_t k, const Numbers& a,
             bool create_graph = false) {
  std::vector<Tensor> inputs = subject.inputs;
  for (const size_t i : subject.checked) {
    Numbers x = flatten({inputs[i]});
    for (size_t j = 0; j < x.size(); ++j) x[j] *= 1 + (j % 2 == 0 ? 4 : -3) * kRounding;
    inputs[i] = unflatten(x, {inputs[i]})[0];
  }
  const Numbers near = flatten({subject.at(inputs).analytic(v)[k]});
  double largest = 0;
  for (size_t j = 0; j < a.size(); ++j)
    if (std::isfinite(near[j] - a[j])) largest = std::max(largest, std::abs(near[j] - a[j]));
  const Numbers lost = subject.rounding(v, create_graph);
  auto mine = lost.begin();
  for (size_t i = 0; i < k; ++i) mine += subject.wanted[i].numel();
  for (size_t j = 0; j < a.size(); ++j) largest = std::max(largest, *mine++);
  return kLastDigits * largest;
}

// agree(), also where all numbers are small, unless these are what rounding leaves.
bool same(const Subject& subject, const Numbers& v, size_t k, const Numbers& a, const Numbers& b) {
  return agree(a, b, 0) || (agree(a, b) && agree(a, b, 1e10 * noise(subject, v, k, a)));
}

// The gradient of an input must be the same where no other one is wanted.
void check_alone(const Subject& subject, const Numbers& v, const std::vector<Tensor>& all,
                 Findings& findings) {
  for (size_t k = 0; k < all.size() && all.size() > 1 && all.size() <= kMostSingle; ++k) {
    const Subject alone(1, subject.f, subject.inputs, {subject.checked[k]}, subject.scale);
    findings.require(same(alone, v, 0, flatten(alone.analytic(v)), flatten({all[k]})), k,
                     subject.name(k) + " gets another gradient if it alone requires one");
  }
}

// A rule may hold a fast kernel and a recorded formula: they must be the same function.
void check_paths(const Subject& subject, const std::vector<Tensor>& cotangents,
                 const std::vector<Tensor>& plain, double tolerance, Findings& findings) {
  const std::vector<Tensor> recorded =
      gradients(subject.outputs, subject.wanted, cotangents, /*create_graph=*/true);
  for (size_t k = 0; k < plain.size(); ++k) {
    const Numbers a = flatten({plain[k]}), b = flatten({recorded[k]});
    double size = 0;
    for (const double e : a)
      if (std::isfinite(e)) size = std::max(size, std::abs(e));
    if (size < 1 && !agree(a, b, 0))
      size += noise(subject, flatten(cotangents), k, a, /*create_graph=*/true) / tolerance;
    size = std::min(size, 1.0);
    for (size_t j = 0; j < a.size(); ++j) {
      const bool same = a[j] == b[j] || (std::isnan(a[j]) && std::isnan(b[j]));
      const double ratio = same ? 0 : std::abs(b[j] - a[j]) / (tolerance * (size + std::abs(a[j])));
      findings.note({ratio <= 1 ? Verdict::right : Verdict::wrong, ratio, b[j], a[j]}, k,
                    concat(subject.name(k), " at ", plain[k].shape().index_of(static_cast<int64_t>(j)),
                           ", with create_graph (first number) and without (second)"),
                    Findings::Kind::wrong);
    }
  }
}

// The checked inputs from `first` to `last`, each in its n-th layout.
void check_input_layouts(const Subject& subject, const std::vector<std::vector<Layout>>& all, size_t first,
                         size_t last, size_t n, const Numbers& v, const std::vector<Tensor>& own,
                         Findings& findings, const AtLayout& each) {
  std::vector<Tensor> packed = subject.inputs, views = subject.inputs;
  std::string which;
  bool is_own = true;  // the numbers
  for (size_t k = first; k < last; ++k) {
    if (n >= all[k].size()) continue;
    const auto& [name, view, same] = all[k][n];
    const size_t i = subject.checked[k];
    is_own = is_own && same.impl() == packed[i].impl();
    packed[i] = same;
    views[i] = view;
    which += concat(which.empty() ? "" : ", ", subject.name(k), " ", name);
  }
  if (which.empty()) return;
  std::optional<Subject> other;
  try {
    if (!is_own) other = subject.at(packed);
  } catch (const Error&) {
    return;  // an expanded input may be one that f refuses
  }
  const Subject &expected = is_own ? subject : *other, got = subject.at(views);
  const Numbers value = flatten(got.outputs);
  findings.require(agree(flatten(expected.outputs), value), first,
                   which + " gives another value: strides are ignored");
  if (value.size() != v.size()) return;  // the shape depends on the numbers
  const std::vector<Tensor> g = got.analytic(v);
  const std::vector<Tensor> want = is_own ? own : expected.analytic(v);
  for (size_t k = 0; k < g.size(); ++k)
    findings.require(same(expected, v, k, flatten({want[k]}), flatten({g[k]})), first,
                     which + " gives another gradient: strides are ignored");
  if (is_own) each(got, first, which, v, g);
}

}  // namespace

std::vector<Layout> layouts(const Tensor& x) {
  std::vector<Layout> all;
  const auto add = [&](const char* name, Tensor view) {
    view.copy_(x);
    all.push_back({name, view, x});
  };
  const auto expand = [&](const char* name, const Tensor& first) {
    const Tensor view = first.expand(x.shape());
    all.push_back({name, view, view.contiguous()});
  };
  if (x.numel() == 0) return all;
  add("at an offset", full({x.numel() + 3}, kNone, x.dtype()).slice(0, 3, x.numel() + 3).reshape(x.shape()));
  for (int d = x.dim() - 1; d >= 0; --d) {
    Shape larger = x.shape();
    larger[d] = 2 * larger[d] + 1;
    add("with gaps between its elements", full(larger, kNone, x.dtype()).slice(d, 1, larger[d], 2));
    if (x.size(d) > 1) expand("expanded along a dim", x.slice(d, 0, 1));
    if (d > 0 && x.size(d) > 1 && x.size(d - 1) > 1) {
      larger = x.shape();
      std::swap(larger[d], larger[d - 1]);
      add("with dims exchanged in memory", empty(larger, x.dtype()).transpose(d, d - 1));
    }
  }
  Tensor first = x;
  for (int d = 0; d < x.dim(); ++d) first = first.slice(d, 0, 1);
  if (x.numel() > 1) expand("expanded from one element", first);
  return all;
}

bool check_form(const Subject& subject, const GradcheckOptions& options, Generator& generator,
                Findings& findings) {
  const auto& [order, f, scale, checked, inputs, leaves, wanted, outputs] = subject;
  findings.require(std::ranges::any_of(outputs, &Tensor::requires_grad), kWhole,
                   "the result requires no gradient");
  const bool repeats = same_bits(flatten(f(leaves)), flatten(outputs));
  findings.require(
      repeats, kWhole,
      "two calls gave different values: draw random numbers from a generator made inside the function");
  const Numbers v = subject.random_cotangent(generator);
  const std::vector<Tensor> cotangents = unflatten(v, outputs);
  const std::vector<Tensor> g = gradients(outputs, wanted, cotangents, /*create_graph=*/false);
  for (size_t k = 0; k < g.size(); ++k) {
    const Tensor& x = wanted[k];
    findings.require(g[k].shape() == x.shape() && g[k].dtype() == x.dtype(), k,
                     concat(subject.name(k), ": the gradient is ", name(g[k].dtype()), " ", g[k].shape(),
                            ", the input ", name(x.dtype()), " ", x.shape()));
    findings.require(!shares_storage(g[k], cotangents) && !shares_storage(g[k], wanted) &&
                         !shares_storage(g[k], outputs) &&
                         !shares_storage(g[k], {g.begin(), g.begin() + static_cast<std::ptrdiff_t>(k)}),
                     k, subject.name(k) + ": the gradient shares storage with another tensor");
  }
  findings.require(same_bits(flatten(g), flatten(subject.analytic(v))), kWhole,
                   "two backward passes gave different gradients");
  const Numbers zero = flatten(subject.analytic(Numbers(v.size(), 0.0))), all = flatten(g);
  bool is_zero = true;  // but for 0 * inf
  for (size_t j = 0; j < zero.size(); ++j) is_zero = is_zero && (zero[j] == 0 || !std::isfinite(all[j]));
  findings.require(is_zero, kWhole, "a zero cotangent gave a gradient that is not zero");
  if (order == 1) check_alone(subject, v, g, findings);
  if (options.order >= 2) check_paths(subject, cotangents, g, options.tolerance, findings);
  return repeats;
}

void check_layouts(const Subject& subject, const GradcheckOptions& options, Generator& generator,
                   Findings& findings, const AtLayout& each) {
  std::vector<std::vector<Layout>> all;
  size_t most = 0;
  for (const size_t i : subject.checked) {
    const Tensor& x = subject.inputs[i];
    all.push_back(layouts(x));
    if (subject.order == 2)
      std::erase_if(all.back(), [&](const Layout& layout) { return layout.packed.impl() != x.impl(); });
    most = std::max(most, all.back().size());
  }
  const Numbers v = subject.random_cotangent(generator);
  const std::vector<Tensor> own = subject.analytic(v);
  const size_t together = subject.order == 1 ? 1 : all.size();
  for (size_t k = 0; k < all.size(); k += together)
    for (size_t n = 0; n < most; ++n)
      check_input_layouts(subject, all, k, k + together, n, v, own, findings, each);
  if (subject.order == 2) return;  // the upstream gradients of order 1 were inputs here
  for (const Layout& layout : layouts(unflatten(v, subject.outputs)[0]))
    for (const bool create_graph : {false, true}) {
      if (create_graph && options.order < 2) continue;
      const auto expected = gradients(subject.outputs, subject.wanted, {layout.packed}, create_graph),
                 got = gradients(subject.outputs, subject.wanted, {layout.view}, create_graph);
      for (size_t k = 0; k < got.size(); ++k)
        findings.require(
            same(subject, flatten({layout.packed}), k, flatten({expected[k]}), flatten({got[k]})), k,
            concat(subject.name(k), " gets another gradient if the upstream gradient is ", layout.name,
                   ": its strides are ignored"));
    }
}

void check_upstream_sizes(const Subject& subject, Generator& generator, Findings& findings) {
  const Numbers v = subject.random_cotangent(generator), g = flatten(subject.analytic(v));
  for (const double size : {0x1p40, -0x1p-40}) {
    Numbers other = v;
    for (double& e : other) e *= size;
    other = flatten(subject.analytic(other));
    for (double& e : other) e /= size;
    findings.require(!std::isfinite(dot(other, other)) || agree(g, other, 1e-200), kWhole,
                     concat("an upstream gradient ", size, " times as large gives another gradient than ",
                            size, " times this one: the rule is not linear"));
  }
}

}  // namespace gradus::gradchecking
