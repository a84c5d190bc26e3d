#include <algorithm>
#include <cmath>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {
namespace {

template <class T>
Tensor from_values(const std::vector<T>& values, const Shape& shape) {
  if (static_cast<int64_t>(values.size()) != shape.numel())
    fail("tensor", "shape ", shape, " holds ", shape.numel(), " values, got ", values.size(), ".");
  Tensor out = empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), out.mutable_data<T>());
  return out;
}

void write(std::string_view op, Tensor& target, const Tensor& source) {
  if (!target.defined() || !source.defined()) fail(op, "needs a defined tensor, got none.");
  const bool is_result = target.requires_grad() && !target.impl()->node->is_leaf();
  if (grad_enabled() && (is_result || source.requires_grad()))
    fail(op, is_result
                 ? "writes are not recorded, and this tensor is a recorded result. Hint: write to its "
                   "detach(), as in w.detach().select(0, i).fill_(0), or under NoGrad."
                 : "writes are not recorded, and the source requires a gradient. Hint: detach() the source, "
                   "or write under NoGrad.");
  raw::copy_into(target, source);
}

}  // namespace

void Tensor::copy_(const Tensor& source) { write("copy_", *this, source); }
void Tensor::fill_(double value) {
  write("fill_", *this, defined() ? raw::full({}, value, dtype()) : Tensor());
}

Tensor zeros(const Shape& shape, DType dtype) { return raw::full(shape, 0.0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return raw::full(shape, 1.0, dtype); }
Tensor full(const Shape& shape, double value, DType dtype) { return raw::full(shape, value, dtype); }

Tensor arange(double start, double end, double step, DType dtype) {
  const double count = std::ceil((end - start) / step);
  if (!(count >= 0 && count <= static_cast<double>(kMaxElements)))
    fail("arange", "step must lead from start to end, in at most 2^56 steps, got start ", start, ", end ",
         end, ", step ", step, ".");
  if (dtype == DType::int64 && (start != std::trunc(start) || step != std::trunc(step)))
    fail("arange", "int64 numbers need a whole start and step, got ", start, " and ", step,
         ". Hint: arange(start, end, step, DType::float32).");
  Tensor out = empty({static_cast<int64_t>(count)}, dtype);
  dispatch_number("arange", dtype, [&]<class T>() {
    T* first = out.mutable_data<T>();
    for (const double limit : {start, end}) raw::number_as<T>("arange", limit);
    for (int64_t i = 0; i < out.numel(); ++i)
      first[i] = static_cast<T>(start + static_cast<double>(i) * step);
  });
  return out;
}

Tensor eye(int64_t n, DType dtype) {
  Tensor out = zeros({n, n}, dtype);
  dispatch_number("eye", dtype, [&]<class T>() {
    T* first = out.mutable_data<T>();
    for (int64_t i = 0; i < n; ++i) first[i * (n + 1)] = T{1};
  });
  return out;
}

Tensor tensor(const std::vector<float>& values, const Shape& shape) { return from_values(values, shape); }
Tensor tensor(const std::vector<double>& values, const Shape& shape) { return from_values(values, shape); }
Tensor tensor(const std::vector<int64_t>& values, const Shape& shape) { return from_values(values, shape); }
Tensor tensor(const std::vector<bool>& values, const Shape& shape) { return from_values(values, shape); }

Tensor tensor(std::initializer_list<Literal> values, const Shape& shape) {
  DType highest = values.size() == 0 ? DType::float32 : DType::boolean;
  for (const Literal& x : values)
    if (highest == DType::boolean || x.dtype == DType::float32) highest = x.dtype;
  return dispatch_any(highest, [&]<class T>() {
    std::vector<T> converted;
    for (const Literal& x : values)
      converted.push_back(std::is_same_v<T, int64_t> ? static_cast<T>(x.whole) : static_cast<T>(x.value));
    return from_values(converted, shape);
  });
}

Tensor matrix(std::initializer_list<std::initializer_list<float>> rows) {
  const size_t columns = rows.size() ? rows.begin()->size() : 0;
  std::vector<float> values;
  for (const auto& row : rows) {
    if (row.size() != columns)
      fail("matrix", "all rows must be as long as the first (", columns, "), got one of ", row.size(), ".");
    values.insert(values.end(), row);
  }
  return tensor(values, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)});
}

}  // namespace gradus
