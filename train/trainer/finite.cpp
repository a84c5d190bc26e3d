#include "gradus/train/trainer/finite.hpp"

#include <cmath>
#include <limits>

#include "gradus/autograd/tensor/dtype.hpp"

namespace gradus::train {
namespace {

template <class T>
bool all_finite(const T* values, int64_t count) {
  bool finite = true;  // No way out of the loop, so that it is made of vectors.
  for (int64_t i = 0; i < count; ++i) finite &= std::abs(values[i]) <= std::numeric_limits<T>::max();
  return finite;
}

}  // namespace

std::string first_not_finite(const nn::StateDict& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dtype() != DType::float32 && tensor.dtype() != DType::float64) continue;
    const Tensor packed = tensor.detach().contiguous();
    const bool finite = dispatch_float("first_not_finite", packed.dtype(), [&]<class T>() {
      return all_finite(packed.data<T>(), packed.numel());
    });
    if (!finite) return name;
  }
  return "";
}

}  // namespace gradus::train
