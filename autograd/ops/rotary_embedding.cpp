#include "gradus/autograd/kernels/elementwise/rotary_embedding.hpp"

#include <cmath>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

constexpr const char* kOp = "rotary_embedding";

struct Angles {
  int64_t offset;
  Tensor frequencies;  // float64 (hs / 2)
  double scale;
};

kernels::View4 leading_strides(const Tensor& t) { return {t.strides()[0], t.strides()[1], t.strides()[2]}; }

// (..., T, hs) as (B, nh, T, hs) with packed rows: itself if it has four dimensions.
Tensor as_four(const Tensor& x) {
  const Shape s =
      x.dim() == 4 ? x.shape() : Shape{1, x.numel() / (x.size(-2) * x.size(-1)), x.size(-2), x.size(-1)};
  if (x.dim() == 4 && x.strides()[3] == 1) return x;
  return view_of(raw::clone(x), s, contiguous_strides(s), 0);
}

// It has the memory layout of x: heads inside positions, as after a projection, or outside.
Tensor laid_out_like(const Tensor& x) {
  const Shape& s = x.shape();
  const bool heads_inside = x.dim() == 4 && !x.is_contiguous();
  return heads_inside ? empty({s[0], s[2], s[1], s[3]}, x.dtype()).transpose(1, 2) : empty(s, x.dtype());
}

Tensor rotated(const Tensor& x, const Angles& angles, bool back) {
  Tensor out = laid_out_like(x);
  if (x.numel() == 0) return out;
  const Tensor from = as_four(x);
  Tensor to = x.dim() == 4 ? out : view_of(out, from.shape(), contiguous_strides(from.shape()), 0);
  const kernels::Rotation rotation{from.size(0), from.size(1),  from.size(2),
                                   from.size(3), angles.offset, angles.frequencies.data<double>(),
                                   angles.scale, back};
  dispatch_float(kOp, x.dtype(), [&]<class T>() {
    kernels::rotary_embedding(rotation, to.mutable_data<T>(), leading_strides(to), from.data<T>(),
                              leading_strides(from));
  });
  return out;
}

// The inverse rotation in public ops.
Tensor rotated_back(const Tensor& x, const Angles& angles) {
  const int64_t half = x.size(-1) / 2, first = angles.offset;
  const Tensor positions =
      arange(static_cast<double>(first), static_cast<double>(first + x.size(-2)), 1, DType::float64);
  const Tensor angle = positions.unsqueeze(1) * angles.frequencies;
  const Tensor c = (cos(angle) * angles.scale).to(x.dtype()), s = (sin(angle) * angles.scale).to(x.dtype());
  const Tensor a = x.slice(-1, 0, half), b = x.slice(-1, half, 2 * half);
  return cat({a * c + b * s, b * c - a * s}, -1);
}

}  // namespace

Tensor rotary_frequencies(int64_t hs, double base) {
  if (!(base > 0.0 && std::isfinite(base)))
    fail(kOp, "base must be a finite number above 0, got ", base, ".");
  std::vector<double> frequencies;
  for (int64_t i = 0; i < hs / 2; ++i)
    frequencies.push_back(std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(hs)));
  return tensor(frequencies, {hs / 2});
}

Tensor rotary_embedding(const Tensor& x, int64_t offset, double base) {
  check_defined(kOp, x);
  return rotary_embedding(x, offset, rotary_frequencies(x.dim() < 1 ? 0 : x.size(-1), base));
}

Tensor rotary_embedding(const Tensor& x, int64_t offset, const Tensor& frequencies, double scale) {
  check_floating(kOp, x);
  if (x.dim() < 2 || x.size(-1) < 2 || x.size(-1) % 2 != 0)
    fail(kOp, "needs x (..., T, hs) with an even hs, got ", x.shape(), ".");
  if (offset < 0) fail(kOp, "offset must be >= 0, got ", offset, ".");
  check_defined(kOp, frequencies);
  if (frequencies.dtype() != DType::float64 || frequencies.shape() != Shape{x.size(-1) / 2} ||
      !frequencies.is_contiguous() || !std::isfinite(scale))
    fail(kOp, "needs frequencies float64 (hs / 2) and a finite scale, got ", name(frequencies.dtype()), " ",
         frequencies.shape(), " and ", scale, ".");
  const Angles angles{offset, frequencies, scale};
  const auto pull = [angles](const Tensor& gy) {
    return grad_enabled() ? rotated_back(gy, angles) : rotated(gy, angles, /*back=*/true);
  };
  Tensor out = rotated(x.detach(), angles, /*back=*/false);
  autograd::trace_attributes(offset, frequencies, scale);
  return record(kOp, std::move(out), {{x, pull}});
}

}  // namespace gradus
