// The options of torch.set_printoptions(), for torch_string().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// With PyTorch's names and defaults; numbers of at least 0.
struct PrintOptions {
  int precision = 4;               ///< digits after the point
  int64_t threshold = 1000;        ///< the most elements that are printed in full
  int64_t edgeitems = 3;           ///< elements at each end of a dimension of a larger tensor
  int64_t linewidth = 80;          ///< characters of a line
  std::optional<bool> sci_mode{};  ///< powers of ten; none: where they show more digits
  std::string grad_fn{};           ///< printed for a result; empty: by the operation that recorded it
};

std::string torch_string(const Tensor& x, const PrintOptions& options);  ///< as after set_printoptions()

}  // namespace gradus
