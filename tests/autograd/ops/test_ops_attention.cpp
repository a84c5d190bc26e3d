// Attention with masks, dropout, windows and documents, shared heads, and packed projections.
#include "autograd/compare.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"

namespace gradus::test_ops_attention {

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
    if (!kernels::fast_kernels().multiply_rounded) continue;  // GRADUS_FAST=OFF
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

/// Head by head with plain products: head h of q meets head h / (nh / n) of the n of k and v.
Tensor head_by_head(const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  const int64_t T = q.size(2), S = k.size(2), group = q.size(1) / k.size(1);
  std::vector<Tensor> heads;
  for (int64_t h = 0; h < q.size(1); ++h) {
    Tensor scores =
        matmul(q.select(1, h), k.select(1, h / group).mT()) / std::sqrt(static_cast<double>(q.size(3)));
    if (causal) scores = masked_fill(scores, eq(tril(ones({T, S}), S - T), 0.0), -kInf);
    heads.push_back(matmul(softmax(scores, -1), v.select(1, h / group)));
  }
  return stack(heads, 1);
}

TEST_CASE("grouped attention and its gradients are those of heads written out") {
  Generator g(9);
  for (const auto& [heads, kv_heads] :
       std::vector<std::pair<int64_t, int64_t>>{{6, 1}, {6, 2}, {6, 3}, {6, 6}, {4, 2}})
    for (const int64_t keys : {70, 75})
      for (const bool causal : {false, true}) {
        INFO(heads << " heads, " << kv_heads << " of keys, " << keys << " keys, causal " << causal);
        const auto draw = [&](int64_t n, int64_t length) {
          return randn({2, n, length, 4}, g, DType::float64).requires_grad_();
        };
        const Tensor q = draw(heads, 70), k = draw(kv_heads, keys), v = draw(kv_heads, keys),
                     gy = randn({2, heads, 70, 4}, g, DType::float64);
        const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = causal, .enable_gqa = true});
        const Tensor expected = head_by_head(q, k, v, causal);
        CHECK(difference(y, expected) == "");
        const std::vector<Tensor> grads = grad({sum(y * gy)}, {q, k, v}),
                                  wanted = grad({sum(expected * gy)}, {q, k, v});
        for (size_t i = 0; i < 3; ++i) CHECK(difference(grads[i], wanted[i], 1e-11) == "");
      }
}

TEST_CASE("what no kernel does is grouped too: masks, fewer dimensions") {
  Generator g(10);
  const Tensor q = randn({2, 4, 3, 2}, g, DType::float64), k = randn({2, 2, 5, 2}, g, DType::float64),
               v = randn({2, 2, 5, 2}, g, DType::float64);
  const Tensor all = zeros({3, 5}, DType::float64);
  const Tensor expected = head_by_head(q, k, v, false);
  CHECK(difference(scaled_dot_product_attention(q, k, v, {.mask = all, .enable_gqa = true}), expected) == "");
  CHECK(difference(scaled_dot_product_attention(q.select(0, 1), k.select(0, 1), v.select(0, 1),
                                                {.enable_gqa = true}),
                   expected.select(0, 1)) == "");
}

TEST_CASE("grouped attention refuses heads that do not divide, and is off unless asked for") {
  const auto attend = [](const Shape& q, const Shape& k, const Shape& v, bool gqa = true) {
    return error_of([&] { scaled_dot_product_attention(ones(q), ones(k), ones(v), {.enable_gqa = gqa}); });
  };
  const Shape q = {1, 4, 3, 2}, three = {1, 3, 3, 2}, two = {1, 2, 3, 2}, one = {1, 1, 3, 2};
  CHECK(attend(q, three, three) ==
        "[scaled_dot_product_attention] with enable_gqa k and v must have one number of heads, which divides "
        "q's, got (1, 4, 3, 2), (1, 3, 3, 2) and (1, 3, 3, 2).");
  CHECK_HAS(attend(q, two, one), "one number of heads");
  CHECK_HAS(attend({4, 2}, {4, 2}, {4, 2}), "one number of heads");
  CHECK_HAS(attend({1, 0, 3, 2}, {1, 0, 3, 2}, {1, 0, 3, 2}), "one number of heads");
  CHECK_HAS(attend(q, two, two, /*gqa=*/false), "broadcast");
}

bool all_finite(const Tensor& t) {
  for (const double v : t.to_vector<double>())
    if (!std::isfinite(v)) return false;
  return true;
}

TEST_CASE("attention's mask is added before the causal one, and may hide everything") {
  Draw draw;
  const Tensor q = draw({2, 3, 4, 5}), k = draw({2, 3, 6, 5}), v = draw({2, 3, 6, 7}), bias = draw({6});
  const Tensor future = eq(tril(ones({4, 6}), 2), 0.0);
  CHECK(difference(scaled_dot_product_attention(q, k, v, {.causal = true, .scale = 1.0, .mask = bias}),
                   matmul(softmax(masked_fill(matmul(q, k.mT()) + bias, future, -kInf), -1), v)) == "");
  CHECK(difference(scaled_dot_product_attention(q, k, v, {.mask = zeros({4, 6}, DType::boolean)}),
                   zeros({2, 3, 4, 7}, DType::float64)) == "");
}

TEST_CASE("attention survives scores of any size, and rows that see nothing have gradient 0") {
  Draw draw;
  const Tensor q = (1e3 * draw({1, 1, 4, 3})).requires_grad_(),
               k = (1e3 * draw({1, 1, 2, 3})).requires_grad_();
  const Tensor v = draw({1, 1, 2, 3}).requires_grad_();
  const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});
  CHECK(all_finite(y));
  CHECK(difference(y.slice(2, 0, 2), zeros({1, 1, 2, 3}, DType::float64)) == "");
  const std::vector<Tensor> g = grad({sum(y * y)}, {q, k, v});
  for (const Tensor& t : g) CHECK(all_finite(t));
  CHECK(difference(g[0].slice(2, 0, 2), zeros({1, 1, 2, 3}, DType::float64)) == "");
}

TEST_CASE("attention's dropout takes words of its own for each weight") {
  Draw draw;
  const Tensor q = draw({3, 2, 5, 4}), k = draw({3, 2, 7, 4});
  Generator a(3), b(3);
  scaled_dot_product_attention(q, k, k, {.dropout = 0.5, .generator = &a});
  b.reserve(3 * 2 * 5 * 7);
  CHECK(a.state() == b.state());
  scaled_dot_product_attention(draw({3, 5, 24}), 2, {.causal = true, .dropout = 0.5, .generator = &a});
  b.reserve(3 * 2 * 5 * 5);
  CHECK(a.state() == b.state());
  scaled_dot_product_attention(q, k, k, {.generator = &a});
  CHECK(a.state() == b.state());

  // Among the entries of a batch, heads and queries, all alike, no two drop the same weights.
  const Tensor kept = scaled_dot_product_attention(ones({3, 2, 5, 64}), ones({3, 2, 64, 64}),
                                                   eye(64).reshape({1, 1, 64, 64}).expand({3, 2, 64, 64}),
                                                   {.dropout = 0.5, .generator = &a});
  const Tensor rows = kept.reshape({30, 64});
  for (int64_t i = 0; i < 30; ++i)
    for (int64_t j = 0; j < i; ++j) CHECK(difference(rows.select(0, i), rows.select(0, j), 0) != "");
}

TEST_CASE("attention of a packed projection is that of its parts, bit for bit") {
  Draw draw;
  const auto heads = [](const Tensor& part) { return part.reshape({2, 70, 3, 4}).transpose(1, 2); };
  const std::vector<AttentionOptions> all = {{},
                                             {.causal = true},
                                             {.causal = true, .scale = 0.3, .dropout = 0.4},
                                             {.mask = gt(draw({70, 70}), 0.0)},
                                             {.dropout = 1.0}};
  for (size_t i = 0; i < all.size(); ++i) {
    INFO("options " << i);
    Generator a(3), b(3);
    AttentionOptions of_packed = all[i], of_parts = all[i];
    of_packed.generator = &a;
    of_parts.generator = &b;
    const Tensor qkv = draw({2, 70, 36}).requires_grad_(), gy = draw({2, 70, 12});
    const Tensor y = scaled_dot_product_attention(qkv, 3, of_packed);
    const std::vector<Tensor> parts = qkv.split(12, 2);
    const Tensor expected =
        scaled_dot_product_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), of_parts)
            .transpose(1, 2)
            .reshape({2, 70, 12});
    CHECK(difference(y, expected, 0) == "");
    CHECK(difference(grad({sum(y * gy)}, {qkv})[0], grad({sum(expected * gy)}, {qkv})[0], 0) == "");
  }
}

TEST_CASE("attention refuses what does not fit") {
  const Tensor q = ones({1, 2, 3, 4});
  const auto attend = [&](const Tensor& k, const Tensor& v, const AttentionOptions& o) {
    return error_of([&] { scaled_dot_product_attention(q, k, v, o); });
  };
  CHECK_HAS(attend(ones({1, 2, 3, 5}), q, {}), "[scaled_dot_product_attention] needs q");
  CHECK_HAS(attend(q, ones({1, 2, 4, 4}), {}), "(1, 2, 4, 4)");
  CHECK_HAS(attend(ones({3, 3, 4}), ones({3, 3, 4}), {}), "broadcast");
  CHECK_HAS(attend(ones({4}), ones({4}), {}), "[scaled_dot_product_attention] needs q");
  CHECK_HAS(attend(q, q, {.mask = ones({4, 3})}), "[scaled_dot_product_attention]");
  CHECK_HAS(attend(q, q, {.mask = ones({5, 1, 2, 3, 3})}),
            "the mask must broadcast to the scores (1, 2, 3, 3), got (5, 1, 2, 3, 3)");
  CHECK_HAS(attend(q, q, {.mask = i64({1})}), "the mask must be bool or float32, got int64");
  CHECK_HAS(attend(q, q, {.dropout = 0.5}), "needs a generator");
  CHECK_HAS(attend(q, q, {.dropout = 1.5}), "dropout must be in [0, 1], got 1.5");

  const auto packed = [](const Tensor& qkv, int64_t n_head, const AttentionOptions& o = {}) {
    return error_of([&] { scaled_dot_product_attention(qkv, n_head, o); });
  };
  CHECK_HAS(packed(ones({1, 2, 12}), 3), "divides C, got (1, 2, 12) and 3");
  CHECK_HAS(packed(ones({1, 2, 12}), 0), "[scaled_dot_product_attention] needs qkv");
  CHECK_HAS(packed(ones({2, 12}), 2), "needs qkv (B, T, 3 C)");
  CHECK_HAS(packed(i64({1}), 1), "[scaled_dot_product_attention]");
  CHECK_HAS(packed(ones({1, 2, 12}), 2, {.dropout = 0.5}), "needs a generator");
}

}  // namespace gradus::test_ops_attention
