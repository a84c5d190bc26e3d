// Dropout, and attention with dropout, from torch generators: PyTorch's masks on both of its streams.
#include "autograd/compare.hpp"

namespace gradus::test_torch_dropout {

using namespace gradus::testing;

constexpr int64_t kSeed = 2024;

// MCG31m1 (L'Ecuyer, 1999), x -> 1132489760 x mod 2^31 - 1, where 2^31 counts as 1.
std::vector<double> kept_by_mkl(uint32_t word, int64_t n, double q) {
  constexpr uint64_t kModulus = 0x7FFFFFFF;
  uint64_t x = word % kModulus;
  if (x == 0) x = 1;
  std::vector<double> kept;
  for (int64_t i = 0; i < n; ++i) {
    kept.push_back(static_cast<double>(x) < q * static_cast<double>(kModulus));
    x *= 1132489760;
    while (x >> 31 != 0) x = (x & kModulus) + (x >> 31);
    if (x == kModulus) x = 0;
  }
  return kept;
}

/// CHECKs four dropouts of 20 ones: what is left of each, in PyTorch's digits, and where.
struct Dropped {
  double p, left;
  const char* kept;
};
void check_dropped(Generator& g, std::initializer_list<Dropped> all) {
  for (const auto& [p, left, kept] : all) {
    INFO("p " << p);
    std::vector<double> expected;
    for (const char* at = kept; *at != '\0'; ++at) expected.push_back(*at == '1' ? left : 0);
    CHECK(difference(dropout(ones({4, 5}), p, g), f32(expected, {4, 5}), 0) == "");
  }
}

TEST_CASE("dropout as PyTorch without MKL: two words an element") {
  Generator g = Generator::torch(kSeed);
  check_dropped(g, {{0.5, 2, "10100111111100010000"},
                    {0.2, 1.25, "11010111111111111111"},
                    {0.1, 1.1111112, "11111101111111111111"},
                    {0.9, 10, "00000000000000101000"}});
  CHECK(g.next() == 2145862668U);
  CHECK(g.next() == 1666937741U);
}

TEST_CASE("dropout as PyTorch with MKL: one word a tensor") {
  Generator g = Generator::torch_mkl(kSeed);
  check_dropped(g, {{0.5, 2, "10010011011100100100"},
                    {0.2, 1.25, "11110111110101111111"},
                    {0.1, 1.1111112, "11111111111011011111"},
                    {0.9, 10, "00000110000000000000"}});
  CHECK(g.next() == 808106523U);
  CHECK(g.next() == 2555999780U);
}

TEST_CASE("MKL's masks are those of its generator, for any word and size") {
  for (int64_t seed = 0; seed < 20; ++seed)
    for (const int64_t n : {1, 15, 33, 1000}) {
      Generator g = Generator::torch_mkl(seed), words = g;
      const double p = 0.05 + 0.045 * static_cast<double>(seed);
      const Tensor y = dropout(ones({n}, DType::float64), p, g);
      CHECK(difference(y, f64(kept_by_mkl(words.next(), n, 1 - p)) / (1 - p), 0) == "");
      CHECK(g == words);
    }
}

TEST_CASE("one stream may change between the two ways") {
  Generator a = Generator::torch(kSeed), b = Generator::torch_mkl(kSeed);
  a.discard(7);
  b.discard(7);
  a.as_torch()->set_masks(TorchStream::Masks::mkl);
  CHECK(a == b);
  CHECK(difference(dropout(ones({9}), 0.5, a), dropout(ones({9}), 0.5, b), 0) == "");
}

TEST_CASE("masks do not depend on the dtype, nor on the layout: elements are masked in row-major order") {
  for (const Generator& start : {Generator::torch(3), Generator::torch_mkl(3)}) {
    Generator g = start;
    const Tensor x = randn({7, 5}, g).to(DType::float64);
    Generator a = start, b = start, c = start;
    const Tensor y = dropout(x, 0.3, a);
    CHECK(difference(dropout(x.to(DType::float32), 0.3, b).to(DType::float64), y, 1e-6) == "");
    CHECK(difference(dropout(x.mT().contiguous().mT(), 0.3, c), y, 0) == "");
    CHECK(a == b);
    CHECK(a == c);
  }
}

TEST_CASE("a dropped element is x times 0; the others are x times 1 / (1 - p), rounded before") {
  Generator g = Generator::torch(1);
  const Tensor every = full({3}, -1.0);
  CHECK(std::signbit(dropout(every, 1.0, g).at({0})));
  CHECK(std::isnan(dropout(full({1}, kInf), 1.0, g).item()));
  const Tensor x = uniform({200}, 1.0, 2.0, g);
  const std::vector<float> before = x.to_vector<float>(), after = dropout(x, 0.1, g).to_vector<float>();
  int kept = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK((after[i] == 0 || after[i] == before[i] * (1.0F / 0.9F)));
    kept += after[i] != 0;
  }
  CHECK((kept > 150 && kept < 200));
}

TEST_CASE("dropout that needs no mask draws none") {
  for (const Generator& start : {Generator::torch(2), Generator::torch_mkl(2)}) {
    Generator g = start;
    const Tensor x = ones({3, 4});
    CHECK(dropout(x, 0.0, g).raw_data() == x.raw_data());
    CHECK(difference(dropout(x, 1.0, g), zeros({3, 4}), 0) == "");
    CHECK(dropout(ones({0, 4}), 0.5, g).shape() == Shape{0, 4});
    CHECK(dropout(ones({0, 4}), 1.0, g).shape() == Shape{0, 4});
    CHECK(g == start);
  }
}

TEST_CASE("attention from a torch generator drops what PyTorch's softmax, dropout, matmul would") {
  for (const Generator& start : {Generator::torch(5), Generator::torch_mkl(5)})
    for (const bool causal : {false, true}) {
      Generator draw(1);
      const Tensor q = randn({2, 3, 4, 5}, draw, DType::float64),
                   k = randn({2, 3, 4, 5}, draw, DType::float64),
                   v = randn({2, 3, 4, 5}, draw, DType::float64);
      Generator a = start, b = start;
      Tensor scores = matmul(q, k.mT()) / std::sqrt(5.0);
      const Tensor future = eq(tril(ones({4, 4}), 0), 0.0);
      if (causal) scores = masked_fill(scores, future, -kInf);
      const Tensor expected = matmul(dropout(softmax(scores, -1), 0.4, a), v);
      const AttentionOptions options{.causal = causal, .dropout = 0.4, .generator = &b};
      CHECK(difference(scaled_dot_product_attention(q, k, v, options), expected) == "");
      CHECK(a == b);
    }
}

TEST_CASE("attention from a torch generator: no dropout draws nothing, a row that sees nothing gives zeros") {
  Generator g = Generator::torch(6), draw(2);
  const Generator before = g;
  const Tensor q = randn({1, 2, 4, 3}, draw, DType::float64).requires_grad_(),
               k = randn({1, 2, 2, 3}, draw, DType::float64);
  const Tensor plain = scaled_dot_product_attention(q, k, k, {.causal = true});
  CHECK(difference(scaled_dot_product_attention(q, k, k, {.causal = true, .generator = &g}), plain, 0) == "");
  CHECK(g == before);
  const AttentionOptions half{.causal = true, .dropout = 0.5, .generator = &g};
  const Tensor y = scaled_dot_product_attention(q, k, k, half);
  CHECK(g != before);
  CHECK(difference(y.slice(2, 0, 2), zeros({1, 2, 2, 3}, DType::float64), 0) == "");
  const Tensor gq = grad({sum(y * y)}, {q})[0];
  CHECK(difference(gq.slice(2, 0, 2), zeros({1, 2, 2, 3}, DType::float64), 0) == "");
  CHECK(std::isfinite(sum(gq).item()));
}

}  // namespace gradus::test_torch_dropout
