// check_causal passes what is right and names what is wrong: the planted faults are those that people make.
#include "autograd/compare.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/check_module.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::nn::test_check_causal {

using namespace testing;

Tensor values(const Shape& shape, uint64_t seed = 1, DType dtype = DType::float32) {
  Generator g(seed);
  return randn(shape, g, dtype);
}

/// Self-attention without weights, (B, T, C) -> (B, T, C), that hides keys from `diagonal` on.
Tensor attend(const Tensor& x, int64_t diagonal) {
  const Tensor hidden = triu(ones({x.size(1), x.size(1)}), diagonal).to(DType::boolean);
  const Tensor scores = matmul(x, x.mT());
  return matmul(softmax(masked_fill(scores, hidden, -kInf), -1), x);
}
Tensor off_by_one(const Tensor& x) { return attend(x, 2); }

/// The mean of the inputs so far, one after the other: takes no product with what it leaves out.
Tensor running_mean(const Tensor& x) { return cumsum(x, 1) / cumsum(ones({x.size(1), 1}, x.dtype()), 0); }

MultiHeadAttention attention(double dropout = 0.0, bool causal = true) {
  Generator g(2);
  return {8, 2, g, {.causal = causal, .dropout = dropout}};
}

TEST_CASE("check_causal passes what is causal") {
  CHECK(check_causal(attention(0.3), values({2, 6, 8})));  // in evaluation mode
  CHECK(check_causal(running_mean, values({2, 6, 8}, 1, DType::float64)));
  CHECK(check_causal([](const Tensor& x) { return cumsum(x, 0); }, values({5, 3})));  // (T, C)
  Generator g(3);
  CHECK(check_causal(MLP(8, 16, g, {.dropout = 0.1}), values({2, 6, 8})));  // each position on its own
  // NaN that was there before is no change, whatever its bits.
  Tensor x = values({1, 4, 3});
  x.slice(1, 0, 1).fill_(kNan);
  CHECK(check_causal(running_mean, x));
  int calls = 0;
  CHECK(check_causal([&](const Tensor& in) { return full(in.shape(), calls++ % 2 == 0 ? kNan : -kNan); }, x));
  std::ostringstream text;
  text << check_causal(running_mean, x);
  CHECK(text.str() ==
        "[check_causal] no output may depend on a later input, and none did for 3 changes of x.");
}

TEST_CASE("check_causal names what sees later inputs") {
  const auto found = [](auto&& f, const Tensor& x) {
    const CheckFinding finding = check_causal(f, x);
    CHECK(finding.outcome == CheckFinding::failed);
    CHECK(finding.message.find('\n') == std::string::npos);
    return finding.message;
  };
  CHECK_HAS(
      found(off_by_one, values({2, 6, 4})), "got one that sees 1 position ahead: ",
      " at (0, 0, 0) when x was changed from position 1 on. Hint: look for a mask or a shift that is off");
  CHECK_HAS(found([](const Tensor& x) { return off_by_one(off_by_one(x)); }, values({2, 6, 4})),
            "sees 2 positions ahead: ", " at (0, 0, 0) ");
  // Row 1, position 2, feature 1 alone adds its neighbour's value.
  const auto leaky = [](const Tensor& x) {
    Tensor y = empty(x.shape(), x.dtype());
    y.copy_(x);
    y.select(0, 1).select(0, 2).slice(0, 1, 2).fill_(x.at({1, 2, 1}) + x.at({1, 3, 1}));
    return y;
  };
  CHECK_HAS(found(leaky, zeros({2, 5, 3}, DType::float64)), "sees 1 position ahead: 0 became ",
            " at (1, 2, 1) when x was changed from position 3 on");
  // A softmax whose sum includes the future.
  const auto masked_after = [](const Tensor& x) { return matmul(tril(softmax(matmul(x, x.mT()), -1)), x); };
  CHECK_HAS(found(masked_after, values({2, 5, 3})), "sees 4 positions ahead: ", " at (0, 0, 0) ",
            "Hint: look for a mask that is missing or comes after the softmax");
  found([](const Tensor& x) { return cumsum(x, 0, /*reverse=*/true); }, values({5, 3}));
  // A zero that takes the sign of a later value has moved, and so has what becomes NaN.
  CHECK_HAS(
      found([](const Tensor& in) { return in.slice(1, 1, 2).expand(in.shape()) * 0.0; }, ones({1, 2, 8})),
      " 0 became -0 ");
  int calls = 0;
  const auto turns = [&](const Tensor& in) { return calls++ == 0 ? in : in * kNan; };
  const CheckFinding turned = check_causal(turns, ones({1, 3, 2}), {.tolerance = 1e9});
  CHECK_FALSE(turned);
  CHECK_HAS(turned.message, " became nan at ", "a product with 0 does not hide NaN");
}

TEST_CASE("check_causal tells rounding from a leak") {
  // A sum over all positions that leaves the later ones out again.
  const auto rounded = [](const Tensor& in) {
    const Tensor later = sum(in, {1}, true) - cumsum(in, 1);
    return sum(in, {1}, true) - later;
  };
  const Tensor x = values({4, 16, 8});
  const CheckFinding bits = check_causal(rounded, x);
  CHECK_FALSE(bits);
  CHECK_HAS(bits.message, "Hint: this is the size of rounding");
  CHECK(check_causal(rounded, x, {.tolerance = 1e-5}));
  CHECK_FALSE(check_causal(off_by_one, x, {.tolerance = 1e-5}));
}

TEST_CASE("check_causal changes tokens into other ones") {
  const Tensor table = values({7, 4}, 6);
  const auto good = [&](const Tensor& tokens) { return cumsum(embedding(table, tokens), 1); };
  const auto leaky = [&](const Tensor& tokens) { return off_by_one(embedding(table, tokens)); };
  const Tensor tokens = tensor(std::vector<int64_t>{0, 6, 3, 3, 5, 2, 2, 1}, {2, 4});
  CHECK(check_causal(good, tokens));
  CHECK_FALSE(check_causal(leaky, tokens));
  const Tensor same = full({2, 4}, 3, DType::int64);
  CHECK_FALSE(check_causal(leaky, same, {.vocab_size = 7}));
  CHECK_THROWS_WITH(check_causal(good, same),
                    "[check_causal] needs tokens in [0, vocab_size) that it can change, got 3 to 3 for "
                    "vocab_size 0. Hint: set vocab_size to that of the model.");
  CHECK_ERROR(check_causal(good, tokens, {.vocab_size = 6}), "got 0 to 6 for vocab_size 6.");

  // Only two tokens: each becomes the other one, so that a leak from any position shows.
  const Tensor two = tensor(std::vector<int64_t>{4, 4, 3, 3, 3, 3, 3, 4}, {2, 4});
  const auto last = [](const Tensor& in) { return in.slice(1, 3, 4).expand(in.shape()); };
  CHECK_HAS(check_causal(last, two).message,
            "sees 3 positions ahead: 3 became 4 at (0, 0) when x was changed from position 3 on.");
}

TEST_CASE("check_causal leaves x and the mode of a module alone") {
  const Tensor x = values({2, 4, 8}), before = values({2, 4, 8});
  CHECK(check_causal(
      [](const Tensor& in) {
        Tensor y = in;
        y.fill_(0.5);
        return y;
      },
      x));
  CHECK(difference(x, before, 0.0) == "");
  CHECK(check_causal(attention(), x.transpose(0, 1)));  // a view
  Tensor leaf = values({2, 4, 8});
  CHECK(check_causal(attention(), leaf.requires_grad_()));
  CHECK_FALSE(leaf.grad().defined());
  MultiHeadAttention m = attention(0.3);
  m.drop.eval();  // frozen by the user, below a module that trains
  CHECK(check_causal(m, x));
  CHECK((m.training() && m.c_attn.training() && !m.drop.training()));
  // A const module stays in its mode, which here needs a generator.
  const MultiHeadAttention training = attention(0.3);
  CHECK_ERROR(check_causal(training, x), "[dropout] needs a generator");
  CHECK(check_causal(
      [&](const Tensor& in) {
        Generator g(7);
        return training(in, &g);
      },
      x));
}

TEST_CASE("arguments of check_causal that prove nothing are refused") {
  const auto same = [](const Tensor& x) { return x; };
  for (const auto& [x, got] : {std::pair(values({2, 1, 3}), "(2, 1, 3)"),
                               {values({0, 4, 3}), "(0, 4, 3)"},
                               {Tensor(), "none"},
                               {values({4}), "(4,)"},
                               {values({}), "()"}})
    CHECK_THROWS_WITH(
        check_causal(same, x),
        concat("[check_causal] x must be (..., T, C) values or (..., T) tokens with T >= 2, got ", got, "."));
  CHECK_THROWS_WITH(
      check_causal([](const Tensor& x) { return sum(x, {}); }, values({2, 4, 3})),
      "[check_causal] outputs must have the 4 positions of x in dimension 1, got () for x (2, 4, 3).");
}

}  // namespace gradus::nn::test_check_causal
