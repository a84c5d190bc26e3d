// unfold, fold and convolution.
#include "gradus/annexes/layers/ops/window_arguments.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/elementwise/rows.hpp"

namespace gradus {

Tensor unfolded(const Tensor& x, const Windows& w, bool backwards) {
  const Tensor packed = raw::contiguous(x);
  const int64_t channels = x.size(1) / (backwards ? w.kernel() : 1), size = w.kernel() * w.count();
  Tensor out = empty(backwards ? Shape{x.size(0), channels, w.rows.size, w.columns.size}
                               : Shape{x.size(0), channels * w.kernel(), w.count()},
                     x.dtype());
  dispatch_float("unfold", x.dtype(), [&]<class T>() {
    T* const to = out.mutable_data<T>();
    const T* const from = packed.data<T>();
    kernels::for_each_row(x.size(0) * channels, size, [&](int64_t p) {
      if (backwards)
        kernels::fold(w, 1, to + p * w.plane(), from + p * size);
      else
        kernels::unfold(w, 1, to + p * size, from + p * w.plane());
    });
  });
  autograd::trace_attributes(shape_of(w.rows), shape_of(w.columns));
  return record(OpName::custom(backwards ? "fold" : "unfold"), std::move(out),
                {{x, [w, backwards](const Tensor& gy) { return unfolded(gy, w, !backwards); }}});
}

namespace {

using kernels::Trans;

// The sizes of a convolution, and its loops over images. Each (image, group) is one product of the group's
// weight (O, K) and the columns (K, L) of its part of the image.
struct Convolution {
  Windows windows;
  int64_t images, groups, out_channels, in_channels;  // channels are those of a group

  int64_t K() const { return in_channels * windows.kernel(); }
  int64_t L() const { return windows.count(); }
  int64_t work() const { return out_channels * K() * L(); }
  int64_t image() const { return in_channels * windows.plane(); }

  // Calls f(i, memory for columns) for the items, (image, group), from begin to end.
  template <class T, class F>
  void with_columns(int64_t begin, int64_t end, F&& f) const {
    Tensor buffer = empty({K(), L()}, dtype_of<T>);
    for (int64_t i = begin; i < end; ++i) f(i, buffer.mutable_data<T>());
  }
  // The same for all items, on several threads.
  template <class T, class F>
  void with_all_columns(F&& f) const {
    parallel_for(images * groups, kernels::grain_of(kernels::kSmallProduct, work()),
                 [&](int64_t begin, int64_t end) { with_columns<T>(begin, end, f); });
  }

  template <class T>
  void forward(T* y, const T* x, const T* weight, const T* bias) const {
    with_all_columns<T>([&](int64_t i, T* columns) {
      T* const out = y + i * out_channels * L();
      const int64_t first = i % groups * out_channels;
      for (int64_t o = 0; bias && o < out_channels; ++o) std::fill_n(out + o * L(), L(), bias[first + o]);
      kernels::unfold(windows, in_channels, columns, x + i * image());
      kernels::gemm(Trans::no, Trans::no, out_channels, L(), K(), weight + first * K(), K(), columns, L(),
                    out, L(), bias != nullptr);
    });
  }

  template <class T>
  void to_input(T* gx, const T* gy, const T* weight) const {
    with_all_columns<T>([&](int64_t i, T* columns) {
      kernels::gemm(Trans::yes, Trans::no, K(), L(), out_channels, weight + i % groups * out_channels * K(),
                    K(), gy + i * out_channels * L(), L(), columns, L());
      kernels::fold(windows, in_channels, gx + i * image(), columns);
    });
  }

  // Sums over fixed chunks of images, as many as have sums of 2^20 elements together, at most 16.
  template <class T>
  void to_weight(T* gw, const T* gy, const T* x) const {
    const int64_t size = groups * out_channels * K();
    const int64_t most = std::clamp<int64_t>((int64_t{1} << 20) / std::max<int64_t>(size, 1), 1, 16);
    const int64_t grain =
        std::max(kernels::grain_of(kernels::kSmallProduct, groups * work()), kernels::ceil_div(images, most));
    const int64_t chunks = kernels::ceil_div(images, grain);
    Tensor sums = raw::full({chunks, size}, 0.0, dtype_of<T>);
    T* const all = sums.mutable_data<T>();
    parallel_for(images, grain, [&](int64_t b, int64_t e) {
      with_columns<T>(b * groups, e * groups, [&](int64_t i, T* columns) {
        kernels::unfold(windows, in_channels, columns, x + i * image());
        kernels::gemm(Trans::no, Trans::yes, out_channels, K(), L(), gy + i * out_channels * L(), L(),
                      columns, L(), all + b / grain * size + i % groups * out_channels * K(), K(),
                      /*add=*/true);
      });
    });
    kernels::add_rows(chunks, size, gw, all, size);
  }
};

// With columns (N, groups, K, L), gx = fold(weight^T gy) and gw = gy columns^T: in public ops, or loops.
std::vector<Tensor> conv_rule(const Tensor& gy, const Tensor& x, const Tensor& weight, const Convolution& c,
                              Needs needs) {
  std::vector<Tensor> grads(3);
  if (needs[2]) grads[2] = sum(gy, {0, 2, 3});
  if (grad_enabled()) {
    const Autocast in_full(DType::float32);
    const Tensor g = gy.reshape({c.images, c.groups, c.out_channels, c.L()});
    const Tensor w = weight.reshape({c.groups, c.out_channels, c.K()});
    if (needs[0])
      grads[0] = unfolded(matmul(w.mT(), g).reshape({c.images, c.groups * c.K(), c.L()}), c.windows, true);
    if (!needs[1]) return grads;
    const Tensor columns = unfolded(x, c.windows, false).reshape({c.images, c.groups, c.K(), c.L()});
    grads[1] = sum(matmul(g, columns.mT()), {0}).reshape(weight.shape());
    return grads;
  }
  const Tensor g = raw::contiguous(gy), xs = raw::contiguous(x), w = raw::contiguous(weight);
  for (int i = 0; i < 2; ++i)
    if (needs[i]) grads[i] = empty(i == 0 ? x.shape() : weight.shape(), x.dtype());
  dispatch_float("conv2d", x.dtype(), [&]<class T>() {
    if (needs[0]) c.to_input(grads[0].mutable_data<T>(), g.data<T>(), w.data<T>());
    if (needs[1]) c.to_weight(grads[1].mutable_data<T>(), g.data<T>(), xs.data<T>());
  });
  return grads;
}

void check_channels(std::string_view op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    int64_t groups) {
  const int64_t out = weight.size(0);
  if (groups < 1) fail(op, "groups must be at least 1, got ", groups, ".");
  if (out < groups || out % groups != 0)
    fail(op, "groups must divide the output channels, got groups ", groups, " and weight ", weight.shape(),
         ".");
  if (x.size(1) != weight.size(1) * groups)
    fail(op, "weight ", weight.shape(), " with groups ", groups, " needs images of ", weight.size(1) * groups,
         " channels, got ", x.size(1), ".");
  if (!bias.defined()) return;
  check_same_dtype(op, x, bias);
  if (bias.shape() != Shape{out}) fail(op, "bias must be (", out, ",), got ", bias.shape(), ".");
}

// Padding "same" or "valid" as numbers. If "same" needs an odd number of zeros, `images` gets the last.
PerDim padding_of(std::string_view op, Tensor& images, const Shape& kernel, int dims, const ConvOptions& o) {
  const std::string& mode = o.padding.mode;
  if (mode.empty()) return o.padding;
  if (mode == "valid") return 0;
  if (mode != "same") fail(op, "padding must be numbers, same or valid, got '", mode, "'.");
  if (per_dim(op, "stride", o.stride, dims, 1, 1) != std::array<int64_t, 2>{1, 1})
    fail(op, "padding 'same' needs a stride of 1, got ", o.stride.values, ".");
  const auto dilation = per_dim(op, "dilation", o.dilation, dims, 1, 1);
  PerDim padding;
  for (int d = 2 - dims; d < 2; ++d) {
    const int64_t zeros = dilation[static_cast<size_t>(d)] * (kernel[d + 2] - 1);
    if (zeros % 2 != 0) images = pad(images, d + 2, images.size(d + 2) + 1, 0);
    padding.values.push_back(zeros / 2);
  }
  return padding;
}

Tensor convolved(std::string_view op, int dims, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const ConvOptions& options) {
  const Images in(op, x, dims);
  check_same_dtype(op, x, weight);
  if (weight.dim() != dims + 2)
    fail(op, "weight must be (O, C / groups, ", dims == 2 ? "height, width" : "length", "), got ",
         weight.shape(), ".");
  const Tensor w = dims == 1 ? weight.unsqueeze(2) : weight;
  check_channels(op, in.tensor, w, bias, options.groups);
  Tensor images = in.tensor;
  const PerDim padding = padding_of(op, images, w.shape(), dims, options);
  const PerDim kernel(std::vector<int64_t>(w.shape().end() - dims, w.shape().end()));
  const Convolution c{
      windows_on(op, images.shape(), dims, {kernel, options.stride, padding, options.dilation}),
      images.size(0), options.groups, w.size(0) / options.groups, w.size(1)};
  const Tensor packed = raw::contiguous(images), ws = raw::contiguous(w), b = raw::contiguous(bias);
  Tensor out = empty({c.images, w.size(0), c.windows.rows.out, c.windows.columns.out}, x.dtype());
  dispatch_float(op, x.dtype(), [&]<class T>() {
    c.forward(out.mutable_data<T>(), packed.data<T>(), ws.data<T>(), raw::data_or_null<T>(b));
  });
  auto pull = [x = Saved(images), w = Saved(w), c](const Tensor& gy, Needs needs) {
    return conv_rule(gy, x, w, c, needs);
  };
  autograd::trace_attributes(shape_of(c.windows.rows), shape_of(c.windows.columns), c.groups);
  return in.restored(record(OpName::custom("conv2d"), out, {images, w, bias}, std::move(pull)));
}

}  // namespace

Tensor unfold(const Tensor& x, const PerDim& kernel_size, const UnfoldOptions& o) {
  const Images in("unfold", x, 2);
  const Windows w =
      windows_on("unfold", in.tensor.shape(), 2, {kernel_size, o.stride, o.padding, o.dilation});
  const Tensor columns = unfolded(in.tensor, w, false);
  return in.batched ? columns : columns.squeeze(0);
}

Tensor fold(const Tensor& x, const PerDim& output_size, const PerDim& kernel_size, const UnfoldOptions& o) {
  check_floating("fold", x);
  const auto [height, width] = per_dim("fold", "output_size", output_size, 2, 1, 1);
  const Windows w = windows_on("fold", {height, width}, 2, {kernel_size, o.stride, o.padding, o.dilation});
  const bool batched = x.dim() == 3;
  if ((!batched && x.dim() != 2) || x.size(-2) % w.kernel() != 0 || x.size(-1) != w.count())
    fail("fold", "needs blocks (N, C * ", w.kernel(), ", ", w.count(), ") or (C * ", w.kernel(), ", ",
         w.count(), "), got ", x.shape(), ".");
  const Tensor images = unfolded(batched ? x : x.unsqueeze(0), w, true);
  return batched ? images : images.squeeze(0);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolved("conv2d", 2, x, weight, bias, options);
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolved("conv1d", 1, x, weight, bias, options);
}

}  // namespace gradus
