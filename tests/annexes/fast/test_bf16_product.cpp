// Products in bfloat16 beside float64, beside models of the instructions, and for any number of threads.
#include "gradus/annexes/fast/bf16/bf16_product.hpp"

#include "bf16_model.hpp"

namespace gradus::kernels::test_bf16_product {

using namespace vectors;
using namespace bf16_model;

constexpr int64_t kEdges[] = {1, 15, 16, 17, 31, 32, 33, 100};

/// The largest error beside float32 sums of k products: gamma(k + 2) of the terms, if none is subnormal.
double worst_error(const Bf16Operands& o, const std::vector<float>& c, const Start& start = from_zero) {
  const auto sums = plain::product(o.m, o.n, o.k, plain::matrix(o.m, o.k, o.left, o.padded()),
                                   plain::matrix(o.n, o.k, o.right, o.padded()), start);
  return plain::worst_error(c, sums) / (static_cast<double>(o.k + 2) * 0x1p-24);
}

/// How many have other bits. NaN have none of their own: which one of several goes on is nobody's business.
int64_t differing(const std::vector<float>& got, const std::vector<float>& want) {
  int64_t count = 0;
  for (size_t i = 0; i < got.size(); ++i)
    count += std::isnan(want[i]) ? !std::isnan(got[i])
                                 : std::bit_cast<uint32_t>(got[i]) != std::bit_cast<uint32_t>(want[i]);
  return count;
}

void name_other_rounding(Bf16Unit unit) {
  static std::set<Bf16Unit> named;
  if (named.insert(unit).second)
    WARN("this processor's " << isa_name(unit) << " rounds otherwise than the manual says");
}

/// Whether a unit's product is right. Loops of ours have the bits of the model. How an instruction rounds in
/// itself is the processor's: one that does it otherwise than the manual says is named, and held to the bound
/// (test_bf16_emulated holds the kernels to the manual).
bool is_right(Bf16Unit unit, const Bf16Operands& o, const std::vector<float>& c,
              const Start& start = from_zero) {
  if (same_bits(c, o.product(dot_of(unit), start))) return true;
  if (unit == Bf16Unit::widened) return false;
  name_other_rounding(unit);
  return worst_error(o, c, start) < 1;
}

TEST_CASE("products around the edges of tiles have the bits of the unit's model, and are right") {
  // Each pair of sizes with two depths: in all, each size meets each depth.
  for (size_t i = 0; i < std::size(kEdges); ++i)
    for (size_t j = 0; j < std::size(kEdges); ++j)
      for (const size_t depth : {i + j, i + 3 * j + 1}) {
        const int64_t m = kEdges[i], n = kEdges[j], k = kEdges[depth % std::size(kEdges)];
        INFO("m " << m << ", n " << n << ", k " << k);
        const Bf16Operands o(m, n, k);
        const PackedBf16 left = o.packed_left(), right = o.packed_right();
        for (const Bf16Unit unit : available_isas<Bf16Unit>()) {
          INFO("unit " << isa_name(unit));
          const std::vector<float> c = product(bf16_kernel(unit), left, right, {}, 3);
          CHECK(is_right(unit, o, c));
          CHECK(worst_error(o, c) < 1);
          at_each_level([&] { CHECK(same_bits(product(bf16_kernel(unit), left, right, {}, 3), c)); });
        }
      }
}

TEST_CASE("long sums, cut along k, have the bits of the model, for any number of threads") {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{70, 20, 600},
                                {200, 70, 129},
                                {20, 600, 65},
                                {300, 20, 33},
                                {20, 70, 1100},
                                {70, 20, 1023}}) {
    INFO("m " << m << ", n " << n << ", k " << k);
    const Bf16Operands o(m, n, k);
    const PackedBf16 left = o.packed_left(), right = o.packed_right();
    at_each_unit([&](Bf16Unit unit) {
      const std::vector<float> c = product(bf16_kernel(unit), left, right);
      CHECK(is_right(unit, o, c));
      for (const int count : {1, 2, 3}) {
        const Threads threads(count);
        CHECK(same_bits(product(bf16_kernel(unit), left, right), c));
      }
    });
  }
}

TEST_CASE("parts of a deep k are multiplied where they lie") {
  const Bf16Operands o(40, 70, 1100);
  const PackedBf16 left = o.packed_left(), right = o.packed_right();
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 64}, {32, 96}, {1024, 1100}}) {
    std::vector<float> a, b;
    for (int64_t i = 0; i < o.m; ++i) a.insert(a.end(), &o.a[i * o.k + begin], &o.a[i * o.k + end]);
    for (int64_t j = 0; j < o.n; ++j) b.insert(b.end(), &o.b[j * o.k + begin], &o.b[j * o.k + end]);
    const Bf16Operands part(o.m, o.n, end - begin, a, b);
    at_each_unit([&, begin = begin, end = end](Bf16Unit unit) {
      const Bf16Kernel& kernel = bf16_kernel(unit);
      CHECK(same_bits(product(kernel, left.part_of_k(begin, end), right.part_of_k(begin, end)),
                      product(kernel, part.packed_left(), part.packed_right())));
    });
  }
}

TEST_CASE("rows that are packed and multiplied at once have the product and the forms of both steps") {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                {20, 16, 33},
                                {600, 40, 70},
                                {513, 300, 129},
                                {600, 300, 1030},
                                {40, 600, 65},
                                {300, 280, 1030},
                                {0, 5, 7},
                                {7, 5, 0}}) {
    INFO("m " << m << ", n " << n << ", k " << k);
    const Bf16Operands o(m, n, k);
    const PackedBf16 left = o.packed_left(), right = o.packed_right();
    const std::vector<float> old = values<float>(m * n, 5, 9);
    at_each_unit([&, m = m, n = n, k = k](Bf16Unit) {
      std::vector<float> want = old;
      multiply_bf16(left, right, want.data(), n, {.from = want.data()});
      const auto bytes = static_cast<size_t>(packed_bytes(Side::right, m, k));
      PackedBf16 right_form = packed_matrix(Side::right, m, k),
                 packed_form = packed_matrix(Side::right, m, k);
      std::memset(static_cast<void*>(right_form.tiles), 0xEE, bytes);
      std::memset(static_cast<void*>(packed_form.tiles), 0xEE, bytes);
      pack(Trans::no, o.a.data(), k, right_form);
      for (const int count : {1, 2, 3}) {
        const Threads threads(count);
        std::vector<float> got = old;
        pack_and_multiply_bf16({.rows = m, .columns = k, .x = o.a.data(), .ldx = k}, {.right = &packed_form},
                               right, got.data(), n, {.from = got.data()});
        CHECK(same_bits(got, want));
        CHECK(std::memcmp(packed_form.tiles, right_form.tiles, bytes) == 0);
      }
    });
  }
}

TEST_CASE("sums begin with what stands in c, or with a bias") {
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{33, 50, 70}, {32, 64, 200}, {200, 70, 40}, {17, 18, 1030}}) {
    const Bf16Operands o(m, n, k);
    const PackedBf16 left = o.packed_left(), right = o.packed_right();
    const std::vector<float> old = values<float>(m * n, 5, 9), bias = values<float>(n, 4, 8);
    const auto from_old = [&, columns = n](int64_t i, int64_t j) {
      return old[static_cast<size_t>(i * columns + j)];
    };
    const auto from_bias = [&](int64_t, int64_t j) { return bias[static_cast<size_t>(j)]; };
    at_each_unit([&](Bf16Unit unit) {
      CHECK(is_right(unit, o, product(bf16_kernel(unit), left, right, {}, 5, old), from_old));
      CHECK(is_right(unit, o, product(bf16_kernel(unit), left, right, {.bias = bias.data()}, 5, old),
                     from_bias));
    });
  }
}

TEST_CASE("NaN, infinities, zeros with a sign and subnormal numbers go as the unit's model says") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float kinds[] = {0.0F,     -0.0F,     1.0F,       -1.5F,     inf,      -inf,
                         nan,      0x1p-133F, -0x1p-127F, 0x1p-126F, 0x1p-63F, -0x1p-64F,
                         0x1p100F, -0x1p127F, 0x1.8p-70F, 3.25F,     0x1p-20F};
  const int64_t m = 48, n = 40;
  for (const int64_t k : {1, 2, 3, 40}) {
    INFO("k " << k);
    std::vector<float> a = values<float>(m * k), b = values<float>(n * k, 3, 7);
    const auto count = static_cast<int64_t>(std::size(kinds));
    for (int64_t i = 0; i < m; ++i) a[static_cast<size_t>(i * k + i % k)] = kinds[i % count];
    for (int64_t j = 0; j < n; ++j) b[static_cast<size_t>(j * k + j * 3 % k)] = kinds[j * 5 % count];
    const Bf16Operands o(m, n, k, a, b);
    set_isa<Bf16Unit>(isa_name(Bf16Unit::widened));  // which packs subnormal numbers as they are
    const PackedBf16 left = o.packed_left(), right = o.packed_right();
    at_each_unit([&](Bf16Unit unit) {
      const std::vector<float> c = product(bf16_kernel(unit), left, right);
      const bool twice =
          unit == Bf16Unit::widened && differing(c, o.product(bf16_model::dot_rounded_twice)) == 0;
      const std::vector<float> want = o.product(dot_of(unit));
      const bool as_modelled = twice || differing(c, want) == 0;
      if (as_modelled || unit == Bf16Unit::widened) {
        CHECK(as_modelled);
        return;
      }
      name_other_rounding(unit);
      CHECK(std::equal(c.begin(), c.end(), want.begin(),
                       [](float x, float y) { return std::isnan(x) == std::isnan(y); }));
    });
  }
}

TEST_CASE("gram_bf16 has the bits of the product with the transpose") {
  for (const int64_t m : {1, 17, 64, 65, 130, 300})
    for (const int64_t k : {1, 40, 700}) {
      INFO("m " << m << ", k " << k);
      const std::vector<float> a = values<float>(m * k, 1);
      std::vector<float> c(static_cast<size_t>(m * m)), whole(c);
      const int64_t first = 0;
      for (const auto& [trans, other, lda] :
           {std::tuple{Trans::no, Trans::yes, k}, {Trans::yes, Trans::no, m}}) {
        gram_bf16(trans, m, k, a.data(), lda, c.data());
        gemm_batch_bf16(1, &first, &first, trans, other, m, m, k, a.data(), lda, a.data(), lda, whole.data());
        CHECK(same_bits(c, whole));
      }
    }
}

}  // namespace gradus::kernels::test_bf16_product
