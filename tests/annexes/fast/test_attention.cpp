// Attention by tiles and its gradients against the definitions of operations.
#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"

namespace gradus::test_attention {

using namespace gradus::testing;
using vectors::at_each_level;

struct Case {
  int64_t batch, heads, q_len, k_len, size;
  bool causal;
  double dropout = 0;
  int64_t kv_heads = 0;
};
using Tensors = std::vector<Tensor>;

/// q, k, v and the gradient of the result.
Tensors inputs_of(const Case& c, DType dtype) {
  Generator g(1);
  const auto draw = [&](int64_t heads, int64_t length) {
    return uniform({c.batch, heads, length, c.size}, -1, 1, g).to(dtype);
  };
  const int64_t kv_heads = c.kv_heads > 0 ? c.kv_heads : c.heads;
  return {draw(c.heads, c.q_len), draw(kv_heads, c.k_len), draw(kv_heads, c.k_len), draw(c.heads, c.q_len)};
}

/// The result and the gradients of q, k and v.
Tensors run(const Case& c, const Tensors& in) {
  Generator g(77);
  Tensors leaves;
  for (size_t i = 0; i < 3; ++i) leaves.push_back(in[i].detach().requires_grad_());
  const Tensor y = scaled_dot_product_attention(
      leaves[0], leaves[1], leaves[2],
      {.causal = c.causal, .dropout = c.dropout, .generator = &g, .enable_gqa = c.kv_heads > 0});
  Tensors all = grad({y}, leaves, {.grad_outputs = {in[3]}});
  all.insert(all.begin(), y.detach());
  return all;
}

Tensors wide(Tensors all) {
  for (Tensor& x : all) x = x.to(DType::float64);
  return all;
}

Tensors by_definition(const Case& c, const Tensors& in) {
  const vectors::AtLevel reference("reference");
  return run(c, wide(in));
}

/// Compares with `expected`, for one thread and two. Returns the results.
Tensors check(const Case& c, const Tensors& in, const Tensors& expected, double forward, double backward) {
  CAPTURE(c.batch, c.heads, c.kv_heads, c.q_len, c.k_len, c.size, c.causal, c.dropout);
  std::vector<Tensors> results;
  for (const int threads : {1, 2}) {
    const vectors::Threads guard(threads);
    results.push_back(run(c, in));
  }
  const Tensors got = wide(results[0]);
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(difference(got[i], expected[i], i == 0 ? forward : backward) == "");
    CHECK(difference(results[0][i], results[1][i], 0) == "");
  }
  return got;
}

void check(const Case& c, DType dtype) {
  const Tensors in = inputs_of(c, dtype), expected = by_definition(c, in);
  const double tolerance = dtype == DType::float32 ? 2e-5 : 4e-14;
  check(c, in, expected, tolerance, tolerance);
}

TEST_CASE("attention and its gradients agree with the definition", "[attention]") {
  std::vector<Case> cases = {{1, 2, 600, 600, 8, true},  // several tiles of keys
                             {1, 1, 90, 800, 24, false, 0.2},
                             {8, 6, 64, 64, 32, true},
                             {1, 2, 9, 9, 4, true, 1.0}};
  const int64_t lengths[][2] = {{1, 1},  {7, 7},   {64, 64},  {100, 100}, {1, 50},    {1, 700}, {3, 70},
                                {70, 3}, {80, 10}, {130, 65}, {65, 300},  {100, 513}, {0, 5},   {5, 0}};
  for (const bool causal : {false, true}) {
    for (const auto& [q_len, k_len] : lengths) cases.push_back({2, 2, q_len, k_len, 16, causal});
    for (const int64_t length : {1, 31, 65})
      for (const int64_t size : {1, 8, 64}) cases.push_back({2, 3, length, length, size, causal});
    for (const int64_t kv_heads : {1, 2, 3})
      for (const Case& c : {Case{2, 6, 7, 7, 8, causal}, Case{2, 6, 70, 301, 8, causal, 0.2},
                            Case{1, 6, 70, 3, 4, causal}, Case{1, 6, 0, 3, 4, causal}}) {
        cases.push_back(c);
        cases.back().kv_heads = kv_heads;
      }
    for (const double dropout : {0.1, 0.5, 0.9}) cases.push_back({2, 3, 31, 31, 8, causal, dropout});
  }
  for (const Case& c : cases)
    for (const DType dtype : {DType::float32, DType::float64}) check(c, dtype);
}

TEST_CASE("attention agrees with the definition at every level of the machine", "[attention]") {
  for (const int64_t size : {1, 5, 16, 40})
    for (const Case& c : {Case{1, 2, 67, 67, size, true, 0.1}, Case{1, 2, 5, 290, size, false},
                          Case{1, 4, 67, 67, size, true, 0, 2}})
      for (const DType dtype : {DType::float32, DType::float64}) at_each_level([&] { check(c, dtype); });
}

TEST_CASE("a maximum that grows from tile to tile", "[attention]") {
  const Case c{1, 1, 3, 900, 2, false};
  for (const auto& [dtype, tolerance] : {std::pair{DType::float32, 1e-4}, {DType::float64, 1e-12}}) {
    Tensors in = inputs_of(c, dtype);
    in[0] = ones(in[0].shape(), dtype);
    const Tensor up = arange(0, 900, 1, DType::float64) * 0.1;
    in[1] = minimum(up, 90.0 - up).to(dtype).reshape({1, 1, 900, 1}).expand({1, 1, 900, 2}).contiguous();
    check(c, in, by_definition(c, in), tolerance, tolerance);
  }
}

TEST_CASE("rounded to bfloat16, attention is that of rounded operands, within what rounding weights allows",
          "[attention]") {
  // Weights and the gradients of scores are rounded too, half an ulp of 2^-8 each: of a mean of values of
  // one, weighted, that moves the mean by as much; a few of them come together in gq and gk.
  constexpr double kForward = 0.015, kBackward = 0.06;
  std::vector<Case> cases = {{4, 4, 300, 300, 40, true},  // all tiles of a head together
                             {1, 2, 70, 513, 64, true},
                             {1, 1, 90, 600, 16, false, 0.2},
                             {2, 4, 70, 70, 32, true, 0, 2}};
  for (const bool causal : {false, true})
    for (const int64_t length : {1, 31, 65, 130}) cases.push_back({2, 3, length, length, 24, causal});
  for (const Case& c : cases) {
    const Tensors in = inputs_of(c, DType::float32);
    Tensors rounded;
    for (const Tensor& x : in) rounded.push_back(x.to(DType::bfloat16).to(DType::float32));
    const Tensors expected = by_definition(c, rounded);
    at_each_level([&] {
      const Tensors plain = wide(run(c, in));
      const Autocast bf16(DType::bfloat16);
      const Tensors got = check(c, in, expected, kForward, kBackward);
      for (size_t i = 0; i < got.size() && c.k_len > 1; ++i) CHECK(difference(got[i], plain[i], 0) != "");
    });
  }
}

TEST_CASE("large scores neither overflow nor lose the gradient", "[attention]") {
  const Case c{1, 1, 20, 20, 4, true};
  Tensors in = inputs_of(c, DType::float32);
  in[0] = in[0] * 300.0;
  check(c, in, by_definition(c, in), 1e-3, 1e-2);
}

TEST_CASE("NaN in a query stays in its row", "[attention]") {
  const Case c{1, 1, 30, 30, 4, false};
  for (const DType dtype : {DType::float32, DType::float64}) {
    Tensors in = inputs_of(c, dtype);
    in[0].slice(2, 7, 8).fill_(kNan);
    const Tensor y = run(c, in)[0];
    for (int64_t i = 0; i < 30; ++i) CHECK(std::isnan(y.at({0, 0, i, 0})) == (i == 7));
  }
}

}  // namespace gradus::test_attention
