// A program of somebody else: built against gradus as installed, and as a subdirectory. By the paths that
// version 0.1 had, wherever these headers stand since.
#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/functional/functional.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/dtype.hpp"
#include "gradus/autograd/tensor/shape.hpp"
#include "gradus/autograd/tensor/storage.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/files/error.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/train/optimizers/adamw.hpp"

int main() {
  gradus::Generator g(1);
  gradus::nn::Linear layer(3, 2, g);
  gradus::train::AdamW optimizer(layer.named_parameters());
  const gradus::Tensor loss = sum(layer(gradus::zeros({2, 3})));
  loss.backward();
  optimizer.step(0.1);
  return layer.bias.grad().numel() == 2 ? 0 : 1;
}
