// Notebook 004, "Attention": one context vector, self-attention, causal attention, dropout, several heads.
#include <cmath>

#include "gradus/autograd/random.hpp"
#include "gradus/nn/self_attention.hpp"
#include "gradus/tools/lessons/all.hpp"
#include "gradus/tools/lessons/notebook.hpp"

namespace gradus::tools {
namespace attention_chapter {

using nn::Dropout;
using nn::MaskOn;
using nn::SelfAttention;

constexpr double kInf = std::numeric_limits<double>::infinity();

void one_context_vector(LessonPage& page, const Tensor& inputs) {
  page.say(
      "One query only: the context vector of 'journey'. The weights are plain matrices from rand, used as "
      "x @ W, not Linear layers.");
  const int64_t d_in = inputs.size(1), d_out = 2;
  Generator generator = Generator::torch(123);
  const Tensor W_query = rand({d_in, d_out}, generator);
  const Tensor W_key = rand({d_in, d_out}, generator);
  const Tensor W_value = rand({d_in, d_out}, generator);

  const Tensor x_2 = inputs.select(0, 1);
  const Tensor query_2 = matmul(x_2, W_query);
  const Tensor keys = matmul(inputs, W_key);
  const Tensor values = matmul(inputs, W_value);
  const Tensor attn_scores_2 = matmul(query_2, keys.mT());
  const double d_k = static_cast<double>(keys.size(-1));
  const Tensor attn_weights_2 = softmax(attn_scores_2 / std::sqrt(d_k), -1);
  const Tensor context_vec_2 = matmul(attn_weights_2, values);
  page.print("In [16]", "Context Vector for journey: " + str(context_vec_2), R"(
Context Vector for journey: tensor([0.3061, 0.8210]))");
}

void masked_attention(LessonPage& page, const Tensor& inputs) {
  page.say("All queries at once, with Linear layers from manual_seed(789). NumPy prints eight digits.");
  Generator generator = Generator::torch(789);
  const SelfAttention self_attention({.d_in = 3, .d_out = 2, .mask_on = MaskOn::nothing}, generator);
  page.print("In [27]", "Context Matrix for all words:\n " + numpy_string(self_attention(inputs).detach()),
             R"(
Context Matrix for all words:
 [[-0.07389025  0.07128991]
 [-0.07481073  0.0703093 ]
 [-0.07485619  0.07024166]
 [-0.07600163  0.06845011]
 [-0.07632761  0.06794281]
 [-0.07544428  0.06930492]])");

  page.say("The weights inside it.");
  const Tensor query = self_attention.W_query(inputs);
  const Tensor keys = self_attention.W_key(inputs);
  const Tensor att_score = matmul(query, keys.mT());
  const double root = std::sqrt(static_cast<double>(keys.size(-1)));
  const Tensor att_weight = softmax(att_score / root, -1);
  page.print("In [30]", "Attention Weight Matrix for all words:\n " + numpy_string(att_weight.detach()), R"(
Attention Weight Matrix for all words:
 [[0.19212602 0.1646463  0.16516064 0.15499417 0.17211477 0.15095802]
 [0.20412546 0.16588287 0.16621484 0.14957766 0.16645327 0.1477459 ]
 [0.20356156 0.16592424 0.16624875 0.14981547 0.16641727 0.14803267]
 [0.18688802 0.1666883  0.16683646 0.15710352 0.16609134 0.15639237]
 [0.18304484 0.16685854 0.16695702 0.1588405  0.16582507 0.15847409]
 [0.19347237 0.16633299 0.16656809 0.15418623 0.16656083 0.15287954]])");

  page.say("Simple masked attention: a triangle of ones,");
  const int64_t context_length = 6;
  const Tensor mask_ones = tril(ones({context_length, context_length}));
  page.print("In [36]", "Simple Mask: \n " + numpy_string(mask_ones), R"(
Simple Mask: 
 [[1. 0. 0. 0. 0. 0.]
 [1. 1. 0. 0. 0. 0.]
 [1. 1. 1. 0. 0. 0.]
 [1. 1. 1. 1. 0. 0.]
 [1. 1. 1. 1. 1. 0.]
 [1. 1. 1. 1. 1. 1.]])");

  page.say("times the weights,");
  const Tensor mask_attn = att_weight * mask_ones;
  page.print("In [38]", "Masked Attention-Weights: \n " + numpy_string(mask_attn.detach()), R"(
Masked Attention-Weights: 
 [[0.19212602 0.         0.         0.         0.         0.        ]
 [0.20412546 0.16588287 0.         0.         0.         0.        ]
 [0.20356156 0.16592424 0.16624875 0.         0.         0.        ]
 [0.18688802 0.1666883  0.16683646 0.15710352 0.         0.        ]
 [0.18304484 0.16685854 0.16695702 0.1588405  0.16582507 0.        ]
 [0.19347237 0.16633299 0.16656809 0.15418623 0.16656083 0.15287954]])");

  page.say("each row divided by its sum,");
  const Tensor row_sums = sum(mask_attn, {-1}, /*keepdim=*/true);
  const Tensor mask_normalized_attn = mask_attn / row_sums;
  page.print("In [39]",
             "Normalized Masked Attention-Weights: \n " + numpy_string(mask_normalized_attn.detach()), R"(
Normalized Masked Attention-Weights: 
 [[1.         0.         0.         0.         0.         0.        ]
 [0.551678   0.44832197 0.         0.         0.         0.        ]
 [0.3799672  0.30971354 0.31031927 0.         0.         0.        ]
 [0.27584285 0.24602847 0.24624716 0.23188154 0.         0.        ]
 [0.21751536 0.1982809  0.19839793 0.18875293 0.1970528  0.        ]
 [0.19347237 0.16633299 0.16656809 0.15418623 0.16656083 0.15287954]])");

  page.say("and the values added up by these weights.");
  const Tensor values = self_attention.W_value(inputs);
  page.print("In [41]",
             "Context Matrix from SMA: \n " + numpy_string(matmul(mask_normalized_attn, values).detach()), R"(
Context Matrix from SMA: 
 [[-0.08721808  0.02858998]
 [-0.09906914  0.05009485]
 [-0.09994501  0.06334987]
 [-0.0982549   0.04894815]
 [-0.05144592  0.10984372]
 [-0.07544428  0.06930492]])");

  page.say("Negative infinity masked attention: -inf above the diagonal of the scores,");
  const Tensor mask = triu(ones({context_length, context_length}), /*diagonal=*/1);
  const Tensor masked = masked_fill(att_score, mask.to(DType::boolean), -kInf);
  page.print("In [43]", "Masked Attention Scores: \n " + numpy_string(masked.detach()), R"(
Masked Attention Scores: 
 [[0.2899089        -inf       -inf       -inf       -inf       -inf]
 [0.4656424  0.17225963       -inf       -inf       -inf       -inf]
 [0.45943564 0.17031771 0.17308104       -inf       -inf       -inf]
 [0.26415503 0.10239156 0.10364803 0.01864095       -inf       -inf]
 [0.21828783 0.08735328 0.08818767 0.01770909 0.0785667        -inf]
 [0.34078205 0.12703359 0.12903105 0.01979299 0.12896936 0.00775672]])");

  page.say("then the softmax. In the last digits the two ways differ: they round at other places.");
  const Tensor att_weight_2 = softmax(masked / root, -1);
  page.print("In [44]", "Normalized Masked Attention-Weights: \n " + numpy_string(att_weight_2.detach()), R"(
Normalized Masked Attention-Weights: 
 [[1.         0.         0.         0.         0.         0.        ]
 [0.551678   0.44832197 0.         0.         0.         0.        ]
 [0.37996718 0.3097135  0.31031924 0.         0.         0.        ]
 [0.27584285 0.24602845 0.24624714 0.23188154 0.         0.        ]
 [0.2175154  0.19828095 0.19839796 0.18875296 0.19705284 0.        ]
 [0.19347237 0.16633299 0.16656809 0.15418623 0.16656083 0.15287954]])");

  page.say("The context is the same.");
  page.print("In [46]", "Context Matrix from -inf mask: \n " + str(matmul(att_weight_2, values)), R"(
Context Matrix from -inf mask: 
 tensor([[-0.0872,  0.0286],
        [-0.0991,  0.0501],
        [-0.0999,  0.0633],
        [-0.0983,  0.0489],
        [-0.0514,  0.1098],
        [-0.0754,  0.0693]], grad_fn=<MmBackward0>))");

  page.say(
      "Dropout on the weights. (The notebook's own mask depends on cells that were run more than once.)");
  const Dropout dropout(0.5);
  page.print("In [51]", "Dropout applied to -inf Attention-Weights: \n " +
                            numpy_string(dropout(att_weight_2, &generator).detach()));
}

void layers(LessonPage& page, const Tensor& inputs) {
  page.say("Causal attention with dropout as a layer, on a batch, from manual_seed(123).");
  const Tensor batch = stack({inputs, inputs}, 0);
  const int64_t context_length = batch.size(1);
  Generator generator = Generator::torch(123);
  const SelfAttention ca({.d_in = 3, .d_out = 2, .dropout = 0.5, .context_length = context_length},
                         generator);
  const Tensor context_vecs = ca(batch, &generator);
  page.print("In [62]", "Batched Context Matrices: \n\n " + numpy_string(context_vecs.detach()));

  page.say(
      "Several heads: queries, keys and values are cut into num_heads parts, each attends by itself, and a "
      "last "
      "Linear mixes what they found. The generator goes on from the cell before.");
  const SelfAttention multi({.d_in = 3,
                             .d_out = 2,
                             .dropout = 0.2,
                             .num_heads = 2,
                             .projection = true,
                             .context_length = context_length},
                            generator);
  const Tensor context_vec = multi(batch, &generator).detach();
  page.print("In [64]", "First head Context Matrix: \n" + numpy_string(context_vec.select(0, 0)) +
                            "\n\nSecond head Context Matrix: \n" + numpy_string(context_vec.select(0, 1)));
}

void walk(LessonPage& page) {
  const Tensor inputs = journey();
  one_context_vector(page, inputs);
  masked_attention(page, inputs);
  layers(page, inputs);
}

Tensor attention(const Tensor& x) {
  Generator generator = Generator::torch(123);
  SelfAttention multi({.d_in = 3, .d_out = 2, .dropout = 0.2, .num_heads = 2, .projection = true}, generator);
  multi.eval();
  return multi(x);
}

}  // namespace attention_chapter

const Lesson kAttentionChapter = {"attention-chapter",
                                  "004",
                                  "One context vector, causal attention, dropout, several heads",
                                  "attention_chapter",
                                  attention_chapter::walk,
                                  journey,
                                  attention_chapter::attention};

}  // namespace gradus::tools
