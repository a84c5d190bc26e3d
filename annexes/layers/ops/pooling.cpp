#include "gradus/annexes/layers/ops/window_arguments.hpp"
#include "gradus/autograd/kernels/elementwise/index.hpp"

namespace gradus {
namespace {

// The windows of a pool.
Windows pooled_by(std::string_view op, const Images& in, const WindowOptions& options) {
  WindowOptions o = options;
  if (o.stride.values.empty()) o.stride = o.kernel_size;
  const Shape& shape = in.tensor.shape();
  for (int d = 1; d < shape.size(); ++d)
    if (shape[d] == 0) fail(op, "needs images of at least one element, got ", shape, ".");
  const Windows w = windows_on(op, shape, in.dims, o);
  if (2 * w.rows.padding > w.rows.kernel || 2 * w.columns.padding > w.columns.kernel)
    fail(op, "padding must be at most half of kernel_size, got padding ", o.padding.values,
         " and kernel_size ", o.kernel_size.values, ".");
  return w;
}

Shape out_shape(const Tensor& x, const Windows& w) {
  return {x.size(0), x.size(1), w.rows.out, w.columns.out};
}

ValuesAndIndices max_pool(std::string_view op, int dims, const Tensor& x, const PerDim& kernel,
                          const MaxPoolOptions& o) {
  const Images in(op, x, dims);
  const Windows w = pooled_by(op, in, {kernel, o.stride, o.padding, o.dilation, o.ceil_mode});
  const Tensor packed = raw::contiguous(in.tensor);
  const int64_t planes = packed.size(0) * packed.size(1);
  Tensor values = empty(out_shape(packed, w), x.dtype()), index = empty(values.shape(), DType::int64);
  dispatch_float(op, x.dtype(), [&]<class T>() {
    kernels::max_pool(w, planes, values.mutable_data<T>(), index.mutable_data<int64_t>(), packed.data<T>());
  });
  auto pull = [shape = packed.shape(), planes, w, i = Saved(index)](const Tensor& gy, Needs) {
    const Shape rows{planes, w.count()};
    if (grad_enabled())
      return std::vector{
          scatter_add(zeros({planes, w.plane()}, gy.dtype()), 1, i->reshape(rows), gy.reshape(rows))
              .reshape(shape)};
    const Tensor g = raw::contiguous(gy);
    Tensor gx = zeros(shape, gy.dtype());
    dispatch_float("max_pool2d", gy.dtype(), [&]<class T>() {
      kernels::scatter_add(planes, w.plane(), 1, w.count(), gx.mutable_data<T>(), i->data<int64_t>(),
                           g.data<T>());
    });
    return std::vector{gx};
  };
  autograd::trace_attributes(shape_of(w.rows), shape_of(w.columns));
  return {in.restored(record(OpName::custom("max_pool2d"), values, {in.tensor}, std::move(pull))),
          in.restored(index)};
}

// The number of elements in each window of one dimension.
Tensor counts(const kernels::WindowAxis& axis, bool counts_padding, DType dtype) {
  std::vector<double> all;
  for (int64_t o = 0; o < axis.out; ++o) {
    const int64_t begin = counts_padding ? axis.start(o) : axis.inside(o);
    const int64_t end =
        std::min(axis.start(o) + axis.kernel, axis.size + (counts_padding ? axis.padding : 0));
    all.push_back(static_cast<double>(std::max<int64_t>(end - begin, 1)));
  }
  return tensor(all, {axis.out}).to(dtype);
}

Tensor avg_pool(std::string_view op, int dims, const Tensor& x, const PerDim& kernel,
                const AvgPoolOptions& o) {
  const Images in(op, x, dims);
  if (o.divisor_override && (dims == 1 || *o.divisor_override == 0))
    fail(op, "divisor_override must not be ", dims == 1 ? "given" : "0", ", got ", *o.divisor_override, ".");
  const Windows w = pooled_by(op, in, {kernel, o.stride, o.padding, 1, o.ceil_mode});
  const Shape& shape = in.tensor.shape();
  const Tensor planes = in.tensor.reshape({shape[0] * shape[1], 1, shape[2], shape[3]});
  const Tensor sums = sum(unfolded(planes, w, false), {1}).reshape(out_shape(in.tensor, w));
  if (o.divisor_override) return in.restored(sums / static_cast<double>(*o.divisor_override));
  const Tensor rows = counts(w.rows, o.count_include_pad, x.dtype());
  return in.restored(sums / (rows.unsqueeze(1) * counts(w.columns, o.count_include_pad, x.dtype())));
}

}  // namespace

ValuesAndIndices max_pool2d_with_indices(const Tensor& x, const PerDim& kernel_size,
                                         const MaxPoolOptions& options) {
  return max_pool("max_pool2d", 2, x, kernel_size, options);
}
ValuesAndIndices max_pool1d_with_indices(const Tensor& x, const PerDim& kernel_size,
                                         const MaxPoolOptions& options) {
  return max_pool("max_pool1d", 1, x, kernel_size, options);
}
Tensor max_pool2d(const Tensor& x, const PerDim& kernel_size, const MaxPoolOptions& options) {
  return max_pool2d_with_indices(x, kernel_size, options).values;
}
Tensor max_pool1d(const Tensor& x, const PerDim& kernel_size, const MaxPoolOptions& options) {
  return max_pool1d_with_indices(x, kernel_size, options).values;
}
Tensor avg_pool2d(const Tensor& x, const PerDim& kernel_size, const AvgPoolOptions& options) {
  return avg_pool("avg_pool2d", 2, x, kernel_size, options);
}
Tensor avg_pool1d(const Tensor& x, const PerDim& kernel_size, const AvgPoolOptions& options) {
  return avg_pool("avg_pool1d", 1, x, kernel_size, options);
}

}  // namespace gradus
