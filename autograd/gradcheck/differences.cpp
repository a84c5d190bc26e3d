#include "gradus/autograd/gradcheck/differences.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::gradchecking {
namespace {

constexpr double kFactor = 8;               // between two lengths of differences
constexpr int kShorter = 9, kLengths = 15;  // from eps / 8^9 to eps * 8^5
constexpr double kCoarse = 1e3;             // times the tolerance: a coarser bound cannot judge

constexpr double kAbsolute = 1e-4;    // of values near 1, times the tolerance
constexpr double kCancelled = 2e-14;  // of the largest term, what is left when terms cancel
constexpr double kClosely = 8;        // times the error of an extrapolated derivative that is judged closely
constexpr double kWeak = 1e-2;        // relative, errors that a shorter direction must confirm
constexpr double kSeen = 50;          // times the rounding, from where on an error shows its rate

struct Estimate {
  double value = std::nan(""), error = kInfinity;
  size_t end = 0;  // how many lengths do not contradict shorter ones
};

// The limit of d, by increasing lengths h, for h -> 0, if it depends on h^first, h^(first + 2), ...; its
// error: the differences between neighbours in Neville's table, and 4 * noise / h. What contradicts shorter
// lengths does not count.
Estimate limit(const std::vector<double>& d, int first, const std::vector<double>& h, double noise,
               size_t end = kLengths) {
  Estimate best;
  std::vector<double> shorter;
  for (size_t n = 0; n < end; best.end = ++n) {
    std::vector<double> row{d[n]};
    double power = std::pow(kFactor, first);
    for (size_t k = 0; k < std::min<size_t>(n, 5); ++k, power *= kFactor * kFactor) {
      const double value = shorter[k] + (shorter[k] - row[k]) / (power - 1);
      const double error =
          std::max(std::abs(value - shorter[k]), std::abs(value - row[k])) + 4 * noise / h[n - k - 1];
      if (std::abs(value - best.value) > best.error + error) return best;
      if (error < best.error) best = {value, error, n};
      row.push_back(value);
    }
    shorter = std::move(row);
  }
  return best;
}

double size_of(const Numbers& values, const Numbers& weights) {
  double size = 0;
  for (size_t j = 0; j < weights.size(); ++j)
    if (weights[j] != 0 && std::isfinite(values[j])) size = std::hypot(size, weights[j] * values[j]);
  return size;
}

// The rounding error of sum(weights * results), by fourth differences of neighbouring values on both sides,
// in which nothing else is left (Hamming, 1973; More and Wild, 2011), but no less than that of the last
// operation. Equal neighbours may be rounded to one value: those farther apart count too, until all differ.
double rounding(Line& line, const Numbers& weights, double size, double eps) {
  double largest = 0;
  bool are_equal = true;
  for (double step = 1e-5 * eps; are_equal && step < 0.1; step *= kFactor) {
    are_equal = false;
    for (const double part : {1.0, 1.37}) {  // steps of whole units of rounding show none
      double root = 0;
      for (const double side : {part * step, -part * step}) {
        double d[7];
        for (int i = 0; i < 7; ++i) d[i] = line.change(weights, side, side * (i + 1));
        for (int i = 1; i < 7; ++i) are_equal = are_equal || d[i] == d[i - 1];
        for (int i = 0; i + 4 < 7; ++i) {
          const double fourth = d[i] - 4 * d[i + 1] + 6 * d[i + 2] - 4 * d[i + 3] + d[i + 4];
          if (std::isfinite(fourth)) root = std::hypot(root, fourth);
        }
      }
      largest = std::max(largest, root);
    }
  }
  const double unit = line.is_float32() ? 0x1p-23 : kRounding;
  return std::max(largest / std::sqrt(6 * 70), 0.5 * unit * size);  // six, with squares of weights of 70
}

}  // namespace

const Numbers& Line::at(double t) {
  auto known = known_.find(t);
  if (known == known_.end()) known = known_.emplace(t, values_(t)).first;
  return known->second;
}

bool Line::is_float32() const {
  return std::all_of(known_.begin(), known_.end(), [](const auto& at) {
    return std::all_of(at.second.begin(), at.second.end(), [](double y) {
      return !std::isfinite(y) || (std::abs(y) < 0x1p127 && static_cast<float>(y) == y);
    });
  });
}

double Line::change(const Numbers& weights, double from, double to) {
  const Numbers &a = at(from), &b = at(to);
  if (a.size() != weights.size() || b.size() != weights.size())
    return NAN;  // the shape depends on the numbers
  double sum = 0;
  for (size_t j = 0; j < weights.size(); ++j)
    if (weights[j] != 0 && a[j] != b[j]) sum += weights[j] * (b[j] - a[j]);
  return sum;
}

Verdict judge(Line& line, const Numbers& weights, const Numbers& terms, const GradcheckOptions& options,
              const Judging& how) {
  double analytic = 0, magnitude = 0;
  for (const double term : terms) {
    analytic += term;
    magnitude += std::abs(term);
  }
  const auto size_at = [&](double t) { return size_of(line.at(t), weights); };
  const double eps = options.eps;
  double numeric = line.change(weights, -eps, eps) / (2 * eps), size = size_at(eps);
  const double allowed =
      options.tolerance * (kAbsolute * std::min(1.0, size) + magnitude) + kCancelled * how.largest_term;
  const auto verdict = [&](double bound) {
    const double error = std::abs(numeric - analytic), part = error / bound,
                 ratio = error == 0            ? 0
                         : std::isfinite(part) ? part
                                               : kInfinity;
    return Verdict{ratio <= 1 ? Verdict::right : Verdict::wrong, ratio, numeric / how.unit,
                   analytic / how.unit};
  };
  const auto unjudged = [&](Verdict::Kind kind, std::string text) {
    Verdict v = verdict(allowed);
    return Verdict{kind, std::max(v.ratio, 2.0), v.numeric, v.analytic, std::move(text)};
  };
  if (const Verdict plain = verdict(allowed); !how.closely && plain.ratio <= std::max(1.0, how.worst))
    return plain;

  size = std::max(size, size_at(0));
  std::vector<double> h, slopes, bends;
  for (int i = 0; i < kLengths; ++i) {
    h.push_back(eps * std::pow(kFactor, i - kShorter));
    slopes.push_back(line.change(weights, -h[i], h[i]) / (2 * h[i]));
    bends.push_back((line.change(weights, 0, h[i]) - line.change(weights, -h[i], 0)) / h[i]);
  }
  double noise = 0;
  for (size_t j = 0; j < how.noise.size() && j < weights.size(); ++j)
    if (line.at(eps)[j] != line.at(-eps)[j]) noise = std::hypot(noise, how.noise[j] * weights[j]);
  noise = std::max(kLeft * noise, rounding(line, weights, size, eps));
  const size_t end = std::min(limit(slopes, 2, h, noise).end, limit(bends, 1, h, noise).end);
  const Estimate slope = limit(slopes, 2, h, noise, end), bend = limit(bends, 1, h, noise, end);
  const auto ends_at = [&](double t) {
    return !std::all_of(line.at(t).begin(), line.at(t).end(), [](double y) { return std::isfinite(y); });
  };
  if (!std::isfinite(slope.value) || (!std::isfinite(analytic) && (ends_at(h[0]) || ends_at(-h[0]))))
    return unjudged(Verdict::not_finite, "the function is not finite on both sides");
  const auto moves = [&](double length) {
    return std::max(std::abs(line.change(weights, 0, length)), std::abs(line.change(weights, 0, -length)));
  };
  if (!std::isfinite(analytic)) {
  } else if (moves(h[0]) > 0.25 * moves(h[4]) && moves(h[0]) > 1e3 * noise) {
    return unjudged(Verdict::not_smooth,
                    concat("the function is not smooth there, it jumps by ", moves(h[0])));
  } else if (std::abs(bend.value) > 8 * bend.error &&
             std::abs(bend.value) > 0.02 * std::abs(slope.value - analytic)) {
    const double left = (slope.value - bend.value / 2) / how.unit,
                 right = (slope.value + bend.value / 2) / how.unit;
    return unjudged(Verdict::not_smooth, concat("the function is not smooth there, a kink: its slope is ",
                                                left, " on one side and ", right, " on the other"));
  }
  numeric = slope.value;
  const double scale = std::min(1.0, std::max(size, noise / kRounding)),
               enough = options.tolerance * (scale + kCoarse * std::max(magnitude, std::abs(numeric)));
  if (slope.error > enough && std::abs(numeric - analytic) < allowed + 10 * slope.error)
    return unjudged(Verdict::too_coarse,
                    concat("differences are too coarse to judge: the derivative is ", numeric / how.unit,
                           " within ", slope.error / std::abs(how.unit)));
  return verdict(how.closely ? kClosely * (slope.error + kGap * magnitude) : allowed + slope.error);
}

Direction::Direction(const Function& f_, const std::vector<Tensor>& inputs_, size_t i_, Numbers u_,
                     double unit_)
    : f(f_),
      inputs(inputs_),
      i(i_),
      u(std::move(u_)),
      unit(unit_),
      line([&f_, &inputs_, i_, v = u](double t) {
        Numbers moved = flatten({inputs_[i_]});
        for (size_t j = 0; j < moved.size(); ++j) moved[j] += t * v[j];
        std::vector<Tensor> all = inputs_;
        all[i_] = tensor(moved, inputs_[i_].shape());
        return flatten(f_(all));
      }) {}

Verdict judge(Direction& direction, const Numbers& weights, const Numbers& gradient,
              const GradcheckOptions& options, double worst, double& largest_term, bool closely,
              const Numbers& noise) {
  const auto along = [&](Direction& d) {
    Numbers terms = gradient;
    double largest = 0;
    for (size_t j = 0; j < terms.size(); ++j) {
      terms[j] = d.u[j] == 0 ? 0 : gradient[j] * d.u[j];
      if (std::isfinite(terms[j])) largest = std::max(largest, std::abs(terms[j]));
    }
    if (&d == &direction) largest_term = largest = std::max(largest, largest_term);
    return judge(d.line, weights, terms, options, {d.unit, largest, worst, closely, noise});
  };
  Verdict verdict = along(direction);
  // A kink of small elements within the length may look like a small error of the others' rule, or like any
  // of a single element's rule or of one that gives 0.
  const auto is_bent = [&] {
    for (int i = 0; i < kLengths - kShorter; ++i) {
      const double h = options.eps * std::pow(kFactor, i), left = direction.line.change(weights, -h, 0),
                   right = direction.line.change(weights, 0, h);
      if (std::abs(right - left) > 0.1 * std::abs(right + left)) return true;
    }
    return false;
  };
  const auto moved = std::count_if(direction.u.begin(), direction.u.end(), [](double e) { return e != 0; });
  const bool is_weak = verdict.kind == Verdict::wrong &&
                       (std::abs(verdict.numeric - verdict.analytic) < kWeak * std::abs(verdict.numeric) ||
                        ((moved == 1 || verdict.analytic == 0) && is_bent()));
  if (verdict.text.empty() && !is_weak) return verdict;
  if (!direction.shorter) {
    const Numbers x = flatten({direction.inputs[direction.i]});
    Numbers u = direction.u;
    double unit = direction.unit;
    for (size_t j = 0; j < x.size(); ++j) {
      if (x[j] == 0 || u[j] == 0) continue;
      u[j] *= std::abs(x[j]) / scale(x[j]);
      if (unit != 1) unit *= std::abs(x[j]) / scale(x[j]);
    }
    direction.shorter = std::make_unique<Direction>(direction.f, direction.inputs, direction.i, u, unit);
  }
  Verdict second = along(*direction.shorter);
  if (verdict.text.empty() && second.kind != Verdict::wrong) {
    verdict.kind = Verdict::too_coarse;
    verdict.text = concat("differences are too coarse to judge: the derivative is ", verdict.numeric,
                          ", but another one in a shorter direction");
  }
  return second.text.empty() && !is_weak ? second : verdict;
}

double falling_rate(Direction& direction, const Numbers& weights, const Numbers& gradient, double eps) {
  double analytic = 0, magnitude = 0;
  for (size_t j = 0; j < gradient.size(); ++j) {
    analytic += gradient[j] * direction.u[j];
    magnitude += std::abs(gradient[j] * direction.u[j]);
  }
  Line& line = direction.line;
  const double size = size_of(line.at(0), weights);
  const auto odd = [&](double h) { return std::abs(line.change(weights, -h, h) / 2 - h * analytic); };
  const auto even = [&](double h) { return (line.change(weights, 0, h) - line.change(weights, -h, 0)) / 2; };
  const auto rate = [&](double noise) {
    const auto hidden = [&](double h) { return kSeen * (noise + kRounding * h * magnitude); };
    for (double h = eps; h < 0.3; h *= 4) {
      if (odd(h) <= hidden(h) || odd(2 * h) <= hidden(2 * h)) continue;
      // A smooth function's even half falls by four, and its odd half by 64 to the step before.
      const bool is_smooth = std::abs(even(2 * h) - 4 * even(h)) <= kRateError * odd(2 * h) &&
                             (h == eps || odd(h) <= 2 * 64 * hidden(h));
      return is_smooth ? odd(2 * h) / (2 * odd(h)) : 0;
    }
    return 0.0;
  };
  const double plain = rate(4 * kRounding * size);
  return plain == 0 || std::abs(plain - 4) <= kRateError ? plain : rate(rounding(line, weights, size, eps));
}

}  // namespace gradus::gradchecking
