// The book behind the notebooks (Raschka, "Build a large language model from scratch", 2024, section 3.6):
// heads stacked side by side, and the one layer that splits their weights.
#include "gradus/annexes/teach/lessons.hpp"

namespace gradus::teach {
namespace stacked_heads {

nn::StackedHeads stacked_heads() {
  Generator generator = Generator::torch(123);
  return {/*d_in=*/3, /*d_out=*/2, /*num_heads=*/2, generator, {.context_length = 6}};
}

// Rows of `part` become rows [row, row + part's) of the larger layer.
void put(const Linear& part, int64_t row, Linear& whole) {
  whole.weight.detach().slice(0, row, row + part.weight.size(0)).copy_(part.weight.detach());
}

// One layer whose heads have the weights of the stacked ones.
SelfAttention split_heads(const nn::StackedHeads& stacked) {
  Generator unused(0);
  SelfAttention split(3, 4, unused, {.num_heads = 2, .context_length = 6});
  for (int64_t h = 0; h < 2; ++h) {
    const SelfAttention& head = stacked.heads[static_cast<size_t>(h)];
    put(head.W_query, 2 * h, split.W_query);
    put(head.W_key, 2 * h, split.W_key);
    put(head.W_value, 2 * h, split.W_value);
  }
  return split;
}

void walk(LessonPage& page) {
  page.say(
      "Two causal layers with weights from manual_seed(123) read the same batch; their outputs are "
      "concatenated.");
  const Tensor batch = stack({journey(), journey()}, 0);
  const nn::StackedHeads stacked = stacked_heads();
  const Tensor context_vecs = stacked(batch);
  page.print("section 3.6.1", context_vecs);

  page.say("The first two columns are the first head alone: the layer of notebook 000.");
  page.print("first head", stacked.heads[0](batch));

  page.say(
      "One layer with num_heads = 2 holds the same weights in one matrix for each of the three, and splits "
      "their outputs: three products give the same numbers as six.");
  const SelfAttention split = split_heads(stacked);
  page.print("section 3.6.2", split(batch));
}

Laboratory laboratory() { return {split_heads(stacked_heads()), journey_words(), journey()}; }

Tensor attention(const Tensor& x) { return stacked_heads()(x); }

}  // namespace stacked_heads

extern const Lesson kStackedHeads{"stacked-heads",
                                  "book",
                                  "Heads side by side, and the layer that splits their weights",
                                  stacked_heads::walk,
                                  stacked_heads::laboratory,
                                  stacked_heads::attention};

}  // namespace gradus::teach
