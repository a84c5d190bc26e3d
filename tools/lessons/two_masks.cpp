// Notebook 001, "Causal attention V1 and V2": mask the weights and renormalise, or mask the scores.
#include <cmath>

#include "gradus/autograd/random.hpp"
#include "gradus/nn/self_attention.hpp"
#include "gradus/tools/lessons/all.hpp"
#include "gradus/tools/lessons/notebook.hpp"

namespace gradus::tools {
namespace two_masks {

using nn::MaskOn;
using nn::SelfAttention;

constexpr double kInf = std::numeric_limits<double>::infinity();

SelfAttention self_attention_v2(MaskOn mask_on) {
  Generator generator = Generator::torch(123);
  return {{.d_in = 3, .d_out = 2, .mask_on = mask_on}, generator};
}

void walk(LessonPage& page) {
  page.say("Self-attention without a mask, as a layer, from manual_seed(123).");
  const Tensor inputs = journey();
  const SelfAttention layer = self_attention_v2(MaskOn::nothing);
  page.print("In [2]", str(layer(inputs)), R"(
tensor([[-0.5337, -0.1051],
        [-0.5323, -0.1080],
        [-0.5323, -0.1079],
        [-0.5297, -0.1076],
        [-0.5311, -0.1066],
        [-0.5299, -0.1081]], grad_fn=<MmBackward0>))");

  page.say("V1, step 1: the softmax of the scaled scores.");
  const Tensor queries = layer.W_query(inputs);
  const Tensor keys = layer.W_key(inputs);
  const Tensor attention_scores = matmul(queries, keys.mT());
  const double root = std::sqrt(static_cast<double>(keys.size(-1)));
  const Tensor attention_weights = softmax(attention_scores / root, -1);
  page.print(
      "In [12]",
      "Attention Scores:\n" + str(attention_scores) + "\n\nAttention Weights:\n" + str(attention_weights),
      R"(
Attention Scores:
tensor([[0.3111, 0.3479, 0.3471, 0.1714, 0.2350, 0.1928],
        [0.1655, 0.2602, 0.2576, 0.1445, 0.1384, 0.1790],
        [0.1667, 0.2602, 0.2577, 0.1443, 0.1391, 0.1784],
        [0.0510, 0.1080, 0.1064, 0.0643, 0.0476, 0.0835],
        [0.1415, 0.1875, 0.1863, 0.0987, 0.1121, 0.1174],
        [0.0476, 0.1192, 0.1171, 0.0731, 0.0477, 0.0966]],
       grad_fn=<MmBackward0>)

Attention Weights:
tensor([[0.1717, 0.1762, 0.1761, 0.1555, 0.1627, 0.1579],
        [0.1636, 0.1749, 0.1746, 0.1612, 0.1605, 0.1652],
        [0.1637, 0.1749, 0.1746, 0.1611, 0.1606, 0.1651],
        [0.1636, 0.1704, 0.1702, 0.1652, 0.1632, 0.1674],
        [0.1667, 0.1722, 0.1721, 0.1618, 0.1633, 0.1639],
        [0.1624, 0.1709, 0.1706, 0.1654, 0.1625, 0.1682]],
       grad_fn=<SoftmaxBackward0>))");

  page.say("V1, step 2: a mask of ones and zeros, made by tril,");
  const int64_t context_length = attention_scores.size(0);
  const Tensor mask_simple = tril(ones({context_length, context_length}));
  page.print("In [None]", str(mask_simple), R"(
tensor([[1., 0., 0., 0., 0., 0.],
        [1., 1., 0., 0., 0., 0.],
        [1., 1., 1., 0., 0., 0.],
        [1., 1., 1., 1., 0., 0.],
        [1., 1., 1., 1., 1., 0.],
        [1., 1., 1., 1., 1., 1.]]))");

  page.say("times the weights.");
  const Tensor masked_simple = attention_weights * mask_simple;
  page.print("In [5]", str(masked_simple), R"(
tensor([[0.1717, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.1636, 0.1749, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.1637, 0.1749, 0.1746, 0.0000, 0.0000, 0.0000],
        [0.1636, 0.1704, 0.1702, 0.1652, 0.0000, 0.0000],
        [0.1667, 0.1722, 0.1721, 0.1618, 0.1633, 0.0000],
        [0.1624, 0.1709, 0.1706, 0.1654, 0.1625, 0.1682]],
       grad_fn=<MulBackward0>))");

  page.say("V1, step 3: each row divided by its sum.");
  const Tensor row_sums = sum(masked_simple, {-1}, /*keepdim=*/true);
  const Tensor masked_simple_norm = masked_simple / row_sums;
  page.print("In [6]", str(masked_simple_norm), R"(
tensor([[1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.4833, 0.5167, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.3190, 0.3408, 0.3402, 0.0000, 0.0000, 0.0000],
        [0.2445, 0.2545, 0.2542, 0.2468, 0.0000, 0.0000],
        [0.1994, 0.2060, 0.2058, 0.1935, 0.1953, 0.0000],
        [0.1624, 0.1709, 0.1706, 0.1654, 0.1625, 0.1682]],
       grad_fn=<DivBackward0>))");

  page.say("V2, step 1: scores of the future become -inf.");
  const Tensor mask = triu(ones({context_length, context_length}), /*diagonal=*/1);
  const Tensor masked = masked_fill(attention_scores, mask.to(DType::boolean), -kInf);
  page.print("In [17]", "Triangle Upper Mask:\n" + str(mask) + "\n\nMasked Attention Scores:\n" + str(masked),
             R"(
Triangle Upper Mask:
tensor([[0., 1., 1., 1., 1., 1.],
        [0., 0., 1., 1., 1., 1.],
        [0., 0., 0., 1., 1., 1.],
        [0., 0., 0., 0., 1., 1.],
        [0., 0., 0., 0., 0., 1.],
        [0., 0., 0., 0., 0., 0.]])

Masked Attention Scores:
tensor([[0.3111,   -inf,   -inf,   -inf,   -inf,   -inf],
        [0.1655, 0.2602,   -inf,   -inf,   -inf,   -inf],
        [0.1667, 0.2602, 0.2577,   -inf,   -inf,   -inf],
        [0.0510, 0.1080, 0.1064, 0.0643,   -inf,   -inf],
        [0.1415, 0.1875, 0.1863, 0.0987, 0.1121,   -inf],
        [0.0476, 0.1192, 0.1171, 0.0731, 0.0477, 0.0966]],
       grad_fn=<MaskedFillBackward0>))");

  page.say("V2, step 2: the softmax. The weights are those of V1.");
  const Tensor causal_weights = softmax(masked / root, -1);
  page.print("In [13]", str(causal_weights), R"(
tensor([[1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.4833, 0.5167, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.3190, 0.3408, 0.3402, 0.0000, 0.0000, 0.0000],
        [0.2445, 0.2545, 0.2542, 0.2468, 0.0000, 0.0000],
        [0.1994, 0.2060, 0.2058, 0.1935, 0.1953, 0.0000],
        [0.1624, 0.1709, 0.1706, 0.1654, 0.1625, 0.1682]],
       grad_fn=<SoftmaxBackward0>))");

  page.say("The context vectors. The last token sees all, so its row is that of the layer without a mask.");
  page.print("In [15]", str(matmul(causal_weights, layer.W_value(inputs))), R"(
tensor([[-0.4519,  0.2216],
        [-0.5874,  0.0058],
        [-0.6300, -0.0632],
        [-0.5675, -0.0843],
        [-0.5526, -0.0981],
        [-0.5299, -0.1081]], grad_fn=<MmBackward0>))");
}

Tensor attention(const Tensor& x) { return self_attention_v2(MaskOn::scores)(x); }

}  // namespace two_masks

const Lesson kTwoMasks = {
    "two-masks",         "001",           "Mask the weights and renormalise, or mask the scores",
    "two_masks",         two_masks::walk, journey,
    two_masks::attention};

}  // namespace gradus::tools
