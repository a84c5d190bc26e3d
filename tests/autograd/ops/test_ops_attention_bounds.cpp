// Sliding windows and documents in attention, compared with the same keys hidden by a mask.
#include "autograd/compare.hpp"

namespace gradus::test_ops_attention_bounds {

using namespace gradus::testing;

struct Case {
  int64_t T, S, window;
  std::vector<int64_t> documents;  // first positions; empty: no documents
};

/// (2, T): the first position of each query's document, which batch 1 has one position later.
Tensor starts_of(const Case& c) {
  std::vector<int64_t> starts;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < c.T; ++t) {
      int64_t start = 0;
      for (const int64_t first : c.documents)
        if (first + b <= t) start = first + b;
      starts.push_back(start);
    }
  return tensor(starts, {2, c.T});
}

/// (2, 1, T, S) bool: true where a query may attend, by the definition.
Tensor visible(const Case& c, const Tensor& starts) {
  std::vector<bool> seen;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < c.T; ++i)
      for (int64_t j = 0; j < c.S; ++j) {
        const int64_t position = i + c.S - c.T;
        seen.push_back(j <= position && (c.window == 0 || position - j < c.window) &&
                       (c.documents.empty() || j >= starts.data<int64_t>()[b * c.T + i]));
      }
  return tensor(seen, {2, 1, c.T, c.S});
}

struct Result {
  Tensor y, gq, gk, gv;
};

Result attend(const Case& c, DType dtype, const AttentionOptions& options) {
  Generator random(3);
  const auto draw = [&](const Shape& shape) { return randn(shape, random).to(dtype).requires_grad_(); };
  const Tensor q = draw({2, 4, c.T, 8}), k = draw({2, 2, c.S, 8}), v = draw({2, 2, c.S, 8});
  const Tensor y = scaled_dot_product_attention(q, k, v, options);
  sum(y * y).backward();
  return {y, q.grad(), k.grad(), v.grad()};
}

const std::vector<Case> kCases = {{300, 300, 0, {0, 90, 257, 299}},
                                  {300, 300, 37, {}},
                                  {600, 600, 100, {0, 290, 310}},
                                  {70, 600, 64, {}},
                                  {5, 5, 1, {}},
                                  {530, 530, 0, {0, 529}}};

TEST_CASE("windows and documents hide the keys that a mask hides, with gradients") {
  for (const Case& c : kCases) {
    const Tensor starts = starts_of(c);
    AttentionOptions bounds{.causal = true, .window = c.window, .enable_gqa = true};
    if (!c.documents.empty()) bounds.starts = starts;
    const AttentionOptions masked{.mask = visible(c, starts), .enable_gqa = true};
    INFO("T " << c.T << ", S " << c.S << ", window " << c.window);
    for (const auto& [dtype, tolerance] : {std::pair{DType::float64, 1e-12}, {DType::float32, 1e-4}}) {
      const Result a = attend(c, dtype, bounds), b = attend(c, dtype, masked);
      CHECK(difference(a.y, b.y, tolerance) == "");
      CHECK(difference(a.gq, b.gq, tolerance) == "");
      CHECK(difference(a.gk, b.gk, tolerance) == "");
      CHECK(difference(a.gv, b.gv, tolerance) == "");
    }
    const Autocast bf16(DType::bfloat16);
    const Result a = attend(c, DType::float32, bounds), b = attend(c, DType::float32, masked);
    CHECK(difference(a.y, b.y, 0.1) == "");
    CHECK(difference(a.gk, b.gk, 0.3) == "");
  }
}

TEST_CASE("a document has the values and gradients of a sequence of its own") {
  Generator random(5);
  const Tensor q = randn({1, 2, 40, 4}, random).to(DType::float64),
               k = randn(q.shape(), random).to(DType::float64);
  std::vector<int64_t> starts(40, 0);
  std::fill(starts.begin() + 25, starts.end(), 25);
  const Tensor whole =
      scaled_dot_product_attention(q, k, k, {.causal = true, .starts = tensor(starts, {1, 40})});
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 25}, {25, 40}}) {
    const auto part = [&](const Tensor& x) { return x.slice(2, first, last); };
    const Tensor alone = scaled_dot_product_attention(part(q), part(k), part(k), {.causal = true});
    CHECK(difference(part(whole), alone, 1e-14) == "");
  }
}

TEST_CASE("bounds of attention are refused where they cannot apply") {
  const Tensor x = ones({1, 2, 3, 4});
  const auto error = [&](const AttentionOptions& options) {
    return error_of([&] { scaled_dot_product_attention(x, x, x, options); });
  };
  CHECK_HAS(error({.window = 2}), "window must be 0, or above 0 with causal, got 2.");
  CHECK_HAS(error({.causal = true, .window = -1}), "got -1.");
  CHECK_HAS(error({.starts = ones({1, 3})}), "starts must be int64 (B, T)");
  CHECK_HAS(error({.starts = tensor(std::vector<int64_t>{0, 0}, {1, 2})}), "(1, 2)");
}

}  // namespace gradus::test_ops_attention_bounds
