// A program of somebody else: built against gradus as installed, and as a subdirectory. By the paths that
// version 0.1 had, wherever these headers stand since.
#include "gradus/autograd/anomaly.hpp"
#include "gradus/autograd/backward.hpp"
#include "gradus/autograd/checkpoint.hpp"
#include "gradus/autograd/dtype.hpp"
#include "gradus/autograd/error.hpp"
#include "gradus/autograd/functional.hpp"
#include "gradus/autograd/gradcheck.hpp"
#include "gradus/autograd/gradcheck_cases.hpp"
#include "gradus/autograd/gradcheck_matcher.hpp"
#include "gradus/autograd/graph.hpp"
#include "gradus/autograd/hooks.hpp"
#include "gradus/autograd/indexing.hpp"
#include "gradus/autograd/inline_function.hpp"
#include "gradus/autograd/op_names.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/print_numpy.hpp"
#include "gradus/autograd/profile.hpp"
#include "gradus/autograd/random.hpp"
#include "gradus/autograd/record.hpp"
#include "gradus/autograd/record_many.hpp"
#include "gradus/autograd/ref.hpp"
#include "gradus/autograd/shape.hpp"
#include "gradus/autograd/storage.hpp"
#include "gradus/autograd/tensor.hpp"
#include "gradus/autograd/torch_stream.hpp"
#include "gradus/nn/linear.hpp"
#include "gradus/train/adamw.hpp"

int main() {
  gradus::Generator g(1);
  gradus::nn::Linear layer(3, 2, true, g);
  gradus::train::AdamW optimizer(layer.named_parameters());
  const gradus::Tensor loss = sum(layer(gradus::zeros({2, 3})));
  loss.backward();
  optimizer.step(0.1);
  return layer.bias.grad().numel() == 2 ? 0 : 1;
}
