// A program of somebody else: built against gradus as installed, and as a subdirectory.
#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/tensor.hpp"

int main() {
  const gradus::Tensor t = gradus::zeros({2, 3});
  return t.numel() == 6 ? 0 : 1;
}
