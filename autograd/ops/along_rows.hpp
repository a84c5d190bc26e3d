// How ops along one dimension see a tensor: as (outer, size, inner), or as packed rows with that dimension
// last.
#pragma once

#include "gradus/autograd/tensor/raw.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// Sizes on both sides of a dimension of a packed tensor; a scalar counts as (1, 1, 1).
struct Sides {
  Sides(const Shape& shape, int dim) {
    for (int d = 0; d < shape.size(); ++d) (d < dim ? outer : d > dim ? inner : size) *= shape[d];
  }
  int64_t outer = 1, size = 1, inner = 1;
};

/// Applies f(rows, cols, out, inputs...) to packed rows along `dim` of equally shaped inputs; f calls a
/// kernel.
template <class F, class... Inputs>
Tensor along_rows(int dim, F&& f, const Tensor& first, const Inputs&... others) {
  const bool last = dim >= first.dim() - 1;
  const auto rows_of = [&](const Tensor& t) {
    return raw::contiguous(last ? t.detach() : t.detach().transpose(dim, -1));
  };
  const Tensor x = rows_of(first);
  Tensor out = empty(x.shape(), x.dtype());
  const int64_t cols = x.dim() == 0 ? 1 : x.shape().back();
  f(cols == 0 ? 0 : x.numel() / cols, cols, out, x, rows_of(others)...);
  return last ? out : raw::contiguous(out.transpose(dim, -1));
}

}  // namespace gradus
