#include "gradus/autograd/ops/arguments.hpp"

#include "gradus/autograd/values/raw.hpp"

namespace gradus {

void check_index(std::string_view op, const Tensor& index, int64_t size) {
  check_defined(op, index);
  if (index.dtype() != DType::int64) fail(op, "the index must be int64, got ", name(index.dtype()), ".");
  const Tensor packed = raw::contiguous(index);
  const int64_t* values = packed.data<int64_t>();
  for (int64_t i = 0, n = packed.numel(); i < n; ++i)
    if (values[i] < 0 || values[i] >= size)
      fail(op, "index ", values[i], " (element ", i, ") is outside [0, ", size, ").");
}

}  // namespace gradus
