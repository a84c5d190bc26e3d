// Notebook 000, "Causal self-attention": two ways to causal weights, dropout, and a layer.
#include <iomanip>

#include "gradus/annexes/teach/lessons.hpp"

namespace gradus::teach {
namespace causal_self_attention {

// f"{a:.4f}, {b:.4f}"
std::string four_digits(std::initializer_list<double> numbers) {
  return joined(numbers, ", ", [](double x) { return concat(std::fixed, std::setprecision(4), x); });
}

SelfAttention causal_attention_v1(int64_t context_length) {
  Generator generator = Generator::torch_mkl(123);
  return {/*d_in=*/3, /*d_out=*/2, generator, {.dropout = 0.0, .context_length = context_length}};
}

void walk(LessonPage& page) {
  const Tensor inputs = journey();
  const int64_t d_in = inputs.size(-1), d_out = 2;

  page.say(
      "This is self-attention without a mask. Queries, keys and values are three Linear layers of the same "
      "input; manual_seed(789) gives their weights. Scores are scaled by the square root of the keys' size.");
  Generator generator = Generator::torch_mkl(789);  // the notebook was run on a build with Intel's MKL
  const Linear W_query(d_in, d_out, generator, {.bias = false});
  const Linear W_key(d_in, d_out, generator, {.bias = false});
  const Linear W_value(d_in, d_out, generator, {.bias = false});

  const Tensor queries = W_query(inputs);
  const Tensor keys = W_key(inputs);
  const Tensor values = W_value(inputs);

  const Tensor attn_scores = matmul(queries, keys.mT());
  const double root = std::sqrt(static_cast<double>(keys.size(-1)));
  const Tensor attn_weights = softmax(attn_scores / root, -1);
  page.print("In [816]", attn_weights);

  page.say("The first way uses a lower triangle of ones: tril clears the rest of a square of ones.");
  const int64_t context_length = attn_weights.size(0);
  const Tensor mask_step1 = ones({context_length, context_length});
  const Tensor mask_step2 = tril(mask_step1);
  page.print("In [817]", "Create Matrix with ones only:\n", mask_step1,
             "\n\nApply the tril function to generate triangular Matrix:\n", mask_step2);

  page.say("One line does the same.");
  const Tensor mask_simple = tril(ones({context_length, context_length}));
  page.print("In [818]", mask_simple);

  page.say("The product with the triangle has 0 above the diagonal: no token sees a later one.");
  const Tensor masked_attn_weights = attn_weights * mask_simple;
  page.print("In [819]", masked_attn_weights);

  page.say("The rows no longer add up to 1, so each row is divided by its sum.");
  const Tensor sum_rows = sum(masked_attn_weights, {1}, /*keepdim=*/true);
  const Tensor masked_attn_weights_norm = masked_attn_weights / sum_rows;
  page.print("In [820]", "aquiring the remaining sum of each row in the masked matrix:\n", sum_rows,
             "\n\ndeviding the masked attention weights matrix by the sum of its rows:\n",
             masked_attn_weights_norm);

  page.say("This computes two rows by hand from the rounded numbers above.");
  page.print("In [821]", "Example calculation for rows 2 and 3\n" +
                             four_digits({0.2041 / 0.37, 0.1659 / 0.37}) + "\n" +
                             four_digits({0.2036 / 0.5357, 0.1659 / 0.5357, 0.1662 / 0.5357}));

  page.say("The second way starts before the softmax, from the scores.");
  page.print("In [822]", attn_scores);

  page.say("The mask is the upper triangle now, with ones where the future is.");
  const Tensor mask = triu(ones({context_length, context_length}), /*diagonal=*/1);
  page.print("In [823]", mask);

  page.say("A score of -inf has the weight e^-inf = 0.");
  const Tensor attn_scores_masked = masked_fill(attn_scores, mask.to(DType::boolean), -kInf);
  page.print("In [824]", attn_scores_masked);

  page.say("The scores are scaled as before.");
  const Tensor attn_scores_masked_scaled = attn_scores_masked / root;
  page.print("In [825]", attn_scores_masked_scaled);

  page.say(
      "The softmax makes the rows add up to 1 by itself: the same weights as the first way, in one step.");
  const Tensor attn_weights_masked = softmax(attn_scores_masked_scaled, 1);
  page.print("In [826]", attn_weights_masked);

  page.say(
      "Dropout with p = 0.5 clears half of the ones and doubles the others, so that the mean stays the "
      "same.");
  const Dropout dropout(0.5);
  page.print("In [827]", dropout(ones({6, 6}), &generator));

  page.say("Dropout acts on the attention weights in the same way, with the next mask of the generator.");
  const Tensor attn_weights_do = dropout(attn_weights_masked, &generator);
  page.print("In [828]", attn_weights_do);

  page.say("The context of a token is the sum of the values, each times its weight.");
  page.print("In [829]", matmul(attn_weights_do, values));

  page.say("A batch holds several sequences. This one holds the same sequence twice.");
  const Tensor batch = stack({inputs, inputs}, 0);
  page.print("In [830]", torch_size(batch), "\n", batch);

  page.say("The layer SelfAttention does all of this: by default it masks scores with -inf.");
  const Tensor context_vecs = causal_attention_v1(batch.size(1))(batch);
  page.print("In [832]", torch_size(context_vecs), "\n", context_vecs);
}

Laboratory laboratory() {
  Generator generator = Generator::torch_mkl(789);
  Laboratory all = {SelfAttention(3, 2, generator), journey_words(), journey()};
  const Dropout dropout(0.5);
  dropout(ones({6, 6}), &generator);  // the mask of In [827]
  all.dropout = dropout(ones({6, 6}), &generator);
  return all;
}

Tensor attention(const Tensor& x) { return causal_attention_v1(6)(x); }

}  // namespace causal_self_attention

extern const Lesson kCausalSelfAttention{"causal-self-attention",
                                         "000",
                                         "Two ways to a causal mask, dropout, a batched layer",
                                         causal_self_attention::walk,
                                         causal_self_attention::laboratory,
                                         causal_self_attention::attention};

}  // namespace gradus::teach
