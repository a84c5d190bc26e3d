// Ops that draw random numbers: multinomial and bernoulli, which are not differentiable, and dropout.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// num_samples indices are drawn from each of `rows` rows of n weights, packed.
template <class T>
void check_weights(const T* row, int64_t rows, int64_t n, int64_t needed) {
  for (int64_t r = 0; r < rows; ++r, row += n) {
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

// Each sample is the index of the first running sum above u * total.
template <class T>
void draw_one_by_one(std::span<const T> row, std::span<int64_t> samples, bool replacement,
                     Generator& generator) {
  std::vector<double> weights(row.begin(), row.end());
  for (int64_t& sample : samples) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0), u = generator.uniform();
    double running = 0.0;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0.0) continue;
      running += weights[i];
      sample = static_cast<int64_t>(i);
      if (u * total < running) break;
    }
    if (!replacement) weights[static_cast<size_t>(sample)] = 0.0;
  }
}

// PyTorch's method with replacement: normalised running sums, and a search in them for each sample.
template <class T>
void draw_by_search(std::span<const T> row, std::span<int64_t> samples, TorchStream& stream) {
  std::vector<T> sums(row.size());
  std::partial_sum(row.begin(), row.end(), sums.begin());
  const T total = sums.back();
  for (T& sum : sums) sum /= total;
  sums.back() = 1;
  for (int64_t& sample : samples)
    sample = std::lower_bound(sums.begin(), sums.end(), stream.uniform()) - sums.begin();
}

// Linear in x, so its gradient is itself; the range of words gives the same mask again, so none is stored.
Tensor apply_mask(const Tensor& x, double p, Generator::Range words) {
  Tensor out = dropped(raw::contiguous(x), p, words);
  if (autograd::is_traced()) [[unlikely]]
    autograd::trace_attributes(dropped(ones(x.shape(), x.dtype()), p, words));
  return record("dropout", std::move(out),
                {{x, [p, words](const Tensor& gy) { return apply_mask(gy, p, words); }}});
}

// PyTorch draws the whole scaled mask, then multiplies.
Tensor times_mask(const Tensor& x, double p, TorchStream& stream) {
  if (x.numel() == 0) return x;
  if (p == 1.0) return x * 0.0;
  Tensor mask = empty(x.shape(), x.dtype());
  dispatch_float("dropout", x.dtype(), [&]<class T>() {
    const double q = 1.0 - p;
    const std::span<T> elements(mask.mutable_data<T>(), static_cast<size_t>(mask.numel()));
    stream.mask(elements, q, T{1} / static_cast<T>(q));
  });
  return x * mask;
}

}  // namespace

Tensor dropped(const Tensor& x, double p, Generator::Range words) {
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_float("dropout", x.dtype(), [&]<class T>() {
    kernels::dropout(x.numel(), out.mutable_data<T>(), x.data<T>(), p, words.key, words.block);
  });
  return out;
}

Tensor multinomial(const Tensor& p, int64_t num_samples, Generator& generator, bool replacement) {
  check_floating("multinomial", p);
  if (p.dim() == 0 || num_samples < 1)
    fail("multinomial", "needs weights (..., n) and at least one sample, got ", p.shape(), " and ",
         num_samples, ".");
  Tensor out = empty(resized(p.shape(), p.dim() - 1, num_samples), DType::int64);
  const Tensor weights = raw::contiguous(p.detach());
  const int64_t n = p.size(-1), rows = out.numel() / num_samples;
  if (rows == 0) return out;
  TorchStream* const torch = generator.as_torch();
  dispatch_float("multinomial", p.dtype(), [&]<class T>() {
    const T* first = weights.data<T>();
    check_weights(first, rows, n, replacement ? 1 : num_samples);
    if (torch && !replacement) {
      // PyTorch's method: each weight gets an exponential random time with that rate, and the k earliest are
      // the sample (Efraimidis and Spirakis, 2006).
      const Tensor times = exponential(weights.shape(), generator, weights.dtype());
      out = topk(raw::binary(kernels::Binary::div, weights, times), num_samples, -1).indices;
      return;
    }
    int64_t* sample = out.mutable_data<int64_t>();
    for (int64_t r = 0; r < rows; ++r) {
      const std::span<const T> row(first + r * n, static_cast<size_t>(n));
      const std::span<int64_t> samples(sample + r * num_samples, static_cast<size_t>(num_samples));
      if (torch)
        draw_by_search(row, samples, *torch);
      else
        draw_one_by_one(row, samples, replacement, generator);
    }
  });
  return out;
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

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_floating("dropout", x);
  if (!(p >= 0.0 && p <= 1.0)) fail<InputError>("dropout", "p must be in [0, 1], got ", p, ".");
  if (p == 0.0) return x;
  if (TorchStream* const torch = generator.as_torch()) return times_mask(x, p, *torch);
  return apply_mask(x, p, generator.reserve(x.numel()));
}

}  // namespace gradus
