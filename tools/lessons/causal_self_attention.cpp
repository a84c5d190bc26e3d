// Notebook 000, "Causal self-attention": weights that see only the past, got in two ways; dropout; a layer.
#include <cmath>
#include <cstdio>

#include "gradus/autograd/random.hpp"
#include "gradus/nn/self_attention.hpp"
#include "gradus/tools/lessons/all.hpp"
#include "gradus/tools/lessons/notebook.hpp"

namespace gradus::tools {
namespace causal_self_attention {

using nn::Dropout;
using nn::Linear;
using nn::SelfAttention;

constexpr double kInf = std::numeric_limits<double>::infinity();

// f"{a:.4f}, {b:.4f}"
std::string four_digits(std::initializer_list<double> numbers) {
  std::string text;
  for (const double x : numbers) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.4f", x);
    text += (text.empty() ? "" : ", ") + std::string(digits);
  }
  return text;
}

SelfAttention causal_attention_v1(int64_t context_length) {
  Generator generator = Generator::torch_mkl(123);
  return {{.d_in = 3, .d_out = 2, .dropout = 0.0, .context_length = context_length}, generator};
}

void walk(LessonPage& page) {
  const Tensor inputs = journey();
  const int64_t d_in = inputs.size(-1), d_out = 2;

  page.say(
      "Self-attention without a mask. Queries, keys and values are three Linear layers of the same input; "
      "manual_seed(789) gives their weights. Scores are scaled by the square root of the keys' size.");
  Generator generator = Generator::torch_mkl(789);  // the notebook was run on a build with Intel's MKL
  const Linear W_query(d_in, d_out, false, generator);
  const Linear W_key(d_in, d_out, false, generator);
  const Linear W_value(d_in, d_out, false, generator);

  const Tensor queries = W_query(inputs);
  const Tensor keys = W_key(inputs);
  const Tensor values = W_value(inputs);

  const Tensor attn_scores = matmul(queries, keys.mT());
  const double root = std::sqrt(static_cast<double>(keys.size(-1)));
  const Tensor attn_weights = softmax(attn_scores / root, -1);
  page.print("In [816]", str(attn_weights), R"(
tensor([[0.1921, 0.1646, 0.1652, 0.1550, 0.1721, 0.1510],
        [0.2041, 0.1659, 0.1662, 0.1496, 0.1665, 0.1477],
        [0.2036, 0.1659, 0.1662, 0.1498, 0.1664, 0.1480],
        [0.1869, 0.1667, 0.1668, 0.1571, 0.1661, 0.1564],
        [0.1830, 0.1669, 0.1670, 0.1588, 0.1658, 0.1585],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529]],
       grad_fn=<SoftmaxBackward0>))");

  page.say("The first way: a lower triangle of ones, made of a square of ones by tril.");
  const int64_t context_length = attn_weights.size(0);
  const Tensor mask_step1 = ones({context_length, context_length});
  const Tensor mask_step2 = tril(mask_step1);
  page.print("In [817]",
             "Create Matrix with ones only:\n" + str(mask_step1) +
                 "\n\nApply the tril function to generate triangular Matrix:\n" + str(mask_step2),
             R"(
Create Matrix with ones only:
tensor([[1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1.]])

Apply the tril function to generate triangular Matrix:
tensor([[1., 0., 0., 0., 0., 0.],
        [1., 1., 0., 0., 0., 0.],
        [1., 1., 1., 0., 0., 0.],
        [1., 1., 1., 1., 0., 0.],
        [1., 1., 1., 1., 1., 0.],
        [1., 1., 1., 1., 1., 1.]]))");

  page.say("The same in one line.");
  const Tensor mask_simple = tril(ones({context_length, context_length}));
  page.print("In [818]", str(mask_simple), R"(
tensor([[1., 0., 0., 0., 0., 0.],
        [1., 1., 0., 0., 0., 0.],
        [1., 1., 1., 0., 0., 0.],
        [1., 1., 1., 1., 0., 0.],
        [1., 1., 1., 1., 1., 0.],
        [1., 1., 1., 1., 1., 1.]]))");

  page.say("Times the triangle, all weights above the diagonal are 0: no token looks ahead.");
  const Tensor masked_attn_weights = attn_weights * mask_simple;
  page.print("In [819]", str(masked_attn_weights), R"(
tensor([[0.1921, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.2041, 0.1659, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.2036, 0.1659, 0.1662, 0.0000, 0.0000, 0.0000],
        [0.1869, 0.1667, 0.1668, 0.1571, 0.0000, 0.0000],
        [0.1830, 0.1669, 0.1670, 0.1588, 0.1658, 0.0000],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529]],
       grad_fn=<MulBackward0>))");

  page.say("Rows no longer add up to 1, so each is divided by what is left of it.");
  const Tensor sum_rows = sum(masked_attn_weights, {1}, /*keepdim=*/true);
  const Tensor masked_attn_weights_norm = masked_attn_weights / sum_rows;
  page.print("In [820]",
             "aquiring the remaining sum of each row in the masked matrix:\n" + str(sum_rows) +
                 "\n\ndeviding the masked attention weights matrix by the sum of its rows:\n" +
                 str(masked_attn_weights_norm),
             R"(
aquiring the remaining sum of each row in the masked matrix:
tensor([[0.1921],
        [0.3700],
        [0.5357],
        [0.6775],
        [0.8415],
        [1.0000]], grad_fn=<SumBackward1>)

deviding the masked attention weights matrix by the sum of its rows:
tensor([[1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000],
        [0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000],
        [0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529]],
       grad_fn=<DivBackward0>))");

  page.say("Two rows by hand, from the rounded numbers above.");
  page.print("In [821]",
             "Example calculation for rows 2 and 3\n" + four_digits({0.2041 / 0.37, 0.1659 / 0.37}) + "\n" +
                 four_digits({0.2036 / 0.5357, 0.1659 / 0.5357, 0.1662 / 0.5357}),
             R"(
Example calculation for rows 2 and 3
0.5516, 0.4484
0.3801, 0.3097, 0.3102)");

  page.say("The second way starts before the softmax, from the scores.");
  page.print("In [822]", str(attn_scores), R"(
tensor([[ 0.2899,  0.0716,  0.0760, -0.0138,  0.1344, -0.0511],
        [ 0.4656,  0.1723,  0.1751,  0.0259,  0.1771,  0.0085],
        [ 0.4594,  0.1703,  0.1731,  0.0259,  0.1745,  0.0090],
        [ 0.2642,  0.1024,  0.1036,  0.0186,  0.0973,  0.0122],
        [ 0.2183,  0.0874,  0.0882,  0.0177,  0.0786,  0.0144],
        [ 0.3408,  0.1270,  0.1290,  0.0198,  0.1290,  0.0078]],
       grad_fn=<MmBackward0>))");

  page.say("The mask is the upper triangle now, with ones where the future is.");
  const Tensor mask = triu(ones({context_length, context_length}), /*diagonal=*/1);
  page.print("In [823]", str(mask), R"(
tensor([[0., 1., 1., 1., 1., 1.],
        [0., 0., 1., 1., 1., 1.],
        [0., 0., 0., 1., 1., 1.],
        [0., 0., 0., 0., 1., 1.],
        [0., 0., 0., 0., 0., 1.],
        [0., 0., 0., 0., 0., 0.]]))");

  page.say("A score of -inf has the weight e^-inf = 0.");
  const Tensor attn_scores_masked = masked_fill(attn_scores, mask.to(DType::boolean), -kInf);
  page.print("In [824]", str(attn_scores_masked), R"(
tensor([[0.2899,   -inf,   -inf,   -inf,   -inf,   -inf],
        [0.4656, 0.1723,   -inf,   -inf,   -inf,   -inf],
        [0.4594, 0.1703, 0.1731,   -inf,   -inf,   -inf],
        [0.2642, 0.1024, 0.1036, 0.0186,   -inf,   -inf],
        [0.2183, 0.0874, 0.0882, 0.0177, 0.0786,   -inf],
        [0.3408, 0.1270, 0.1290, 0.0198, 0.1290, 0.0078]],
       grad_fn=<MaskedFillBackward0>))");

  page.say("Scaled as before.");
  const Tensor attn_scores_masked_scaled = attn_scores_masked / root;
  page.print("In [825]", str(attn_scores_masked_scaled), R"(
tensor([[0.2050,   -inf,   -inf,   -inf,   -inf,   -inf],
        [0.3293, 0.1218,   -inf,   -inf,   -inf,   -inf],
        [0.3249, 0.1204, 0.1224,   -inf,   -inf,   -inf],
        [0.1868, 0.0724, 0.0733, 0.0132,   -inf,   -inf],
        [0.1544, 0.0618, 0.0624, 0.0125, 0.0556,   -inf],
        [0.2410, 0.0898, 0.0912, 0.0140, 0.0912, 0.0055]],
       grad_fn=<DivBackward0>))");

  page.say(
      "The softmax makes the rows add up to 1 by itself: the same weights as the first way, in one step.");
  const Tensor attn_weights_masked = softmax(attn_scores_masked_scaled, 1);
  page.print("In [826]", str(attn_weights_masked), R"(
tensor([[1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000],
        [0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000],
        [0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529]],
       grad_fn=<SoftmaxBackward0>))");

  page.say("Dropout with p = 0.5 clears half of the ones and doubles the others, so that the mean stays.");
  const Dropout dropout(0.5);
  page.print("In [827]", str(dropout(ones({6, 6}), &generator)));

  page.say("The same on the attention weights, with the next mask of the generator.");
  const Tensor attn_weights_do = dropout(attn_weights_masked, &generator);
  page.print("In [828]", str(attn_weights_do));

  page.say("The context of a token is the sum of the values, each times its weight.");
  page.print("In [829]", str(matmul(attn_weights_do, values)));

  page.say("A batch holds several sequences; here the same one twice.");
  const Tensor batch = stack({inputs, inputs}, 0);
  page.print("In [830]", torch_size(batch) + "\n" + str(batch), R"(
torch.Size([2, 6, 3])
tensor([[[0.4300, 0.1500, 0.8900],
         [0.5500, 0.8700, 0.6600],
         [0.5700, 0.8500, 0.6400],
         [0.2200, 0.5800, 0.3300],
         [0.7700, 0.2500, 0.1000],
         [0.0500, 0.8000, 0.5500]],

        [[0.4300, 0.1500, 0.8900],
         [0.5500, 0.8700, 0.6600],
         [0.5700, 0.8500, 0.6400],
         [0.2200, 0.5800, 0.3300],
         [0.7700, 0.2500, 0.1000],
         [0.0500, 0.8000, 0.5500]]]))");

  page.say("All of it as a layer: SelfAttention masks scores with -inf unless it is told otherwise.");
  const Tensor context_vecs = causal_attention_v1(batch.size(1))(batch);
  page.print("In [832]", torch_size(context_vecs) + "\n" + str(context_vecs), R"(
torch.Size([2, 6, 2])
tensor([[[-0.4519,  0.2216],
         [-0.5874,  0.0058],
         [-0.6300, -0.0632],
         [-0.5675, -0.0843],
         [-0.5526, -0.0981],
         [-0.5299, -0.1081]],

        [[-0.4519,  0.2216],
         [-0.5874,  0.0058],
         [-0.6300, -0.0632],
         [-0.5675, -0.0843],
         [-0.5526, -0.0981],
         [-0.5299, -0.1081]]], grad_fn=<UnsafeViewBackward0>))");
}

Tensor attention(const Tensor& x) { return causal_attention_v1(6)(x); }

}  // namespace causal_self_attention

const Lesson kCausalSelfAttention = {"causal-self-attention",
                                     "000",
                                     "Two ways to a causal mask, dropout, a batched layer",
                                     "causal_self_attention",
                                     causal_self_attention::walk,
                                     journey,
                                     causal_self_attention::attention};

}  // namespace gradus::tools
