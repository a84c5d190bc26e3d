#include <algorithm>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/kernels/elementwise/index.hpp"
#include "gradus/autograd/ops/arguments.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {
namespace {

Tensor triangle(OpName op, bool lower, const Tensor& x, int64_t diagonal) {
  check_defined(op.name, x);
  if (x.dim() < 2) fail(op.name, "needs at least two dimensions, got ", x.shape(), ".");
  const Tensor packed = raw::contiguous(x);
  const int64_t rows = x.size(-2), cols = x.size(-1);
  diagonal = std::clamp(diagonal, -rows, cols);  // further off, there is nothing to tell apart
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_any(x.dtype(), [&]<class T>() {
    if (x.numel() > 0)
      kernels::triangle(lower, x.numel() / (rows * cols), rows, cols, out.mutable_data<T>(), packed.data<T>(),
                        diagonal);
  });
  return record(op, out,
                {{x, [op, lower, diagonal](const Tensor& gy) { return triangle(op, lower, gy, diagonal); }}});
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", true, x, diagonal); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", false, x, diagonal); }

}  // namespace gradus
