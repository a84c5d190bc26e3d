#include "gradus/autograd/kernels/cross_entropy.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/ops/check.hpp"
#include "gradus/autograd/raw.hpp"
#include "gradus/autograd/record.hpp"

namespace gradus {
namespace {

void check_cross_entropy(const Tensor& logits, const Tensor& target, int64_t ignore_index) {
  check_floating("cross_entropy", logits);
  check_defined("cross_entropy", target);
  if (logits.dim() != 2 || target.shape() != Shape{logits.size(0)} || target.dtype() != DType::int64)
    fail("cross_entropy", "needs logits (N, V) and int64 targets (N), got ", logits.shape(), " and ",
         name(target.dtype()), " ", target.shape(), ".");
  const Tensor packed = raw::contiguous(target);
  const int64_t* t = packed.data<int64_t>();
  for (int64_t i = 0; i < packed.numel(); ++i)
    if (t[i] != ignore_index && (t[i] < 0 || t[i] >= logits.size(1)))
      fail("cross_entropy", "target ", t[i], " (row ", i, ") is outside [0, ", logits.size(1), ").");
}

// The gradient in public ops: gy * (softmax(x) - onehot(target)), nothing for ignored rows.
Tensor composed_gradient(const Tensor& gy, const Tensor& x, const Tensor& target, int64_t ignore_index) {
  const Tensor ignored = eq(target, static_cast<double>(ignore_index)).unsqueeze(1);
  const Tensor classes = arange(0, static_cast<double>(x.size(1)));
  const Tensor onehot = eq(target.unsqueeze(1), classes.unsqueeze(0)).to(x.dtype());
  return masked_fill(gy.unsqueeze(1) * (softmax(x, 1) - onehot), ignored, 0.0);
}

// -log softmax(x)[target] for each row, 0 for ignored ones.
Tensor row_losses(const Tensor& logits, const Tensor& target, int64_t ignore_index) {
  const Tensor x = raw::contiguous(logits), t = raw::contiguous(target);
  const int64_t rows = x.size(0), classes = x.size(1);
  Tensor losses = empty({rows}, x.dtype()), lse = empty({rows}, x.dtype());
  dispatch_float("cross_entropy", x.dtype(), [&]<class T>() {
    kernels::cross_entropy(rows, classes, losses.mutable_data<T>(), lse.mutable_data<T>(), x.data<T>(),
                           t.data<int64_t>(), ignore_index);
  });
  return record("cross_entropy", losses,
                {{logits, [x = Saved(logits), t = Saved(t), lse, ignore_index](const Tensor& gy) {
                    if (grad_enabled()) return composed_gradient(gy, x, t, ignore_index);
                    const Tensor packed = raw::contiguous(x), g = raw::contiguous(gy);
                    Tensor gx = empty(x->shape(), x->dtype());
                    dispatch_float("cross_entropy", x->dtype(), [&]<class T>() {
                      kernels::cross_entropy_grad(x->size(0), x->size(1), gx.mutable_data<T>(), g.data<T>(),
                                                  packed.data<T>(), lse.data<T>(), t->data<int64_t>(),
                                                  ignore_index);
                    });
                    return gx;
                  }}});
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target, int64_t ignore_index, Reduction reduction) {
  check_cross_entropy(logits, target, ignore_index);
  const Tensor losses = row_losses(logits, target, ignore_index);
  if (reduction == Reduction::none) return losses;
  if (reduction == Reduction::sum) return sum(losses);
  const double counted = sum(ne(target, static_cast<double>(ignore_index)).to(DType::int64)).item();
  return sum(losses) / counted;
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_same_dtype("mse_loss", x, target);
  check_floating("mse_loss", x);
  const Tensor difference = x - target;
  const Tensor squares = difference * difference;
  if (reduction == Reduction::none) return squares;
  return reduction == Reduction::sum ? sum(squares) : mean(squares);
}

}  // namespace gradus
