#include "gradus/autograd/kernels/dropout.hpp"

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/ops/check.hpp"
#include "gradus/autograd/raw.hpp"
#include "gradus/autograd/record.hpp"

namespace gradus {
namespace {

// Linear in x with a mask that the range of words tells again at any time, so its gradient is itself and no mask
// is stored.
Tensor apply_mask(const Tensor& x, double p, Generator::Range words) {
  const Tensor packed = raw::contiguous(x);
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_float("dropout", x.dtype(), [&]<class T>() {
    kernels::dropout(x.numel(), out.mutable_data<T>(), packed.data<T>(), p, words.key, words.block);
  });
  return record("dropout", out, {{x, [p, words](const Tensor& gy) { return apply_mask(gy, p, words); }}});
}

}  // namespace

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_floating("dropout", x);
  if (!(p >= 0.0 && p <= 1.0)) fail("dropout", "p must be in [0, 1], got ", p, ".");
  return p == 0.0 ? x : apply_mask(x, p, generator.reserve(x.numel()));
}

}  // namespace gradus
