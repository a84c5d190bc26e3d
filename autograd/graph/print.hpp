// How torch_string() prints: the options of torch.set_printoptions().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// With PyTorch's names and defaults.
struct PrintOptions {
  int precision = 4;               ///< digits after the point
  int64_t threshold = 1000;        ///< a tensor of more elements is summarized
  int64_t edgeitems = 3;           ///< elements at each end of a summarized dimension
  int64_t linewidth = 80;          ///< characters in a line
  std::optional<bool> sci_mode{};  ///< whether in powers of ten; none: where a fixed point would hide digits
};

/// torch_string() after torch.set_printoptions(). Throws Error for negative numbers.
std::string torch_string(const Tensor& x, const PrintOptions& options);

}  // namespace gradus
