// Each check passes what is right and names what is wrong: the planted faults here are those that people
// make.
#include "gradus/nn/checks.hpp"

#include "autograd/compare.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/self_attention.hpp"

namespace gradus::nn::test_checks {

using namespace testing;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor values(const Shape& shape, uint64_t seed = 1, DType dtype = DType::float32) {
  Generator g(seed);
  return randn(shape, g, dtype);
}

/// Self-attention without weights, (B, T, C) -> (B, T, C), that hides keys from `diagonal` on.
Tensor attend(const Tensor& x, int64_t diagonal) {
  const Tensor hidden = triu(ones({x.size(1), x.size(1)}), diagonal).to(DType::boolean);
  const Tensor scores = matmul(x, x.mT());
  return matmul(softmax(masked_fill(scores, hidden, -std::numeric_limits<double>::infinity()), -1), x);
}

/// The mean of the inputs so far, one after the other: takes no product with what it leaves out.
Tensor running_mean(const Tensor& x) { return cumsum(x, 1) / cumsum(ones({x.size(1), 1}, x.dtype()), 0); }

MultiHeadAttention attention(double dropout = 0.0, bool causal = true) {
  Generator g(2);
  return {8, 2, g, {.causal = causal, .dropout = dropout}};
}

TEST_CASE("a report is true or false, and prints as its message") {
  const CheckReport good = check_causal(running_mean, values({2, 4, 3}));
  const CheckReport bad = check_causal([](const Tensor& x) { return attend(x, 2); }, values({2, 4, 3}));
  CHECK(good);
  CHECK_FALSE(bad);
  CHECK(good.message ==
        "[check_causal] no output may depend on a later input, and none did for 3 changes of x; worst change "
        "0, "
        "allowed 0.");
  std::ostringstream text;
  text << bad;
  CHECK(text.str() == bad.message);
  CHECK(bad.message.find('\n') == std::string::npos);
}

TEST_CASE("check_causal passes what is causal") {
  CHECK(check_causal(attention(), values({2, 6, 8})));
  CHECK(check_causal(running_mean, values({2, 6, 8}, 1, DType::float64)));
  Generator g(3);
  CHECK(check_causal(MLP(8, 16, g, {.dropout = 0.1}), values({2, 6, 8})));  // each position on its own
  // -inf hides scores of any size, and our means skip what they leave out.
  CHECK(check_causal(attention(), values({2, 6, 8}), {.scale = 1e12}));
  CHECK(check_causal(running_mean, values({2, 6, 8}), {.scale = kNaN}));
  // NaN that was there before is no change.
  Tensor x = values({1, 4, 3});
  x.slice(1, 0, 1).fill_(kNaN);
  CHECK(check_causal(running_mean, x));
}

TEST_CASE("check_causal names a mask that is off by one") {
  const CheckReport one = check_causal([](const Tensor& x) { return attend(x, 2); }, values({2, 6, 4}));
  CHECK_FALSE(one);
  CHECK((one.worst > 1e-3 && one.worst < 10.0));
  CHECK_HAS(one.message, "got one that sees 1 position ahead: at (0, 0, 0) ");
  CHECK_HAS(one.message, "when x was changed from position 1 on;");
  CHECK_HAS(one.message, "Hint: look for a mask or a shift that is off");

  const CheckReport two =
      check_causal([](const Tensor& x) { return attend(attend(x, 2), 2); }, values({2, 6, 4}));
  CHECK_HAS(two.message, "sees 2 positions ahead: at (0, 0, 0) ");
}

TEST_CASE("check_causal shows the output that moved, and by how much") {
  // Row 1, position 2, feature 1 alone adds its neighbour's value.
  const auto leaky = [](const Tensor& x) {
    Tensor y = empty(x.shape(), x.dtype());
    y.copy_(x);
    y.select(0, 1).select(0, 2).slice(0, 1, 2).fill_(x.at({1, 2, 1}) + x.at({1, 3, 1}));
    return y;
  };
  const Tensor x = zeros({2, 5, 3}, DType::float64);
  const CheckReport report = check_causal(leaky, x);
  CHECK_FALSE(report);
  CHECK_HAS(report.message, "sees 1 position ahead: at (1, 2, 1) 0 became ");
  CHECK_HAS(report.message, "from position 3 on");
  // Changed to one normal value, which is the whole change; another seed draws another.
  CHECK_HAS(report.message, "worst change " + concat(report.worst).substr(0, 4));
  CHECK(report.worst != check_causal(leaky, x, {.seed = 1}).worst);
}

TEST_CASE("check_causal names a softmax whose sum includes the future") {
  const auto masked_after = [](const Tensor& x) {
    return matmul(tril(softmax(matmul(x, x.mT()), -1)), x);  // not divided by its new sum
  };
  const CheckReport report = check_causal(masked_after, values({2, 5, 3}));
  CHECK_FALSE(report);
  CHECK(report.worst > 1e-3);
  CHECK_HAS(report.message, "sees 4 positions ahead: at (0, 0, 0) ");
  CHECK_HAS(report.message, "Hint: look for a mask that is missing or comes after the softmax");
  CHECK_FALSE(check_causal(attention(0.0, /*causal=*/false), values({2, 5, 8})));
}

TEST_CASE("check_causal tells rounding from a leak") {
  Generator g(4);
  const SelfAttention renormalised(8, 8, g, {.mask_on = MaskOn::weights});
  const Tensor x = values({4, 16, 8});
  const CheckReport bits = check_causal(renormalised, x);
  CHECK_FALSE(bits);
  CHECK((bits.worst > 0.0 && bits.worst < 1e-5));
  CHECK_HAS(bits.message, "Hint: this is the size of rounding");
  CHECK(check_causal(renormalised, x, {.tolerance = 1e-5}));
  CHECK_FALSE(check_causal([](const Tensor& in) { return attend(in, 2); }, x, {.tolerance = 1e-5}));
  // Even a zero that takes the sign of a later value has moved.
  const CheckReport sign = check_causal(
      [](const Tensor& in) { return in.slice(1, 1, 2).expand(in.shape()) * 0.0; }, ones({1, 2, 8}));
  CHECK_FALSE(sign);
  CHECK(sign.worst == 0.0);
  CHECK_HAS(sign.message, " 0 became -0 ");
}

TEST_CASE("check_causal with large values finds a mask that is too weak, with NaN a product with 0") {
  const auto weak = [](const Tensor& in) {
    const Tensor hidden = triu(ones({in.size(1), in.size(1)}), 1);
    return matmul(softmax(matmul(in, in.mT()) - 1e9 * hidden, -1), in);
  };
  const Tensor x = values({2, 6, 8});
  CHECK(check_causal(weak, x));
  CHECK_FALSE(check_causal(weak, x, {.scale = 1e12}));
  Generator g(5);
  const SelfAttention filled(8, 8, g, {.fill = -1e9});  // takes the scores' place
  CHECK(check_causal(filled, x, {.scale = 1e12}));

  const auto product = [](const Tensor& in) { return matmul(tril(ones({in.size(1), in.size(1)})), in); };
  CHECK(check_causal(product, x));
  const CheckReport report = check_causal(product, x, {.scale = kNaN});
  CHECK_FALSE(report);
  CHECK(std::isinf(report.worst));
  CHECK_HAS(report.message, " became nan when");
  CHECK_HAS(report.message, "a product with 0 does not hide NaN");
}

TEST_CASE("an output that becomes NaN has moved, whatever the tolerance") {
  const Tensor x = ones({1, 3, 2});
  int calls = 0;
  const auto turns = [&](const Tensor& in) { return calls++ == 0 ? in : in * kNaN; };
  const CheckReport causal = check_causal(turns, x, {.tolerance = 1e9});
  CHECK_FALSE(causal);
  CHECK(std::isinf(causal.worst));
  calls = 0;
  CHECK_FALSE(check_batch_invariant(turns, values({2, 3}), 1e9));
  const auto always = [](const Tensor& in) { return in * kNaN; };
  CHECK(check_causal(always, x));
  CHECK(check_batch_invariant(always, values({2, 3})));
  // NaN is NaN, whatever its bits.
  const auto signs = [&](const Tensor& in) {
    return calls++ % 2 == 0 ? full(in.shape(), kNaN) : full(in.shape(), -kNaN);
  };
  CHECK(check_causal(signs, x));
}

TEST_CASE("check_causal finds time where it is") {
  const auto first = [](const Tensor& x) { return cumsum(x, 0); };
  const auto reversed = [](const Tensor& x) { return cumsum(x, 0, /*reverse=*/true); };
  const Tensor x = values({5, 3});  // (T, C)
  CHECK(check_causal(first, x));
  CHECK_FALSE(check_causal(reversed, x));
  CHECK(check_causal(first, x, {.dim = 0}));
  CHECK(check_causal(reversed, x, {.dim = 1}));
  CHECK_FALSE(check_causal([](const Tensor& in) { return cumsum(in, 1, true); }, x, {.dim = -1}));
  CHECK_HAS(check_causal(reversed, values({5, 2, 3}), {.dim = 0}).message,
            "sees 4 positions ahead: at (0, 0, 0) ");
}

TEST_CASE("check_causal changes tokens into other ones") {
  const Tensor table = values({7, 4}, 6);
  const auto good = [&](const Tensor& tokens) { return cumsum(embedding(table, tokens), 1); };
  const auto leaky = [&](const Tensor& tokens) { return attend(embedding(table, tokens), 2); };
  const Tensor tokens = tensor(std::vector<int64_t>{0, 6, 3, 3, 5, 2, 2, 1}, {2, 4});
  CHECK(check_causal(good, tokens));
  CHECK_FALSE(check_causal(leaky, tokens));

  const Tensor same = full({2, 4}, 3, DType::int64);
  CHECK_FALSE(check_causal(leaky, same, {.vocab_size = 7}));
  CHECK_THROWS_WITH(
      check_causal(good, same),
      "[check_causal] needs two tokens to change one into the other, got only 3. Hint: set vocab_size to "
      "that "
      "of the model.");
  CHECK_THROWS_WITH(check_causal(good, tokens, {.vocab_size = 6}),
                    "[check_causal] tokens must be in [0, vocab_size = 6), got 0 to 6.");

  // Only two tokens: each becomes the other one, so that a leak from any position shows.
  const Tensor two = tensor(std::vector<int64_t>{4, 4, 3, 3, 3, 3, 3, 4}, {2, 4});
  const auto last = [](const Tensor& in) { return in.slice(1, 3, 4).expand(in.shape()); };
  const CheckReport report = check_causal(last, two);
  CHECK_FALSE(report);
  CHECK(report.worst == 1.0);
  CHECK_HAS(report.message,
            "sees 3 positions ahead: at (0, 0) 3 became 4 when x was changed "
            "from position 3 on; worst change 1, allowed 0.");
}

TEST_CASE("training mode is checked by a lambda with a generator of its own") {
  const MultiHeadAttention m = attention(0.3);
  const auto training = [&](const Tensor& x) {
    Generator g(7);
    return m(x, &g);
  };
  CHECK(check_causal(training, values({2, 6, 8})));
  // A const module stays in its mode, which here needs a generator.
  CHECK_ERROR(check_causal(m, values({2, 6, 8})), "[dropout] needs a generator");
}

TEST_CASE("check_batch_invariant passes layers, by rounding at most") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    MultiHeadAttention m = attention(0.5);
    m.to(dtype);
    const CheckReport report = check_batch_invariant(m, values({5, 7, 8}, 1, dtype));
    CHECK(report);
    CHECK(report.worst < (dtype == DType::float32 ? 1e-6 : 1e-14));
  }
  Generator g(8);
  CHECK(check_batch_invariant(MLP(8, 16, g), values({3, 8})));
  CHECK(check_batch_invariant([](const Tensor& x) { return sum(x, {1}); }, values({3, 8})));  // -> (B)
}

TEST_CASE("check_batch_invariant names statistics of the batch") {
  const auto batch_norm = [](const Tensor& x) {
    return (x - mean(x, {0}, true)) * rsqrt(var(x, {0}, 0, true) + 1e-5);
  };
  const CheckReport report = check_batch_invariant(batch_norm, values({4, 3, 2}));
  CHECK_FALSE(report);
  CHECK(report.worst > 0.1);
  CHECK_HAS(report.message, "a row must give the same alone and in a batch, got 0 alone and ");
  CHECK_HAS(report.message, " in the batch at (0, 0, 0); worst change ");
  CHECK_HAS(report.message, "Hint: look for statistics or sums over dimension 0.");

  // A leak that is larger than rounding, but not by much.
  const auto faint = [](const Tensor& x) { return x + 1e-3 * mean(x, {0}, true); };
  CHECK_FALSE(check_batch_invariant(faint, values({4, 3})));
  CHECK(check_batch_invariant(faint, values({4, 3}), 1e-2));
}

TEST_CASE("check_batch_invariant names what depends on a row's index") {
  const auto indexed = [](const Tensor& x) { return x + cumsum(ones({x.size(0), 1}), 0); };
  const CheckReport report = check_batch_invariant(indexed, values({3, 2}));
  CHECK_FALSE(report);
  CHECK(report.worst == Catch::Approx(2.0));  // the last row came first
  CHECK_HAS(report.message, "rows in another order must give the same outputs in that order");
  CHECK_HAS(report.message, " at (0, 0) when each row moved up by one;");
  // The first row's data in all of them.
  CHECK_FALSE(check_batch_invariant([](const Tensor& x) { return x + x.slice(0, 0, 1); }, values({3, 2})));
}

TEST_CASE("checks leave x alone, and models may write into what they are given") {
  const Tensor x = values({2, 4, 8}), before = values({2, 4, 8});
  const auto writes = [](const Tensor& in) {
    Tensor y = in;
    y.fill_(0.5);
    return y;
  };
  CHECK(check_causal(writes, x));
  CHECK(check_batch_invariant(writes, x));
  CHECK(testing::difference(x, before, 0.0) == "");
  CHECK(check_causal(attention(), x.transpose(0, 1)));  // a view
  Tensor leaf = values({2, 4, 8});
  CHECK(check_causal(attention(), leaf.requires_grad_()));
  CHECK_FALSE(leaf.grad().defined());
}

TEST_CASE("arguments that prove nothing are refused") {
  const auto same = [](const Tensor& x) { return x; };
  const auto total = [](const Tensor& x) { return sum(x, {}); };
  const auto causal = [&](const Tensor& x, const CausalOptions& o = {}) {
    return error_of([&] { check_causal(same, x, o); });
  };
  CHECK(causal(values({2, 1, 3})) ==
        "[check_causal] x must have at least 2 positions in dimension 1, got (2, 1, 3).");
  CHECK(causal(values({0, 4, 3})) == "[check_causal] x must have elements, got (0, 4, 3).");
  CHECK(causal(Tensor()) == "[check_causal] x must have elements, got none.");
  CHECK(causal(values({4})) == "[check_causal] x must be (..., T, C) values or (..., T) tokens, got (4,).");
  CHECK(causal(values({})) == "[check_causal] x must be (..., T, C) values or (..., T) tokens, got ().");
  CHECK(causal(ones({2, 4, 3}).to(DType::boolean)) ==
        "[check_causal] x must be float32, float64 or int64, got bool.");
  CHECK(causal(zeros({2, 4, 3}), {.scale = 0.0}) ==
        "[check_causal] x must change at each position, got the same at position 1. Hint: take another "
        "scale or seed.");
  CHECK_HAS(causal(values({2, 4, 3}), {.tolerance = -1.0}), "tolerance must be >= 0, got -1");
  CHECK_HAS(causal(values({2, 4, 3}), {.tolerance = kNaN}), "tolerance must be >= 0, got");
  CHECK_HAS(causal(arange(0, 4), {.scale = 2.0}), "scale applies to values");
  CHECK_HAS(causal(arange(0, 4), {.vocab_size = -1}), "vocab_size must be >= 0, got -1");
  CHECK_THROWS_AS(check_causal(same, values({2, 4}), {.dim = 2}), Error);
  CHECK_THROWS_WITH(
      check_causal(total, values({2, 4, 3})),
      "[check_causal] outputs must have the 4 positions of x in dimension 1, got () for x (2, 4, 3).");

  CHECK_THROWS_WITH(check_batch_invariant(same, Tensor()),
                    "[check_batch_invariant] x must have elements, got none.");
  CHECK_THROWS_WITH(check_batch_invariant(same, zeros({2, 0})),
                    "[check_batch_invariant] x must have elements, got (2, 0).");
  CHECK_THROWS_WITH(check_batch_invariant(same, values({1, 4})),
                    "[check_batch_invariant] x must have at least 2 rows, got (1, 4).");
  CHECK_THROWS_WITH(check_batch_invariant(same, ones({3, 4})),
                    "[check_batch_invariant] rows of x must differ, got 3 equal ones.");
  CHECK_THROWS_WITH(check_batch_invariant(total, values({3, 4})),
                    "[check_batch_invariant] outputs must have the 3 rows of x, got () for x (3, 4).");
  MultiHeadAttention m = attention();
  CHECK_ERROR(check_eval_deterministic(m, zeros({0})), "[check_eval_deterministic] x must have elements");
  CHECK_THROWS_WITH(check_kv_cache(m, values({2, 1, 8})),
                    "[check_kv_cache] x must be (B, T) or (B, T, C) with T >= 2, got (2, 1, 8).");
  CHECK_THROWS_WITH(check_kv_cache(m, ones({2, 4, 8})),
                    "[check_kv_cache] positions of x must differ, got 4 equal ones.");
}

}  // namespace gradus::nn::test_checks
