// What the lessons share: the sentence they are about, and the texts that a notebook's cell prints.
#pragma once

#include <sstream>
#include <string>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/print_numpy.hpp"
#include "gradus/autograd/tensor.hpp"

namespace gradus::tools {

/// "Your journey starts with one step": six tokens of three features.
inline Tensor journey() {
  return tensor(std::vector<double>{0.43, 0.15, 0.89,   // Your
                                    0.55, 0.87, 0.66,   // journey
                                    0.57, 0.85, 0.64,   // starts
                                    0.22, 0.58, 0.33,   // with
                                    0.77, 0.25, 0.10,   // one
                                    0.05, 0.80, 0.55},  // step
                {6, 3})
      .to(DType::float32);
}

/// str(tensor) in Python.
inline std::string str(const Tensor& x) {
  std::ostringstream text;
  text << x;
  return text.str();
}

/// print(x.shape)
inline std::string torch_size(const Tensor& x) {
  std::string text = "torch.Size([";
  for (int d = 0; d < x.dim(); ++d) text += (d > 0 ? ", " : "") + std::to_string(x.size(d));
  return text + "])";
}

}  // namespace gradus::tools
