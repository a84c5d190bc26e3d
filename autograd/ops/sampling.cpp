// Ops that choose by chance; none of them is differentiable.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// Rows of weights, packed; num_samples indices are drawn from each.
struct Draws {
  Tensor rows;
  int64_t num_samples;
  Tensor out;

  int64_t weights() const { return rows.size(-1); }
  int64_t count() const { return out.numel() / num_samples; }
};

template <class T>
void check_weights(const Draws& draws, bool replacement) {
  const T* row = draws.rows.data<T>();
  const int64_t n = draws.weights(), needed = replacement ? 1 : draws.num_samples;
  for (int64_t r = 0; r < draws.count(); ++r, row += n) {
    int64_t positive = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (!(row[i] >= 0) || !std::isfinite(row[i]))
        fail("multinomial", "weights must be finite and not negative, got ", row[i], ".");
      positive += row[i] > 0;
    }
    if (positive < needed)
      fail("multinomial", "needs at least ", needed, " positive weights in a row, got ", positive, ".");
  }
}

// Index of the first running sum above u * total.
int64_t draw_one(const std::vector<double>& p, double total, double u) {
  double running = 0.0;
  int64_t last = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0.0) continue;
    running += p[i];
    last = static_cast<int64_t>(i);
    if (u * total < running) break;
  }
  return last;
}

template <class T>
void draw_one_by_one(Draws& draws, bool replacement, Generator& generator) {
  const T* row = draws.rows.data<T>();
  int64_t* sample = draws.out.mutable_data<int64_t>();
  for (int64_t r = 0; r < draws.count(); ++r, row += draws.weights()) {
    std::vector<double> weights(row, row + draws.weights());
    for (int64_t i = 0; i < draws.num_samples; ++i) {
      const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
      const int64_t drawn = draw_one(weights, total, generator.uniform());
      *sample++ = drawn;
      if (!replacement) weights[static_cast<size_t>(drawn)] = 0.0;
    }
  }
}

// PyTorch's way without replacement: weights race, each arriving after an exponential time of its rate, so
// the first k are a sample (Efraimidis and Spirakis, 2006).
void draw_by_race(Draws& draws, Generator& generator) {
  const Tensor times = exponential(draws.rows.shape(), generator, draws.rows.dtype());
  draws.out = topk(raw::binary(kernels::Binary::div, draws.rows, times), draws.num_samples, -1).indices;
}

// PyTorch's way with replacement: running sums, normalised, and a search in them for each sample.
template <class T>
void draw_by_search(Draws& draws, TorchStream& stream) {
  const T* row = draws.rows.data<T>();
  int64_t* sample = draws.out.mutable_data<int64_t>();
  std::vector<T> sums(static_cast<size_t>(draws.weights()));
  for (int64_t r = 0; r < draws.count(); ++r, row += draws.weights()) {
    std::partial_sum(row, row + draws.weights(), sums.begin());
    const T total = sums.back();
    for (T& sum : sums) sum /= total;
    sums.back() = 1;
    for (int64_t i = 0; i < draws.num_samples; ++i)
      *sample++ = std::lower_bound(sums.begin(), sums.end(), stream.uniform()) - sums.begin();
  }
}

}  // namespace

Tensor multinomial(const Tensor& p, int64_t num_samples, Generator& generator, bool replacement) {
  check_floating("multinomial", p);
  if (p.dim() == 0 || num_samples < 1)
    fail("multinomial", "needs weights (..., n) and at least one sample, got ", p.shape(), " and ",
         num_samples, ".");
  Shape shape = p.shape();
  shape[shape.size() - 1] = num_samples;
  Draws draws{raw::contiguous(p.detach()), num_samples, empty(shape, DType::int64)};
  if (draws.count() == 0) return draws.out;
  dispatch_float("multinomial", p.dtype(), [&]<class T>() {
    check_weights<T>(draws, replacement);
    TorchStream* const torch = generator.as_torch();
    if (!torch)
      draw_one_by_one<T>(draws, replacement, generator);
    else if (replacement)
      draw_by_search<T>(draws, *torch);
    else
      draw_by_race(draws, generator);
  });
  return draws.out;
}

Tensor bernoulli(const Tensor& p, Generator& generator) {
  check_floating("bernoulli", p);
  const Tensor chances = raw::contiguous(p.detach());
  dispatch_float("bernoulli", p.dtype(), [&]<class T>() {
    for (const T chance : std::span(chances.data<T>(), static_cast<size_t>(chances.numel())))
      if (!(chance >= 0 && chance <= 1))
        fail("bernoulli", "probabilities must be in [0, 1], got ", chance, ".");
  });
  return lt(rand(p.shape(), generator, p.dtype()), chances).to(p.dtype());
}

}  // namespace gradus
