// Notebook 001, "Causal attention V1 and V2": mask the weights and renormalise, or mask the scores.
#include "gradus/annexes/teach/lessons.hpp"

namespace gradus::teach {
namespace two_masks {

SelfAttention self_attention_v2(MaskOn mask_on) {
  Generator generator = Generator::torch(123);
  return {/*d_in=*/3, /*d_out=*/2, generator, {.mask_on = mask_on}};
}

void walk(LessonPage& page) {
  page.say("The layer has no mask yet; its weights come from manual_seed(123).");
  const Tensor inputs = journey();
  const SelfAttention layer = self_attention_v2(MaskOn::nothing);
  page.print("In [2]", layer(inputs));

  page.say("V1, step 1: take the softmax of the scaled scores.");
  const Tensor queries = layer.W_query(inputs);
  const Tensor keys = layer.W_key(inputs);
  const Tensor attention_scores = matmul(queries, keys.mT());
  const double root = std::sqrt(static_cast<double>(keys.size(-1)));
  const Tensor attention_weights = softmax(attention_scores / root, -1);
  page.print("In [12]", "Attention Scores:\n", attention_scores, "\n\nAttention Weights:\n",
             attention_weights);

  page.say("V1, step 2: make a mask of ones and zeros with tril,");
  const int64_t context_length = attention_scores.size(0);
  const Tensor mask_simple = tril(ones({context_length, context_length}));
  page.print("In [None]", mask_simple);

  page.say("and multiply the weights by it.");
  const Tensor masked_simple = attention_weights * mask_simple;
  page.print("In [5]", masked_simple);

  page.say("V1, step 3: divide each row by its sum.");
  const Tensor row_sums = sum(masked_simple, {-1}, /*keepdim=*/true);
  const Tensor masked_simple_norm = masked_simple / row_sums;
  page.print("In [6]", masked_simple_norm);

  page.say("V2, step 1: set the scores of later tokens to -inf.");
  const Tensor mask = triu(ones({context_length, context_length}), /*diagonal=*/1);
  const Tensor masked = masked_fill(attention_scores, mask.to(DType::boolean), -kInf);
  page.print("In [17]", "Triangle Upper Mask:\n", mask, "\n\nMasked Attention Scores:\n", masked);

  page.say("V2, step 2: take the softmax. The weights are the same as in V1.");
  const Tensor causal_weights = softmax(masked / root, -1);
  page.print("In [13]", causal_weights);

  page.say(
      "These are the context vectors. The last token sees all tokens, so its row equals that of the layer "
      "without a mask.");
  page.print("In [15]", matmul(causal_weights, layer.W_value(inputs)));
}

Laboratory laboratory() { return {self_attention_v2(MaskOn::scores), journey_words(), journey()}; }

Tensor attention(const Tensor& x) { return self_attention_v2(MaskOn::scores)(x); }

}  // namespace two_masks

extern const Lesson kTwoMasks{"two-masks",
                              "001",
                              "Mask the weights and renormalise, or mask the scores",
                              two_masks::walk,
                              two_masks::laboratory,
                              two_masks::attention};

}  // namespace gradus::teach
