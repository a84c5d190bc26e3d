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

TEST_CASE("queries are grouped, also where no kernel does it: masks, fewer dimensions; a mask may hide all") {
  Generator g(10);
  const Tensor q = randn({2, 4, 3, 2}, g, DType::float64), k = randn({2, 2, 5, 2}, g, DType::float64),
               v = randn({2, 2, 5, 2}, g, DType::float64);
  const Tensor all = zeros({3, 5}, DType::float64);
  std::vector<Tensor> heads;  // head h of q meets head h / 2 of k and v
  for (int64_t h = 0; h < 4; ++h) {
    const Tensor scores = matmul(q.select(1, h), k.select(1, h / 2).mT()) / std::sqrt(2.0);
    heads.push_back(matmul(softmax(scores, -1), v.select(1, h / 2)));
  }
  const Tensor expected = stack(heads, 1);
  CHECK(difference(scaled_dot_product_attention(q, k, v, {.enable_gqa = true}), expected) == "");
  CHECK(difference(scaled_dot_product_attention(q, q, q, {.mask = zeros({3, 3}, DType::boolean)}),
                   zeros(q.shape(), DType::float64)) == "");  // PyTorch: NaN
  CHECK(difference(scaled_dot_product_attention(q, k, v, {.mask = all, .enable_gqa = true}), expected) == "");
  CHECK(difference(scaled_dot_product_attention(q.select(0, 1), k.select(0, 1), v.select(0, 1),
                                                {.enable_gqa = true}),
                   expected.select(0, 1)) == "");
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
  const auto heads = [](const Tensor& part) {
    return part.reshape({2, 70, 3, 4}).transpose(1, 2).contiguous();
  };
  const std::vector<AttentionOptions> all = {{},
                                             {.causal = true},
                                             {.causal = true, .scale = 0.3, .dropout = 0.4},
                                             {.mask = gt(draw({70, 70}), 0.0)},
                                             {.dropout = 1.0}};
  for (size_t i = 0; i < 2 * all.size(); ++i) {
    INFO("options " << i);
    const DType dtype = i < all.size() ? DType::float64 : DType::float32;
    Generator a(3), b(3);
    AttentionOptions of_packed = all[i % all.size()], of_parts = of_packed;
    of_packed.generator = &a;
    of_parts.generator = &b;
    const Tensor qkv = draw({2, 70, 36}).to(dtype).requires_grad_(), gy = draw({2, 70, 12}).to(dtype);
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
  const Tensor q = ones({1, 2, 3, 4}), odd = ones({4, 2}), four = ones({1, 4, 3, 2}),
               two = ones({1, 2, 3, 2}), packed = ones({1, 2, 12}), none = ones({1, 0, 3, 2});
  const struct {
    Tensor q, k, v;
    AttentionOptions options;
    const char* text;
  } parts[] = {
      {q, ones({1, 2, 3, 5}), q, {}, "[scaled_dot_product_attention] needs q"},
      {q, q, ones({1, 2, 4, 4}), {}, "(1, 2, 4, 4)"},
      {q, ones({3, 3, 4}), ones({3, 3, 4}), {}, "broadcast"},
      {q, ones({4}), ones({4}), {}, "[scaled_dot_product_attention] needs q"},
      {q, q, q, {.mask = ones({4, 3})}, "[scaled_dot_product_attention]"},
      {q,
       q,
       q,
       {.mask = ones({5, 1, 2, 3, 3})},
       "the mask must broadcast to the scores (1, 2, 3, 3), got (5, 1, 2, 3, 3)"},
      {q, q, q, {.mask = i64({1})}, "the mask must be bool or float32, got int64"},
      {q, q, q, {.dropout = 0.5}, "needs a generator"},
      {q, q, q, {.dropout = 1.5}, "dropout must be in [0, 1], got 1.5"},
      {q, q, q, {.window = 2}, "window must be 0, or above 0 with causal, got 2."},
      {q, q, q, {.causal = true, .window = -1}, "got -1."},
      {q, q, q, {.starts = ones({1, 3})}, "starts must be int64 (B, T)"},
      {q, q, q, {.starts = tensor(std::vector<int64_t>{0, 0}, {1, 2})}, "(1, 2)"},
      {four,
       ones({1, 3, 3, 2}),
       ones({1, 3, 3, 2}),
       {.enable_gqa = true},
       "[scaled_dot_product_attention] with enable_gqa k and v must have one number of heads, which divides "
       "q's, got (1, 4, 3, 2), (1, 3, 3, 2) and (1, 3, 3, 2)."},
      {four, two, ones({1, 1, 3, 2}), {.enable_gqa = true}, "one number of heads"},
      {odd, odd, odd, {.enable_gqa = true}, "one number of heads"},
      {none, none, none, {.enable_gqa = true}, "one number of heads"},
      {four, two, two, {}, "broadcast"},
  };
  for (const auto& c : parts)
    check_error(c.text, [&] { scaled_dot_product_attention(c.q, c.k, c.v, c.options); });

  const struct {
    Tensor qkv;
    int64_t n_head;
    double dropout;
    const char* text;
  } whole[] = {
      {packed, 3, 0, "divides C, got (1, 2, 12) and 3"},
      {packed, 0, 0, "[scaled_dot_product_attention] needs qkv"},
      {ones({2, 12}), 2, 0, "needs qkv (B, T, 3 C)"},
      {i64({1}), 1, 0, "[scaled_dot_product_attention]"},
      {packed, 2, 0.5, "needs a generator"},
  };
  for (const auto& c : whole)
    check_error(c.text, [&] { scaled_dot_product_attention(c.qkv, c.n_head, {.dropout = c.dropout}); });
}

}  // namespace gradus::test_ops_attention
