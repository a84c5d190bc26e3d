// Weights of 8 and 4 bits in tiles, at each level and for any number of threads.
#include "autograd/kernels/plain.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::kernels::test_quantized {

using namespace vectors;

/// A matrix in tiles, and the numbers that they stand for.
template <class Tile>
struct Stored {
  Stored(int64_t n, int64_t k, const std::vector<float>& x)
      : tiles(static_cast<size_t>((n + kWeightRows - 1) / kWeightRows * tiles_of(k))),
        numbers(static_cast<size_t>(n * k)) {
    kernels.from_floats(n, k, tiles.data(), x.data());
    kernels.to_floats(0, n, k, numbers.data(), tiles.data());
  }
  const TileKernels& kernels = raw::tile_kernels(dtype_of<Tile>);
  std::vector<Tile> tiles;
  std::vector<float> numbers;
};

/// A row as it is rounded to meet the weights, in float64.
std::vector<double> rounded(int64_t k, const float* x) {
  std::vector<double> row(static_cast<size_t>(k));
  for (int64_t first = 0; first < k; first += kWeightColumns) {
    const int64_t n = std::min(kWeightColumns, k - first);
    float largest = 0;
    for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[first + i]));
    for (int64_t i = 0; i < n && largest > 0; ++i)
      row[static_cast<size_t>(first + i)] =
          std::nearbyint(x[first + i] * (127.0F / largest)) * static_cast<double>(largest) / 127.0;
  }
  return row;
}

std::vector<float> scaled(std::vector<float> x, double by) {
  for (float& value : x) value = static_cast<float>(value * by);
  return x;
}

/// The nearest float16, to even at half: 11 binary digits, none of them below 2^-24.
double in_float16(float x) {
  const double size = std::abs(static_cast<double>(x));
  const double step = std::max(0x1p-24, std::exp2(std::floor(std::log2(std::max(size, 0x1p-30))) - 10));
  return std::copysign(std::nearbyint(size / step) * step, static_cast<double>(x));
}

template <class Tile>
void check_products(std::initializer_list<int64_t> ks, std::initializer_list<int64_t> ns,
                    double weights = 1) {
  for (const int64_t k : ks)
    for (const int64_t n : ns)
      for (const int64_t m : {1, 2, 8, 9, 40}) {
        INFO("m " << m << ", n " << n << ", k " << k);
        const int64_t ldx = k + 3;
        const Stored<Tile> w(n, k, scaled(values<float>(n * k, 3, 2), weights));
        const std::vector<float> x = values<float>(m * ldx), bias = scaled(values<float>(n, 3, 3), weights);
        std::vector<float> y(static_cast<size_t>(m * n)), again(y.size()), alone(static_cast<size_t>(n));
        {
          const Threads one(1);
          w.kernels.linear(m, n, k, y.data(), x.data(), ldx, w.tiles.data(), bias.data());
        }
        const Threads three(3);
        w.kernels.linear(m, n, k, again.data(), x.data(), ldx, w.tiles.data(), bias.data());
        CHECK(same_bits(y, again));
        const bool few = m <= kFewRows;
        if (few) {
          w.kernels.linear(1, n, k, alone.data(), x.data() + (m - 1) * ldx, ldx, w.tiles.data(), bias.data());
          CHECK(same_bits(alone, std::vector<float>(y.begin() + (m - 1) * n, y.end())));
        }
        std::vector<double> seen;
        for (int64_t i = 0; i < m; ++i) {
          const float* const row = x.data() + i * ldx;
          const std::vector<double> one = few ? rounded(k, row) : std::vector<double>(row, row + k);
          seen.insert(seen.end(), one.begin(), one.end());
        }
        const std::vector<double> numbers(w.numbers.begin(), w.numbers.end());
        CHECK(plain::worst_error(y, plain::product(m, n, k, seen, numbers,
                                                   [&](int64_t, int64_t j) { return bias[j]; })) < 1e-6);
      }
}

TEST_CASE("scales are float16 to the nearest, those of small weights too, which float16 has 2^-24 apart") {
  const int64_t n = 21, k = 75;
  for (int power = -30; power <= 4; ++power) {
    INFO("weights of about 2^" << power);
    const std::vector<float> x = scaled(values<float>(n * k, 3, power + 100), std::exp2(power));
    const Stored<Q8Tile> eight(n, k, x);
    const Stored<Q4Tile> four(n, k, x);
    const auto nearest = [](float weight, double scale, double least, double most) {
      return scale == 0 ? 0.0 : std::clamp(std::nearbyint(weight / scale), least, most) * scale;
    };
    for (int64_t row = 0; row < n; ++row)
      for (int64_t first = 0; first < k; first += kWeightColumns) {
        const auto begin = x.begin() + row * k + first, end = begin + std::min(kWeightColumns, k - first);
        const float largest =
            *std::max_element(begin, end, [](float a, float b) { return std::abs(a) < std::abs(b); });
        const double scale = in_float16(std::abs(largest) / 127.0F),
                     plain_scale = in_float16(largest / -8.0F);
        double plain = 0, found = 0;  // squared errors of 4 bits
        for (auto at = begin; at != end; ++at) {
          const double eighth = eight.numbers[at - x.begin()], fourth = four.numbers[at - x.begin()];
          CHECK(eighth == Approx(nearest(*at, scale, -127, 127)).margin(0));
          plain += std::pow(*at - nearest(*at, plain_scale, -8, 7), 2);
          found += std::pow(*at - fourth, 2);
        }
        CHECK(found <= plain * (1 + 1e-6));
      }
  }
}

TEST_CASE("numbers that 8 or 4 bits hold are kept exactly, zeros and the beginnings of tiles too") {
  std::vector<float> x(17 * 40);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i % 255) - 127) * 0.5F;
  for (size_t row = 0; row < 17; ++row) x[row * 40] = x[row * 40 + 32] = -63.5F;  // the largest of each scale
  CHECK(same_bits(Stored<Q8Tile>(17, 40, x).numbers, x));
  std::vector<float> y(17 * 48);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(static_cast<int>(i % 16) - 8) * 0.25F;
  CHECK(Stored<Q4Tile>(17, 48, y).numbers == y);
  const std::vector<float> zeros(100, 0.0F);
  CHECK(Stored<Q8Tile>(4, 25, zeros).numbers == zeros);
  CHECK(Stored<Q4Tile>(4, 25, zeros).numbers == zeros);
}

TEST_CASE("what is not finite or too large is clamped among weights") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Stored<Q8Tile> eight(1, 4, {nan, inf, -3e38F, 1});
  CHECK(eight.numbers == std::vector<float>{0, 65504.0F * 127, -65504.0F * 127, 0});
  const Stored<Q4Tile> four(1, 3, {nan, 1, -2});
  CHECK(four.numbers == std::vector<float>{0, 1, -2});
}

TEST_CASE("rows times weights in tiles") {
  at_each_level([] {
    check_products<Q8Tile>({1, 31, 32, 33, 100, 768}, {1, 15, 16, 17, 300});
    check_products<Q4Tile>({1, 31, 32, 33, 100, 768}, {1, 15, 16, 17, 300});
    for (const double weights : {1e-4, 1e-6}) {  // whose scales float16 has without a leading 1
      check_products<Q8Tile>({31, 100}, {17, 40}, weights);
      check_products<Q4Tile>({31, 100}, {17, 40}, weights);
    }
  });
}

TEST_CASE("a row of tiny numbers is rounded as any other") {
  const int64_t n = 16, k = 32;
  const Stored<Q8Tile> w(n, k, std::vector<float>(n * k, 127.0F));
  for (const float tiny : {4e-37F, 3.6e-37F, 1e-38F, 1e-40F, 0.0F}) {
    std::vector<float> x(k, tiny), y(n);
    x[1] = 0;
    x[2] = -tiny;
    w.kernels.linear(1, n, k, y.data(), x.data(), k, w.tiles.data(), nullptr);
    for (const float sum : y) CHECK(sum == Catch::Approx(29 * 127.0 * tiny).epsilon(1e-3).margin(0));
  }
}

TEST_CASE("NaN and infinity of a row stay in its products, and no other's") {
  const int64_t n = 20, k = 64;
  const Stored<Q8Tile> w(n, k, values<float>(n * k, 3, 2));
  at_each_level([&] {
    std::vector<float> x = values<float>(3 * k), y(3 * n);
    x[k + 40] = std::numeric_limits<float>::quiet_NaN();
    x[2 * k] = std::numeric_limits<float>::infinity();
    w.kernels.linear(3, n, k, y.data(), x.data(), k, w.tiles.data(), nullptr);
    for (int64_t j = 0; j < n; ++j) {
      CHECK(std::isfinite(y[static_cast<size_t>(j)]));
      CHECK(std::isnan(y[static_cast<size_t>(n + j)]));
      CHECK(std::isnan(y[static_cast<size_t>(2 * n + j)]));
    }
  });
}

}  // namespace gradus::kernels::test_quantized
