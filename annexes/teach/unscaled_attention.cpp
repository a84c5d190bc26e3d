// Notebook 003, "Causal attention is also known as masked attention": scores that are not scaled.
#include "gradus/annexes/teach/lessons.hpp"

namespace gradus::teach {
namespace unscaled_attention {

// The notebook's form: [[1, -inf],
//                       [1, 2]]
Printed written(const Tensor& x, const std::string& comma, size_t indent) {
  std::string text = "[[";
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (i > 0) text += "],\n" + std::string(indent, ' ') + "[";
    for (int64_t j = 0; j < x.size(1); ++j) {
      const double value = x.at({i, j});
      text += (j > 0 ? comma : "") + (value == -kInf ? "-inf" : std::to_string(static_cast<int>(value)));
    }
  }
  return {x, text + "]]"};
}

// The notebook sets no seed. A search found that this seed, after 36 discarded words, gives its numbers.
SelfAttention causal_attention() {
  Generator generator = Generator::torch(1984157157);
  generator.discard(36);
  return {/*d_in=*/3, /*d_out=*/2, generator, {.scaled = false}};
}

void walk(LessonPage& page) {
  page.say(
      "A lower triangle of ones marks the tokens that a token may see, an upper triangle those that it may "
      "not.");
  page.print("introduction", "lower triangular matrix = ", written(tril(ones({4, 4})), ",", 27));
  page.print("introduction", "upper triangular matrix = ", written(triu(ones({4, 4})), ",", 27));

  page.say("Where the upper triangle, without the diagonal, is 1, scores become -inf.");
  const Tensor example = arange(1, 5, 1, DType::float32).expand({4, 4});
  const Tensor future = triu(ones({4, 4}), /*diagonal=*/1).to(DType::boolean);
  page.print("step 7", "   attention_scores = ", written(masked_fill(example, future, -kInf), ", ", 22));

  page.say(
      "The layer takes the softmax of the raw scores: it does not divide by the square root of the keys' "
      "size. Its mask has the shape of the scores, so that it takes a sequence or a batch.");
  const Tensor inputs = journey();
  const SelfAttention layer = causal_attention();
  page.print("In [11]", layer(inputs));

  page.say("This is the mask of three tokens as booleans.");
  page.print("In [12]", triu(ones({3, 3}), /*diagonal=*/1).to(DType::boolean));
}

Laboratory laboratory() { return {causal_attention(), journey_words(), journey()}; }

Tensor attention(const Tensor& x) { return causal_attention()(x); }

}  // namespace unscaled_attention

extern const Lesson kUnscaledAttention{
    "unscaled-attention",
    "003",
    "Causal attention without 1/sqrt(d)",
    unscaled_attention::walk,
    unscaled_attention::laboratory,
    unscaled_attention::attention,
    {
        {"This layer does not divide scores by the square root of 2. Are its weights sharper or more equal "
         "than those of a layer that does?",
         "Sharper. The scores of a row lie further apart, and the ratio of two weights is e to the power of "
         "the difference of their scores.",
         "scaled=1"},
        {"Can scaling change which token gets the largest weight of a row?",
         "No. The division by a positive number keeps the order of the scores, and the softmax keeps it too. "
         "Scaling changes only by how much one weight is larger than another.",
         "scaled=1"},
        {"The keys of this layer have 2 features. What happens without scaling if they have 64?",
         "If features are independent and of variance 1, scores have variance 64. Differences of 8 and more "
         "are then common, one weight of a row is close to 1 and the others close to 0, and the softmax has "
         "gradients close to 0."},
        {"Does a layer that is not scaled look ahead?",
         "No. Causality comes from the mask alone: a score of -inf has the weight 0 with or without the "
         "division.",
         "x.3.1=1.2"},
    }};

}  // namespace gradus::teach
