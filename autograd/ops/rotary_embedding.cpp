#include "gradus/autograd/kernels/attention/rotary_embedding.hpp"

#include <cmath>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

constexpr const char* kOp = "rotary_embedding";

struct Angles {
  int64_t offset;
  double base;
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
  const kernels::Rotation rotation{from.size(0),  from.size(1), from.size(2), from.size(3),
                                   angles.offset, angles.base,  back};
  dispatch_float(kOp, x.dtype(), [&]<class T>() {
    kernels::rotary_embedding(rotation, to.mutable_data<T>(), leading_strides(to), from.data<T>(),
                              leading_strides(from));
  });
  return out;
}

// The inverse rotation in public ops.
Tensor rotated_back(const Tensor& x, const Angles& angles) {
  const int64_t half = x.size(-1) / 2, T = x.size(-2);
  const auto up_to = [](int64_t n) { return arange(0, static_cast<double>(n), 1, DType::float64); };
  const Tensor exponents = up_to(half) / static_cast<double>(-half);
  const Tensor positions = up_to(T) + static_cast<double>(angles.offset);
  const Tensor angle = positions.unsqueeze(1) * pow(full({}, angles.base, DType::float64), exponents);
  const Tensor c = cos(angle).to(x.dtype()), s = sin(angle).to(x.dtype());  // (T, hs / 2)
  const Tensor a = x.slice(-1, 0, half), b = x.slice(-1, half, 2 * half);
  return cat({a * c + b * s, b * c - a * s}, -1);
}

}  // namespace

Tensor rotary_embedding(const Tensor& x, int64_t offset, double base) {
  check_floating(kOp, x);
  if (x.dim() < 2 || x.size(-1) < 2 || x.size(-1) % 2 != 0)
    fail(kOp, "needs x (..., T, hs) with an even hs, got ", x.shape(), ".");
  if (offset < 0) fail(kOp, "offset must be >= 0, got ", offset, ".");
  if (!(base > 0.0 && std::isfinite(base)))
    fail(kOp, "base must be a finite number above 0, got ", base, ".");
  const Angles angles{offset, base};
  const auto pull = [angles](const Tensor& gy) {
    return grad_enabled() ? rotated_back(gy, angles) : rotated(gy, angles, /*back=*/true);
  };
  return record(kOp, rotated(x.detach(), angles, /*back=*/false), {{x, pull}});
}

}  // namespace gradus
