#include "gradus/autograd/gradcheck/dot_product.hpp"

#include <algorithm>
#include <cmath>

namespace gradus::gradchecking {
namespace {

constexpr double kUnits = 64;     // of rounding, for each term that a rule may add
constexpr double kAround = 0.05;  // relative, how far away the gap is looked at again,
constexpr int kPlaces = 16;       // at how many places

}  // namespace

DotProducts dot_products(const Witness& witness, const Subject& subject, const std::vector<Numbers>& u,
                         const Numbers& v, const std::vector<Tensor>& g) {
  const std::vector<Tensor>& x = subject.inputs;
  const size_t cotangents = subject.order == 1 ? 0 : 1, inputs = x.size() - cotangents;
  std::vector<Numbers> at_u, at_v;
  for (size_t i = 0; i < inputs; ++i) at_u.emplace_back(static_cast<size_t>(x[i].numel()), 0.0);
  at_v = at_u;
  bool along_inputs = false;
  auto next = v.begin();
  for (size_t k = 0; k + cotangents < u.size(); ++k) {
    if (!u[k].empty()) at_u[subject.checked[k]] = u[k], along_inputs = true;
    if (subject.order == 2)
      for (double& e : at_v[subject.checked[k]]) e = *next++;
  }
  DotProducts sides;
  const auto add = [&](double& side, const Numbers& a, const Numbers& b) {
    for (size_t j = 0; j < a.size(); ++j) side += a[j] * b[j], sides.size += std::abs(a[j] * b[j]);
  };
  // At order 2 the function is (x, c) -> J(x)^T c: c D^2 f(x)[u, v] for the u of x, u J(x) v for that of c.
  if (subject.order == 1) add(sides.forward, v, witness.along(x, at_u));
  if (subject.order == 2 && along_inputs)
    add(sides.forward, flatten({x[inputs]}), witness.along(x, at_u, at_v));
  if (subject.order == 2 && !u.back().empty()) add(sides.forward, u.back(), witness.along(x, at_v));
  for (size_t k = 0; k < u.size(); ++k)
    if (!u[k].empty()) add(sides.rules, flatten({g[k]}), u[k]);
  return sides;
}

bool is_rounding(const DotProducts& here, const Witness& witness, const Subject& subject,
                 const std::vector<Numbers>& u, const Numbers& v) {
  Generator generator(1);
  const auto moved = [&](double relative) {  // to another place, at most so far away
    std::vector<Tensor> inputs = subject.inputs;
    for (const size_t i : subject.checked) {
      Numbers x = flatten({inputs[i]});
      for (double& e : x) e += relative * (2 * generator.uniform() - 1) * (e == 0 ? 0.01 : e);
      inputs[i] = unflatten(x, {inputs[i]})[0];
    }
    try {
      const Subject there = subject.at(inputs);
      return dot_products(witness, there, u, v, there.analytic(v));
    } catch (const Error&) {  // f refuses these inputs
      return DotProducts{std::nan("")};
    }
  };
  double size = 0, change = 0;
  for (const double e : v) size += std::abs(e);
  const double unit = kRounding * size * witness.largest(), apart = std::abs(here.forward - here.rules);
  for (int i = 0; i < 4 && apart > kUnits * unit; ++i) {
    const DotProducts near = moved(2 * kRounding);
    change = std::max(change, std::abs(near.forward - here.forward) + std::abs(near.rules - here.rules));
  }
  if (!(apart <= kUnits * std::max(unit, change))) return false;
  double sum = 0, squares = 0;
  int places = 0;
  for (int i = 0; i < kPlaces; ++i) {
    const DotProducts near = moved(kAround);
    const double error = near.forward - near.rules, gap = error / near.size;
    // A slope of a few units of rounding may be rounded to another, or to 0.
    const bool is_lost = std::abs(gap) > kAround && std::abs(error) <= 4 * unit;
    if (is_lost || !std::isfinite(gap)) continue;
    sum += gap;
    squares += gap * gap;
    ++places;
  }
  const double mean = sum / places;
  return places < kPlaces / 4 || mean * mean <= 9 * (squares / places - mean * mean);
}

}  // namespace gradus::gradchecking
