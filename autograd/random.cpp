#include "gradus/autograd/random.hpp"

#include <cmath>
#include <numbers>

#include "gradus/autograd/kernels/parallel.hpp"
#include "gradus/autograd/kernels/philox.hpp"

namespace gradus {
namespace {

constexpr int64_t kFillBlock = 16384;  // words; a multiple of a Philox block

uint32_t word_at(uint64_t key, uint64_t position) {
  return kernels::philox4x32(position / 4, 0, key).word[position % 4];
}

// 53 bits of two words, in [0, 1).
double unit(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

// Box and Muller: two uniform words give two independent normals. The first uniform lies in (0, 1].
void normal_pair(uint32_t a, uint32_t b, double& first, double& second) {
  const double radius = std::sqrt(-2.0 * std::log((static_cast<double>(a) + 1.0) * 0x1p-32));
  const double angle = 2.0 * std::numbers::pi * 0x1p-32 * static_cast<double>(b);
  first = radius * std::cos(angle);
  second = radius * std::sin(angle);
}

// splitmix64's finalizer (Steele, Lea and Flood, 2014): every input bit reaches every output bit.
uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

// Calls f(i, words) for each group of four elements of a fresh range, in parallel.
template <class F>
void fill_blocks(int64_t n, Generator::Range words, F f) {
  parallel_for(n, kFillBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 4)
      f(i, kernels::philox4x32(words.block + static_cast<uint64_t>(i) / 4, 0, words.key).word);
  });
}

}  // namespace

Generator Generator::stream(std::string_view purpose) const {
  uint64_t hash = key_;
  for (const char c : purpose) hash = mix(hash + 0x9E3779B97F4A7C15U + static_cast<unsigned char>(c));
  return Generator(hash);
}

uint32_t Generator::next() { return word_at(key_, position_++); }

double Generator::uniform() {
  const uint32_t high = next();
  return unit(high, next());
}

double Generator::normal() {
  const uint32_t a = next();
  double first = 0, second = 0;
  normal_pair(a, next(), first, second);
  return first;
}

int64_t Generator::below(int64_t n) {
  if (n < 1) fail("below", "n must be at least 1, got ", n, ".");
  const auto range = static_cast<uint64_t>(n);
  const uint64_t limit = UINT64_MAX - UINT64_MAX % range;  // what lies above would favour small results
  for (;;) {
    const uint64_t high = next();
    const uint64_t bits = high << 32 | next();
    if (bits < limit) return static_cast<int64_t>(bits % range);
  }
}

Generator::Range Generator::reserve(int64_t n) {
  const uint64_t start = (position_ + 3) / 4 * 4;
  position_ = start + static_cast<uint64_t>(n);
  return {key_, start / 4};
}

std::string Generator::state() const { return concat("philox ", key_, " ", position_); }

void Generator::set_state(const std::string& state) {
  std::istringstream text(state);
  std::string kind, rest;
  uint64_t key = 0, position = 0;
  if (!(text >> kind >> key >> position) || kind != "philox" || text >> rest)
    fail("generator", "a state must read 'philox KEY POSITION', got '", state, "'.");
  key_ = key;
  position_ = position;
}

Tensor rand(const Shape& shape, Generator& generator, DType dtype) {
  Tensor out = empty(shape, dtype);
  const int64_t n = out.numel();
  if (dtype == DType::float64) {
    double* x = out.mutable_data<double>();
    fill_blocks(2 * n, generator.reserve(2 * n), [&](int64_t i, const uint32_t* word) {
      for (int64_t k = 0; k < 4 && i + k < 2 * n; k += 2) x[(i + k) / 2] = unit(word[k], word[k + 1]);
    });
  } else {
    float* x = out.mutable_data<float>();
    fill_blocks(n, generator.reserve(n), [&](int64_t i, const uint32_t* word) {
      for (int64_t k = 0; k < 4 && i + k < n; ++k) x[i + k] = static_cast<float>(word[k] >> 8) * 0x1p-24F;
    });
  }
  return out;
}

Tensor randn(const Shape& shape, Generator& generator, DType dtype) {
  Tensor out = empty(shape, dtype);
  const int64_t n = out.numel();
  const Generator::Range words = generator.reserve(n);
  dispatch_float("randn", dtype, [&]<class T>() {
    T* x = out.mutable_data<T>();
    fill_blocks(n, words, [&](int64_t i, const uint32_t* word) {
      double value[4];
      normal_pair(word[0], word[1], value[0], value[1]);
      normal_pair(word[2], word[3], value[2], value[3]);
      for (int64_t k = 0; k < 4 && i + k < n; ++k) x[i + k] = static_cast<T>(value[k]);
    });
  });
  return out;
}

Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator& generator) {
  if (low >= high) fail("randint", "low must be below high, got ", low, " and ", high, ".");
  Tensor out = empty(shape, DType::int64);
  int64_t* x = out.mutable_data<int64_t>();
  for (int64_t i = 0; i < out.numel(); ++i) x[i] = low + generator.below(high - low);
  return out;
}

}  // namespace gradus
