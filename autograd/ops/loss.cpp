#include "gradus/autograd/kernels/elementwise/rows.hpp"
#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

void check_targets(std::string_view op, const Tensor& target, int64_t classes, int64_t ignore_index) {
  const Tensor packed = raw::contiguous(target);
  const int64_t* t = packed.data<int64_t>();
  for (int64_t i = 0; i < packed.numel(); ++i)
    if (t[i] != ignore_index && (t[i] < 0 || t[i] >= classes))
      fail<PlaceError>(op, "target ", t[i], " (row ", i, ") is outside [0, ", classes, ").");
}

void check_cross_entropy(const Tensor& logits, const Tensor& target, int64_t ignore_index) {
  check_floating("cross_entropy", logits);
  check_defined("cross_entropy", target);
  if (logits.dim() != 2 || target.shape() != Shape{logits.size(0)} || target.dtype() != DType::int64)
    fail<InputError>("cross_entropy", "needs logits (N, V) and int64 targets (N), got ", logits.shape(),
                     " and ", name(target.dtype()), " ", target.shape(), ".");
  check_targets("cross_entropy", target, logits.size(1), ignore_index);
}

// The gradient in public ops: gy * (softmax(x) - onehot(target)), 0 for ignored rows.
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
  Tensor losses = empty({rows}, x.dtype()), sums = empty({rows, 2}, x.dtype());
  dispatch_float("cross_entropy", x.dtype(), [&]<class T>() {
    kernels::cross_entropy(rows, classes, losses.mutable_data<T>(), sums.mutable_data<T>(), x.data<T>(),
                           t.data<int64_t>(), ignore_index);
  });
  const auto pull = [x = Saved(logits), t = Saved(t), sums, ignore_index](const Tensor& gy) {
    if (grad_enabled()) return composed_gradient(gy, x, t, ignore_index);
    const Tensor packed = raw::contiguous(x), g = raw::contiguous(gy);
    Tensor gx = empty(x->shape(), x->dtype());
    dispatch_float("cross_entropy", x->dtype(), [&]<class T>() {
      kernels::cross_entropy_grad(x->size(0), x->size(1), gx.mutable_data<T>(), g.data<T>(), packed.data<T>(),
                                  sums.data<T>(), t->data<int64_t>(), ignore_index);
    });
    return gx;
  };
  autograd::trace_attributes(t, ignore_index);
  return record("cross_entropy", std::move(losses), {{logits, pull}});
}

// The number of targets that are not ignored.
int64_t counted(const Tensor& target, int64_t ignore_index) {
  return static_cast<int64_t>(sum(ne(target, static_cast<double>(ignore_index)).to(DType::int64)).item());
}

// (N, V, d1, ...) or (V) -> (rows, V)
Tensor as_rows(const Tensor& x) {
  if (x.dim() < 2) return x.reshape({1, x.numel()});
  std::vector<int64_t> order{0};
  for (int d = 2; d < x.dim(); ++d) order.push_back(d);
  order.push_back(1);
  return x.permute(order).reshape({x.size(1) == 0 ? 0 : x.numel() / x.size(1), x.size(1)});
}

// The shape of the losses: that of the logits without their classes.
Shape without_classes(const Shape& logits) {
  Shape shape = logits;
  shape.erase(logits.size() > 1 ? 1 : 0);
  return shape;
}

void check_options(std::string_view op, const Tensor& logits, const Tensor& target,
                   const CrossEntropyOptions& options) {
  check_floating(op, logits);
  check_defined(op, target);
  if (logits.dim() == 0) fail(op, "needs logits (N, V, ...) or (V), got a scalar.");
  const bool classes = target.dtype() == DType::int64;
  const Shape shape = classes ? without_classes(logits.shape()) : logits.shape();
  if ((!classes && target.dtype() != logits.dtype()) || target.shape() != shape)
    fail(op, "logits ", logits.shape(), " need int64 classes ", without_classes(logits.shape()), " or ",
         name(logits.dtype()), " probabilities ", logits.shape(), ", got ", name(target.dtype()), " ",
         target.shape(), ".");
  if (!classes && options.ignore_index >= 0)
    fail(op, "ignore_index needs targets that are classes, got probabilities.");
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    fail(op, "label_smoothing must be in [0, 1], got ", options.label_smoothing, ".");
  if (!options.weight.defined()) return;
  check_same_dtype(op, logits, options.weight);
  const int64_t n = logits.shape()[logits.dim() > 1 ? 1 : 0];
  if (options.weight.shape() != Shape{n})
    fail(op, "weight must be (", n, ",), one for each class, got ", options.weight.shape(), ".");
}

// -sum over classes of p * weight * log softmax(x), with p = (1 - s) * target + s / V.
Tensor of_probabilities(const Tensor& x, const Tensor& target, const CrossEntropyOptions& options) {
  const double s = options.label_smoothing;
  const Tensor p = s > 0 ? target * (1 - s) + s / static_cast<double>(x.size(1)) : target;
  const Tensor surprise = log_softmax(x, 1) * p;
  return neg(sum(options.weight.defined() ? surprise * options.weight : surprise, {1}));
}

// With surprise = -log p of each class: (1 - s) * weight[t] * surprise[t] + s / V * sum over classes of
// weight * surprise, of rows or reduced.
Tensor of_classes(std::string_view op, const Tensor& surprise, const Tensor& target,
                  const CrossEntropyOptions& options) {
  const double s = options.label_smoothing;
  const int64_t classes = surprise.size(1);
  const Tensor t = target.flatten();
  check_targets(op, t, classes, options.ignore_index);
  const Tensor ignored = eq(t, static_cast<double>(options.ignore_index));
  const Tensor class_of = where(ignored, zeros({}, DType::int64), t);
  const Tensor weight = options.weight.defined() ? options.weight : ones({classes}, surprise.dtype());
  const Tensor row_weight = masked_fill(index_select(weight, 0, class_of), ignored, 0.0);
  Tensor losses =
      masked_fill(gather(surprise, 1, class_of.unsqueeze(1)).squeeze(1), ignored, 0.0) * row_weight;
  if (s > 0) {
    const Tensor of_all = masked_fill(sum(surprise * weight, {1}), ignored, 0.0);
    losses = losses * (1 - s) + of_all * (s / static_cast<double>(classes));
  }
  if (options.reduction == Reduction::mean) return sum(losses) / sum(row_weight);
  return reduced(op, losses.reshape(target.shape()), options.reduction, 1);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target, IgnoreIndex ignored, Reduction reduction) {
  const int64_t ignore_index = ignored.value;
  check_cross_entropy(logits, target, ignore_index);
  const int64_t count = reduction == Reduction::mean ? counted(target, ignore_index) : 1;
  return reduced("cross_entropy", row_losses(logits, target, ignore_index), reduction, count);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  check_options("cross_entropy", logits, target, options);
  const Tensor x = as_rows(logits);
  if (target.dtype() != DType::int64) {
    const Tensor losses =
        of_probabilities(x, as_rows(target), options).reshape(without_classes(logits.shape()));
    return reduced("cross_entropy", losses, options.reduction, losses.numel());
  }
  if (options.weight.defined() || options.label_smoothing > 0)
    return of_classes("cross_entropy", neg(log_softmax(x, 1)), target, options);
  const Tensor loss = cross_entropy(x, target.flatten(), options.ignore_index, options.reduction);
  return options.reduction == Reduction::none ? loss.reshape(target.shape()) : loss;
}

Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                Reduction reduction) {
  const CrossEntropyOptions options{.weight = weight, .ignore_index = ignore_index, .reduction = reduction};
  check_options("nll_loss", x, target, options);
  if (target.dtype() != DType::int64)
    fail("nll_loss", "targets must be int64 classes, got ", name(target.dtype()), ".");
  return of_classes("nll_loss", neg(as_rows(x)), target, options);
}

}  // namespace gradus
