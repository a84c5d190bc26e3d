#include "gradus/autograd/ops/arguments.hpp"

#include "gradus/autograd/engine/backward_pass.hpp"

namespace gradus {

void check_index(std::string_view op, const Tensor& index, int64_t size) {
  check_defined(op, index);
  if (index.dtype() != DType::int64) fail(op, "the index must be int64, got ", name(index.dtype()), ".");
  const Tensor packed = raw::contiguous(index);
  const int64_t* values = packed.data<int64_t>();
  for (int64_t i = 0, n = packed.numel(); i < n; ++i)
    if (values[i] < 0 || values[i] >= size)
      fail<PlaceError>(op, "index ", values[i], " (element ", i, ") is outside [0, ", size, ").");
}

Dims normalized_dims(std::string_view op, const Tensor& x, const Shape& normalized_shape,
                     std::initializer_list<Tensor> parameters) {
  check_floating(op, x);
  const int n = normalized_shape.size();
  if (n == 0 || n > x.dim() || Shape(x.shape().end() - n, x.shape().end()) != normalized_shape)
    fail(op, "normalized_shape must be x's last dimensions, got ", normalized_shape, " and x ", x.shape(),
         ".");
  for (const Tensor& parameter : parameters) {
    if (!parameter.defined()) continue;
    check_same_dtype(op, x, parameter);
    if (parameter.shape() != normalized_shape)
      fail(op, "a parameter must be ", normalized_shape, ", got ", parameter.shape(), ".");
  }
  Dims dims;
  for (int d = x.dim() - n; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace gradus

namespace gradus::differentiable {

Tensor add(const Tensor& a, const Tensor& b) { return gradus::add(a, b); }
Tensor sum(const Tensor& x, const std::vector<int64_t>& dims) {
  return gradus::sum(x, dims, /*keepdim=*/true);
}

}  // namespace gradus::differentiable
