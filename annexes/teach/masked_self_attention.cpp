// Notebook 002, "Self-attention vs masked self-attention": a mask from the caller, -1e9, named dims.
#include "gradus/annexes/teach/lessons.hpp"

namespace gradus::teach {
namespace masked_self_attention {

constexpr int kRowDim = 0, kColDim = 1;

Tensor encodings() { return matrix({{1.16F, 0.23F}, {0.57F, 1.36F}, {4.41F, -2.16F}}); }

SelfAttention masked_self_attention() {
  Generator generator = Generator::torch(42);
  return {/*d_in=*/2, /*d_out=*/2, generator, {.fill = -1e9, .row_dim = kRowDim, .col_dim = kColDim}};
}

// In (a, b) at the prompt, the bracket moves the lines after the first to the right.
Printed in_brackets(const Tensor& x) {
  std::string text;
  for (const char c : torch_string(x)) text += c == '\n' ? "\n " : std::string(1, c);
  return {x, text};
}

void walk(LessonPage& page) {
  const Tensor encodings_matrix = encodings();

  page.say("The caller makes the mask, not the layer. A token is hidden where a triangle of ones is 0.");
  const SelfAttention layer = masked_self_attention();
  Tensor mask = tril(ones({3, 3}));
  page.print("In [None]", mask);
  mask = eq(mask, 0);
  page.print("In [None]", mask);

  page.say("The layer has weights from manual_seed(42) and is called with that mask.");
  page.print("In [6]", layer(encodings_matrix, mask));

  page.say(
      "These are its steps. A Linear stores its weight as (out, in); the notebook prints the transpose.");
  page.print("In [8]", layer.W_query.weight.transpose(0, 1), "\n", layer.W_key.weight.transpose(0, 1), "\n",
             layer.W_value.weight.transpose(0, 1));

  page.say("These are the queries, keys and values.");
  const Tensor q = layer.W_query(encodings_matrix);
  const Tensor k = layer.W_key(encodings_matrix);
  const Tensor v = layer.W_value(encodings_matrix);
  page.print("In [9]", q, "\n", k, "\n", v);
  page.print("In [10]", "(", in_brackets(q), ",\n ", in_brackets(k), ")");

  page.say("The scores say how similar each query is to each key.");
  const Tensor sims = matmul(q, k.transpose(kRowDim, kColDim));
  page.print("In [11]", sims);

  page.say("They are divided by the square root of the keys' size.");
  const Tensor scaled_sims = sims / std::sqrt(2.0);
  page.print("In [13]", scaled_sims);

  page.say(
      "Hidden tokens get -1e9: e^-1e9 is 0 as well, and a row with only hidden tokens does not become NaN.");
  const Tensor masked_scaled_sims = masked_fill(scaled_sims, mask, -1e9);
  page.print("In [14]", masked_scaled_sims);

  page.say("The softmax makes weights of each row.");
  const Tensor attention_percents = softmax(masked_scaled_sims, kColDim);
  page.print("In [15]", attention_percents);

  page.say("The sum of the values with these weights is the output of the layer.");
  page.print("In [16]", matmul(attention_percents, v));
}

Laboratory laboratory() { return {masked_self_attention(), {"first", "second", "third"}, encodings()}; }

Tensor attention(const Tensor& x) { return masked_self_attention()(x); }

}  // namespace masked_self_attention

extern const Lesson kMaskedSelfAttention{
    "masked-self-attention",
    "002",
    "A mask handed in, filled with -1e9, along dims of the caller's choice",
    masked_self_attention::walk,
    masked_self_attention::laboratory,
    masked_self_attention::attention};

}  // namespace gradus::teach
