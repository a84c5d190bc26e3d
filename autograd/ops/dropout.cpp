#include "gradus/autograd/kernels/elementwise/dropout.hpp"

#include <span>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// Linear in x, so its gradient is itself; the range of words gives the same mask again, so none is stored.
Tensor apply_mask(const Tensor& x, double p, Generator::Range words) {
  const Tensor packed = raw::contiguous(x);
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_float("dropout", x.dtype(), [&]<class T>() {
    kernels::dropout(x.numel(), out.mutable_data<T>(), packed.data<T>(), p, words.key, words.block);
  });
  return record("dropout", out, {{x, [p, words](const Tensor& gy) { return apply_mask(gy, p, words); }}});
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

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_floating("dropout", x);
  if (!(p >= 0.0 && p <= 1.0)) fail("dropout", "p must be in [0, 1], got ", p, ".");
  if (p == 0.0) return x;
  if (TorchStream* const torch = generator.as_torch()) return times_mask(x, p, *torch);
  return apply_mask(x, p, generator.reserve(x.numel()));
}

}  // namespace gradus
