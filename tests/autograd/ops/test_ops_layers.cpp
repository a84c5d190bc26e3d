// Norms, losses, dropout and attention at their edges; tests/tools/conform has PyTorch's answers to plain
// calls.
#include "autograd/compare.hpp"

namespace gradus::test_ops_layers {

using namespace gradus::testing;

class Draw {
 public:
  Tensor operator()(const Shape& shape) { return randn(shape, generator_, DType::float64); }

 private:
  Generator generator_{6};
};

bool all_finite(const Tensor& t) {
  for (const double v : t.to_vector<double>())
    if (!std::isfinite(v)) return false;
  return true;
}

TEST_CASE("layer_norm of a constant row, of one element, far from 0") {
  const Tensor x = leaf({3, 3, 3, 1, 2, 3}, {2, 3});
  const Tensor y = layer_norm(x, {3});
  CHECK(difference(y.select(0, 0), f64({0, 0, 0})) == "");
  const Tensor g = grad({y}, {x}, {.grad_outputs = {f64({1, 2, 3, 1, 2, 4}, {2, 3})}})[0];
  CHECK(all_finite(g));
  CHECK(difference(g.select(0, 0), f64({-1, 0, 1}) / std::sqrt(1e-5), 1e-9) == "");
  const Tensor one = leaf({5, 7}, {2, 1});
  const Tensor z = layer_norm(one, {1});
  CHECK(difference(z, f64({0, 0}, {2, 1})) == "");
  CHECK(difference(grad({sum(z)}, {one})[0], f64({0, 0}, {2, 1})) == "");
  CHECK(difference(layer_norm(f64({1, 2, 3}, {1, 3}) + 1e8, {3}), layer_norm(f64({1, 2, 3}, {1, 3}), {3}),
                   1e-7) == "");
}

TEST_CASE("rms_norm is x / sqrt(mean(x^2) + eps) * weight") {
  Draw draw;
  const Tensor x = 3.0 * draw({4, 5, 6}) + 2.0;
  for (const int dims : {1, 2}) {
    const autograd::Dims over = dims == 1 ? autograd::Dims{-1} : autograd::Dims{-2, -1};
    const Shape shape = dims == 1 ? Shape{6} : Shape{5, 6};
    const Tensor w = draw(shape), plain = x / sqrt(mean(x * x, over, true) + 0.25);
    CHECK(difference(rms_norm(x, shape, {}, 0.25), plain) == "");
    CHECK(difference(rms_norm(x, shape, w, 0.25), plain * w) == "");
    const Tensor single = rms_norm(x.to(DType::float32), shape, w.to(DType::float32), 0.25);
    CHECK(difference(single.to(DType::float64), plain * w, 1e-5) == "");
  }
  CHECK(difference(rms_norm(x.transpose(0, 2), {4}), rms_norm(x.transpose(0, 2).contiguous(), {4})) == "");
}

TEST_CASE("the eps of rms_norm is the dtype's if none is given") {
  const Tensor zero = leaf({0, 0}, {2});
  CHECK(difference(grad({rms_norm(zero, {2})}, {zero}, {.grad_outputs = {f64({1, 2})}})[0],
                   f64({1, 2}) * 0x1p26) == "");
  CHECK(rms_norm(full({1}, 0x1p-12), {1}).item() == Catch::Approx(std::sqrt(1 / 3.0)).epsilon(1e-6));
}

TEST_CASE("rms_norm and layer_norm refuse shapes that do not fit") {
  CHECK_THROWS_WITH(rms_norm(ones({2, 3}), {2}),
                    "[rms_norm] normalized_shape must be x's last dimensions, got (2,) and x (2, 3).");
  CHECK_THROWS_WITH(rms_norm(ones({2, 3}), {3}, ones({2})), "[rms_norm] a parameter must be (3,), got (2,).");
  CHECK_ERROR(rms_norm(ones({2, 3}), {3}, f64({1, 2, 3})), "one dtype");
  CHECK_ERROR(layer_norm(ones({2, 3}), {2}), "[layer_norm]");
  CHECK_ERROR(layer_norm(ones({3}), {2, 3}), "[layer_norm]");
  CHECK_ERROR(layer_norm(ones({2, 3}), {3}, ones({2})), "[layer_norm]");
  CHECK_ERROR(layer_norm(ones({2, 3}), {3}, ones({3}), ones({1})), "[layer_norm]");
}

TEST_CASE("cross_entropy of large logits, and what counts if a class is ignored") {
  CHECK(cross_entropy(f64({1e4, 0, -1e4}, {1, 3}), i64({2})).item() == 2e4);
  Draw draw;
  const Tensor x = draw({4, 3}), t = i64({2, 0, 1, 1});
  const Tensor rows = cross_entropy(x, t, -100, Reduction::none).slice(0, 0, 2);
  CHECK(difference(cross_entropy(x, t, 1), mean(rows)) == "");
}

TEST_CASE("cross_entropy with everything ignored is NaN with gradient 0; with no rows NaN") {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = cross_entropy(x, i64({7, 7}), 7);
  CHECK(std::isnan(y.item()));
  CHECK(difference(grad({y}, {x}, {.retain_graph = true})[0], zeros({2, 3}, DType::float64)) == "");
  CHECK(difference(grad({y}, {x}, {.create_graph = true})[0], zeros({2, 3}, DType::float64)) == "");
  CHECK(cross_entropy(x, i64({7, 7}), 7, Reduction::sum).item() == 0);
  const Tensor none = leaf({}, {0, 3});
  const Tensor z = cross_entropy(none, i64({}));
  CHECK(std::isnan(z.item()));
  CHECK(grad({z}, {none})[0].shape() == Shape{0, 3});
}

TEST_CASE("cross_entropy refuses targets outside the classes") {
  const Tensor x = ones({2, 3});
  CHECK_ERROR(cross_entropy(x, i64({0, 3})), "[cross_entropy] target 3 (row 1) is outside [0, 3)");
  CHECK_ERROR(cross_entropy(x, i64({0, -1})), "target -1");
  CHECK_ERROR(cross_entropy(x, i64({0})), "needs logits (N, V)");
  CHECK_ERROR(cross_entropy(x, ones({2})), "int64 targets");
}

TEST_CASE("dropout keeps 1 - p of the elements, scaled; backward uses the same mask") {
  Generator generator(1);
  const int64_t n = 100'000;
  for (const double p : {0.1, 0.5, 0.9}) {
    Tensor x = ones({n}, DType::float64).requires_grad_();
    const Tensor y = dropout(x, p, generator);
    int64_t kept = 0;
    for (const double v : y.to_vector<double>()) {
      REQUIRE((v == 0 || v == 1 / (1 - p)));
      kept += v != 0;
    }
    CHECK(std::abs(static_cast<double>(kept) - (1 - p) * n) < 5 * std::sqrt(p * (1 - p) * n));
    sum(y).backward();
    CHECK(difference(x.grad(), y, 0) == "");
  }
}

TEST_CASE("dropout draws anew each time, and the same from the same state") {
  Generator a(1), b(1);
  const Tensor x = ones({1000});
  const Tensor first = dropout(x, 0.5, a);
  CHECK(difference(dropout(x, 0.5, b), first, 0) == "");
  CHECK(difference(dropout(x, 0.5, a), first, 0) != "");
  CHECK(difference(dropout(x, 0.5, b).reshape({1000}), first, 0) != "");
  const Generator before = a;
  CHECK(difference(dropout(x, 0.0, a), x, 0) == "");
  CHECK(a == before);
  CHECK(difference(dropout(x, 1.0, a), zeros({1000}), 0) == "");
  CHECK_ERROR(dropout(x, 1.5, a), "[dropout] p must be in [0, 1], got 1.5");
  CHECK_ERROR(dropout(x, std::nan(""), a), "[dropout]");
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

TEST_CASE("attention's dropout drops weights, not outputs") {
  Draw draw;
  const Tensor q = draw({1, 2, 50, 4}), k = draw({1, 2, 60, 4});
  const Tensor v = ones({1, 2, 60, 1}, DType::float64).expand({1, 2, 60, 4});
  Generator a(3), b(3);
  const AttentionOptions dropped{.dropout = 0.5, .generator = &a};
  const Tensor y = scaled_dot_product_attention(q, k, v, dropped);
  // Rows of weights add up to 1 before; after it, to 1 on average, but each row to something else.
  CHECK(std::abs(mean(y).item() - 1) < 0.1);
  CHECK(var(y.select(3, 0)).item() > 1e-4);
  const AttentionOptions again{.dropout = 0.5, .generator = &b};
  CHECK(difference(scaled_dot_product_attention(q, k, v, again), y, 0) == "");
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

}  // namespace gradus::test_ops_layers
