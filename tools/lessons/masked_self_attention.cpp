// Notebook 002, "Self-attention vs masked self-attention": a mask that the caller hands in, -1e9, named dims.
#include <cmath>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/random.hpp"
#include "gradus/nn/self_attention.hpp"
#include "gradus/tools/lessons/all.hpp"
#include "gradus/tools/lessons/notebook.hpp"

namespace gradus::tools {
namespace masked_self_attention {

using nn::SelfAttention;

constexpr int kRowDim = 0, kColDim = 1;

Tensor encodings() {
  return tensor(std::vector<double>{1.16, 0.23,  //
                                    0.57, 1.36,  //
                                    4.41, -2.16},
                {3, 2})
      .to(DType::float32);
}

SelfAttention masked_self_attention() {
  Generator generator = Generator::torch(42);
  return {{.d_in = 2, .d_out = 2, .fill = -1e9, .row_dim = kRowDim, .col_dim = kColDim}, generator};
}

// (a, b) at the prompt: the second line on is moved to the right by the bracket.
std::string pair(const Tensor& a, const Tensor& b) {
  const auto moved = [](const Tensor& x) {
    std::string text;
    for (const char c : str(x)) text += c == '\n' ? "\n " : std::string(1, c);
    return text;
  };
  return concat("(", moved(a), ",\n ", moved(b), ")");
}

void walk(LessonPage& page) {
  const Tensor encodings_matrix = encodings();

  page.say(
      "The layer does not make its mask: the caller does. Where a triangle of ones is 0, a token is hidden.");
  const SelfAttention layer = masked_self_attention();
  Tensor mask = tril(ones({3, 3}));
  page.print("In [None]", str(mask), R"(
tensor([[1., 0., 0.],
        [1., 1., 0.],
        [1., 1., 1.]]))");
  mask = eq(mask, 0);
  page.print("In [None]", str(mask), R"(
tensor([[False,  True,  True],
        [False, False,  True],
        [False, False, False]]))");

  page.say("The layer from manual_seed(42), called with that mask.");
  page.print("In [6]", str(layer(encodings_matrix, mask)), R"(
tensor([[ 0.6038,  0.7434],
        [-0.0062,  0.6072],
        [ 3.4989,  2.2427]], grad_fn=<MmBackward0>))");

  page.say("What it did, step by step. A Linear keeps its weight as (out, in); turned round it reads x @ W.");
  page.print("In [8]",
             str(layer.W_query.weight.transpose(0, 1)) + "\n" + str(layer.W_key.weight.transpose(0, 1)) +
                 "\n" + str(layer.W_value.weight.transpose(0, 1)),
             R"(
tensor([[ 0.5406, -0.1657],
        [ 0.5869,  0.6496]], grad_fn=<TransposeBackward0>)
tensor([[-0.1549, -0.3443],
        [ 0.1427,  0.4153]], grad_fn=<TransposeBackward0>)
tensor([[ 0.6233,  0.6146],
        [-0.5188,  0.1323]], grad_fn=<TransposeBackward0>))");

  page.say("Queries, keys and values.");
  const Tensor q = layer.W_query(encodings_matrix);
  const Tensor k = layer.W_key(encodings_matrix);
  const Tensor v = layer.W_value(encodings_matrix);
  page.print("In [9]", str(q) + "\n" + str(k) + "\n" + str(v), R"(
tensor([[ 0.7621, -0.0428],
        [ 1.1063,  0.7890],
        [ 1.1164, -2.1336]], grad_fn=<MmBackward0>)
tensor([[-0.1469, -0.3038],
        [ 0.1057,  0.3685],
        [-0.9914, -2.4152]], grad_fn=<MmBackward0>)
tensor([[ 0.6038,  0.7434],
        [-0.3502,  0.5303],
        [ 3.8695,  2.4246]], grad_fn=<MmBackward0>))");
  page.print("In [10]", pair(q, k), R"(
(tensor([[ 0.7621, -0.0428],
         [ 1.1063,  0.7890],
         [ 1.1164, -2.1336]], grad_fn=<MmBackward0>),
 tensor([[-0.1469, -0.3038],
         [ 0.1057,  0.3685],
         [-0.9914, -2.4152]], grad_fn=<MmBackward0>)))");

  page.say("How similar each query is to each key.");
  const Tensor sims = matmul(q, k.transpose(kRowDim, kColDim));
  page.print("In [11]", str(sims), R"(
tensor([[-0.0990,  0.0648, -0.6523],
        [-0.4022,  0.4078, -3.0024],
        [ 0.4842, -0.6683,  4.0461]], grad_fn=<MmBackward0>))");

  page.say("Scaled by the square root of the keys' size.");
  const Tensor scaled_sims = sims / std::sqrt(2.0);
  page.print("In [13]", str(scaled_sims), R"(
tensor([[-0.0700,  0.0458, -0.4612],
        [-0.2844,  0.2883, -2.1230],
        [ 0.3424, -0.4725,  2.8610]], grad_fn=<DivBackward0>))");

  page.say(
      "Hidden ones get -1e9: e^-1e9 is 0 as well, and a row with nothing but hidden tokens stays a number.");
  const Tensor masked_scaled_sims = masked_fill(scaled_sims, mask, -1e9);
  page.print("In [14]", str(masked_scaled_sims), R"(
tensor([[-6.9975e-02, -1.0000e+09, -1.0000e+09],
        [-2.8442e-01,  2.8833e-01, -1.0000e+09],
        [ 3.4241e-01, -4.7253e-01,  2.8610e+00]],
       grad_fn=<MaskedFillBackward0>))");

  page.say("Rows of weights,");
  const Tensor attention_percents = softmax(masked_scaled_sims, kColDim);
  page.print("In [15]", str(attention_percents), R"(
tensor([[1.0000, 0.0000, 0.0000],
        [0.3606, 0.6394, 0.0000],
        [0.0722, 0.0320, 0.8959]], grad_fn=<SoftmaxBackward0>))");

  page.say("and the sum of the values by these weights: what the layer gave.");
  page.print("In [16]", str(matmul(attention_percents, v)), R"(
tensor([[ 0.6038,  0.7434],
        [-0.0062,  0.6072],
        [ 3.4989,  2.2427]], grad_fn=<MmBackward0>))");
}

Tensor attention(const Tensor& x) { return masked_self_attention()(x); }

}  // namespace masked_self_attention

const Lesson kMaskedSelfAttention = {"masked-self-attention",
                                     "002",
                                     "A mask handed in, filled with -1e9, along dims of the caller's choice",
                                     "masked_self_attention",
                                     masked_self_attention::walk,
                                     masked_self_attention::encodings,
                                     masked_self_attention::attention};

}  // namespace gradus::tools
