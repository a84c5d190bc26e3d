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

extern const Lesson kUnscaledAttention{"unscaled-attention",
                                       "003",
                                       "Causal attention without 1/sqrt(d)",
                                       unscaled_attention::walk,
                                       unscaled_attention::laboratory,
                                       unscaled_attention::attention};

}  // namespace gradus::teach
