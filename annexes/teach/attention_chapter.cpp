// Notebook 004, "Attention": one context vector, self-attention, causal attention, dropout, several heads.
#include "gradus/annexes/teach/lessons.hpp"

namespace gradus::teach {
namespace attention_chapter {

void one_context_vector(LessonPage& page, const Tensor& inputs) {
  page.say(
      "This computes one context vector, that of 'journey'. The weights are plain matrices from rand, used "
      "as x @ W, not Linear layers.");
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
  page.print("In [16]", "Context Vector for journey: ", context_vec_2);
}

void masked_attention(LessonPage& page, const Tensor& inputs) {
  page.say(
      "This computes all queries at once, with Linear layers from manual_seed(789). NumPy prints eight "
      "digits.");
  Generator generator = Generator::torch(789);
  const SelfAttention self_attention(/*d_in=*/3, /*d_out=*/2, generator, {.mask_on = MaskOn::nothing});
  page.print("In [27]", "Context Matrix for all words:\n ", numpy(self_attention(inputs)));

  page.say("These are the attention weights inside the layer.");
  const Tensor query = self_attention.W_query(inputs);
  const Tensor keys = self_attention.W_key(inputs);
  const Tensor att_score = matmul(query, keys.mT());
  const double root = std::sqrt(static_cast<double>(keys.size(-1)));
  const Tensor att_weight = softmax(att_score / root, -1);
  page.print("In [30]", "Attention Weight Matrix for all words:\n ", numpy(att_weight));

  page.say("Simple masked attention makes a triangle of ones,");
  const int64_t context_length = 6;
  const Tensor mask_ones = tril(ones({context_length, context_length}));
  page.print("In [36]", "Simple Mask: \n ", numpy(mask_ones));

  page.say("multiplies the weights by it,");
  const Tensor mask_attn = att_weight * mask_ones;
  page.print("In [38]", "Masked Attention-Weights: \n ", numpy(mask_attn));

  page.say("divides each row by its sum,");
  const Tensor row_sums = sum(mask_attn, {-1}, /*keepdim=*/true);
  const Tensor mask_normalized_attn = mask_attn / row_sums;
  page.print("In [39]", "Normalized Masked Attention-Weights: \n ", numpy(mask_normalized_attn));

  page.say("and adds up the values with these weights.");
  const Tensor values = self_attention.W_value(inputs);
  page.print("In [41]", "Context Matrix from SMA: \n ", numpy(matmul(mask_normalized_attn, values)));

  page.say("Negative infinity masked attention sets the scores above the diagonal to -inf,");
  const Tensor mask = triu(ones({context_length, context_length}), /*diagonal=*/1);
  const Tensor masked = masked_fill(att_score, mask.to(DType::boolean), -kInf);
  page.print("In [43]", "Masked Attention Scores: \n ", numpy(masked));

  page.say(
      "then takes the softmax. The two ways differ in the last digits because they round at different "
      "steps.");
  const Tensor att_weight_2 = softmax(masked / root, -1);
  page.print("In [44]", "Normalized Masked Attention-Weights: \n ", numpy(att_weight_2));

  page.say("The context is the same.");
  page.print("In [46]", "Context Matrix from -inf mask: \n ", matmul(att_weight_2, values));

  page.say(
      "Dropout acts on the weights. (The notebook's mask depends on cells that were run more than once.)");
  const Dropout dropout(0.5);
  page.print("In [51]", "Dropout applied to -inf Attention-Weights: \n ",
             numpy(dropout(att_weight_2, &generator)));
}

void layers(LessonPage& page, const Tensor& inputs) {
  page.say(
      "This is a layer of causal attention with dropout on a batch, with weights from manual_seed(123).");
  const Tensor batch = stack({inputs, inputs}, 0);
  const int64_t context_length = batch.size(1);
  Generator generator = Generator::torch(123);
  const SelfAttention ca(3, 2, generator, {.dropout = 0.5, .context_length = context_length});
  const Tensor context_vecs = ca(batch, &generator);
  page.print("In [62]", "Batched Context Matrices: \n\n ", numpy(context_vecs));

  page.say(
      "Several heads: queries, keys and values are cut into num_heads parts, each attends by itself, and a "
      "last Linear mixes their outputs. The generator continues from the cell before.");
  const SelfAttention multi(
      3, 2, generator,
      {.dropout = 0.2, .num_heads = 2, .projection = true, .context_length = context_length});
  const Tensor context_vec = multi(batch, &generator);
  page.print("In [64]", "First head Context Matrix: \n", numpy(context_vec.select(0, 0)),
             "\n\nSecond head Context Matrix: \n", numpy(context_vec.select(0, 1)));
}

void walk(LessonPage& page) {
  const Tensor inputs = journey();
  one_context_vector(page, inputs);
  masked_attention(page, inputs);
  layers(page, inputs);
}

Laboratory laboratory() {
  Generator generator = Generator::torch(789);
  Laboratory all = {SelfAttention(3, 2, generator), journey_words(), journey()};
  all.dropout = Dropout(0.5)(ones({6, 6}), &generator);  // the mask of In [51]
  return all;
}

Tensor attention(const Tensor& x) {
  Generator generator = Generator::torch(123);
  SelfAttention multi(3, 2, generator, {.dropout = 0.2, .num_heads = 2, .projection = true});
  multi.eval();
  return multi(x);
}

}  // namespace attention_chapter

extern const Lesson kAttentionChapter{"attention-chapter",
                                      "004",
                                      "One context vector, causal attention, dropout, several heads",
                                      attention_chapter::walk,
                                      attention_chapter::laboratory,
                                      attention_chapter::attention};

}  // namespace gradus::teach
