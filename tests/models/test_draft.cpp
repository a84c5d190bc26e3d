// Drafts from the text itself: what they guess, and that the model's answers are the same with them.
#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/models/generate.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_draft {

using namespace testing;

using Tokens = std::vector<int64_t>;

static_assert(nn::kFewPositions <= kernels::kFewRows);  // whose bits do not depend on how many they are

Decoder a_model(const std::string& arch, DType weights) {
  Decoder model = wide_model({.arch = arch,
                              .vocab_size = 37,
                              .block_size = 40,
                              .n_layer = 2,
                              .n_head = 4,
                              .n_embd = 40,
                              .bias = arch == "gpt2",
                              .n_kv_head = arch == "llama" ? 2 : 0},
                             5);
  if (weights != DType::float32) model.to(weights);
  model.eval();
  return model;
}

/// A text of 30 tokens that repeats itself, with changes.
Tokens a_text() {
  Tokens text;
  for (int64_t i = 0; i < 30; ++i) text.push_back(i % 7 == 0 && i > 20 ? 3 : i % 9);
  return text;
}

TEST_CASE("a draft is what came behind the longest beginning that ends as the text does") {
  CHECK(drafted(Tokens{1, 2, 3, 4, 9, 2, 3}, 2) == Tokens{4, 9});
  CHECK(drafted(Tokens{1, 2, 3, 4, 9, 2, 3}, 0).empty());
  CHECK(drafted(Tokens{5, 1, 2, 7, 0, 1, 2, 8, 1, 2}, 1) == Tokens{8});     // the latest of equals
  CHECK(drafted(Tokens{5, 1, 2, 7, 0, 1, 2, 8, 5, 1, 2}, 1) == Tokens{7});  // the longest first
  CHECK(drafted(Tokens{1, 2, 1, 2}, 5) == Tokens{1, 2, 1, 2, 1});           // goes on as it has begun
  CHECK(drafted(Tokens{4, 4, 4}, 3) == Tokens{4, 4, 4});
  for (const Tokens& none : {Tokens{}, Tokens{1}, Tokens{1, 2}, Tokens{1, 2, 3, 2}, Tokens{1, 1}})
    CHECK(drafted(none, 3).empty());
}

TEST_CASE("decode_all() has the bits of as many calls of decode()", "[needs.fast]") {
  for (const char* arch : {"gpt2", "llama", "gemma"})
    for (const DType weights : {DType::float32, DType::bfloat16, DType::q8_0, DType::q4_0}) {
      INFO(name(weights));
      const Decoder model = a_model(arch, weights);
      const Tokens text = a_text();
      for (int64_t count = 1; count <= nn::kFewPositions; ++count) {
        INFO(count << " positions");
        const auto one = model.make_state(), many = model.make_state();
        for (DecodingState* state : {one.get(), many.get()})
          (void)model.decode(tensor(Tokens(text.begin(), text.begin() + 20), {1, 20}), *state);
        const Tensor rows =
            model.decode_all(tensor(Tokens(text.begin() + 20, text.begin() + 20 + count), {1, count}), *many);
        REQUIRE(rows.shape() == Shape{1, count, 37});
        for (int64_t i = 0; i < count; ++i) {
          const Tensor row = model.decode(tensor(Tokens{text[static_cast<size_t>(20 + i)]}, {1, 1}), *one);
          CHECK(
              vectors::same_bits(rows.select(0, 0).select(0, i).to_vector<float>(), row.to_vector<float>()));
        }
      }
    }
}

/// Compares the logits with a draft and without, bit for bit, as the text grows.
void check_drafting(const Decoder& model, const Tokens& text, int64_t draft) {
  NextToken plain(model), drafting(model, draft);
  for (size_t size = 4; size <= text.size(); size += size == 12 ? 3 : 1) {
    const std::span<const int64_t> seen(text.data(), size);
    REQUIRE(
        vectors::same_bits(drafting.logits(seen).to_vector<float>(), plain.logits(seen).to_vector<float>()));
  }
}

TEST_CASE("logits are the same bits with a draft and without, whatever comes") {
  Tokens text = a_text();
  for (int64_t i = 0; i < 25; ++i) text.push_back(i * i % 11);  // past the block too
  for (const char* arch : {"gpt2", "llama", "gemma"})
    for (const int64_t draft : {1, 3, 7}) check_drafting(a_model(arch, DType::float32), text, draft);
}

TEST_CASE("where a product of one row is too small to have the bits of several, nothing is drafted") {
  // Below 400 multiplications sums have another order. Few heads, narrow models, small vocabularies do so.
  const auto sizes =
      GENERATE(values<std::array<int64_t, 4>>({{32, 4, 1, 37}, {16, 2, 2, 37}, {40, 4, 4, 7}}));
  const auto [n_embd, n_head, n_kv_head, vocab_size] = sizes;
  INFO("width " << n_embd << ", heads of keys " << n_kv_head << ", vocabulary " << vocab_size);
  Decoder model = wide_model({.arch = "llama",
                              .vocab_size = vocab_size,
                              .block_size = 64,
                              .n_layer = 2,
                              .n_head = n_head,
                              .n_embd = n_embd,
                              .bias = false,
                              .n_kv_head = n_kv_head},
                             5);
  model.eval();
  Tokens text;
  for (int i = 0; i < 60; ++i) text.push_back(i % 5);
  check_drafting(model, text, 7);
}

TEST_CASE("a text is the same with a draft and without, drawn or not, to the block's end and beyond") {
  const Decoder model = a_model("llama", DType::float32);
  for (const double temperature : {0.0, 0.1, 1.0}) {
    const auto text = [&](int64_t draft) {
      Generator g(7);
      return generate(model, a_text(), {.max_new_tokens = 25, .temperature = temperature, .draft = draft}, g);
    };
    const Tokens plain = text(0);
    for (const int64_t draft : {1, 4, 7}) CHECK(text(draft) == plain);
  }
  Generator g(7);
  CHECK_THROWS_WITH(generate(model, {1}, {.draft = 8}, g), "[sample] `draft` must be in [0, 7], got 8.");
  CHECK_THROWS_WITH(NextToken(model, -1), "[next_token] draft must be in [0, 7], got -1.");
}

TEST_CASE("a state that was cut continues as if the rest had never been") {
  const Decoder model = a_model("gpt2", DType::float32);
  const auto cut = model.make_state(), fresh = model.make_state();
  (void)model.decode(tensor(Tokens{1, 2, 3}, {1, 3}), *fresh);
  (void)model.decode(tensor(Tokens{1, 2, 3}, {1, 3}), *cut);
  (void)model.decode(tensor(Tokens{4, 5}, {1, 2}), *cut);
  cut->truncate(3);
  CHECK(cut->length == 3);
  cut->truncate(9);
  CHECK(cut->length == 3);
  const Tensor six = tensor(Tokens{6}, {1, 1});
  CHECK(vectors::same_bits(model.decode(six, *cut).to_vector<float>(),
                           model.decode(six, *fresh).to_vector<float>()));
}

}  // namespace gradus::models::test_draft
