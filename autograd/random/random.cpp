#include "gradus/autograd/random/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include "gradus/autograd/kernels/elementwise/philox.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {
namespace {

constexpr int64_t kFillChunk = 16384;  // words; a multiple of a Philox block

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
void fill_chunks(int64_t n, Generator::Range words, F f) {
  parallel_for(n, kFillChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 4)
      f(i, kernels::philox4x32(words.block + static_cast<uint64_t>(i) / 4, 0, words.key).word);
  });
}

// A new tensor whose elements fill<T>(span) writes.
template <class F>
Tensor filled(std::string_view op, const Shape& shape, DType dtype, F fill) {
  Tensor out = empty(shape, dtype);
  dispatch_float(op, dtype, [&]<class T>() {
    fill(std::span<T>(out.mutable_data<T>(), static_cast<size_t>(out.numel())));
  });
  return out;
}

Tensor scaled(const Tensor& x, double factor, double shift) {
  const Tensor product = raw::binary(kernels::Binary::mul, x, raw::full({}, factor, x.dtype()));
  return raw::add(product, raw::full({}, shift, x.dtype()));
}

}  // namespace

Generator Generator::stream(std::string_view purpose) const {
  const auto* torch = std::get_if<TorchStream>(&engine_);
  uint64_t hash = torch ? torch->seed() : std::get<Philox>(engine_).key;
  for (const char c : purpose) hash = mix(hash + 0x9E3779B97F4A7C15U + static_cast<unsigned char>(c));
  return torch ? Generator(TorchStream(static_cast<int64_t>(hash), torch->masks())) : Generator(hash);
}

uint32_t Generator::next() {
  if (TorchStream* const torch = as_torch()) return torch->word();
  auto& [key, position] = std::get<Philox>(engine_);
  return word_at(key, position++);
}

double Generator::uniform() {
  if (TorchStream* const torch = as_torch()) return torch->uniform();
  const uint32_t high = next();
  return unit(high, next());
}

double Generator::normal() {
  if (TorchStream* const torch = as_torch()) return torch->normal();
  const uint32_t a = next();
  double first = 0, second = 0;
  normal_pair(a, next(), first, second);
  return first;
}

int64_t Generator::between(int64_t low, int64_t high) {
  if (low >= high) fail("between", "low must be below high, got ", low, " and ", high, ".");
  const uint64_t start = static_cast<uint64_t>(low), range = static_cast<uint64_t>(high) - start;
  if (TorchStream* const torch = as_torch())
    return static_cast<int64_t>(start + (range >> 32 == 0 ? torch->word() : torch->two_words()) % range);
  const uint64_t limit = UINT64_MAX - UINT64_MAX % range;  // larger words favour small results
  for (;;) {
    const uint64_t first = next();
    const uint64_t bits = first << 32 | next();
    if (bits < limit) return static_cast<int64_t>(start + bits % range);
  }
}

int64_t Generator::below(int64_t n) {
  if (n < 1) fail("below", "n must be at least 1, got ", n, ".");
  return between(0, n);
}

void Generator::discard(int64_t n) {
  if (n < 0) fail("discard", "n must be at least 0, got ", n, ".");
  if (TorchStream* const torch = as_torch())
    torch->discard(static_cast<uint64_t>(n));
  else
    std::get<Philox>(engine_).position += static_cast<uint64_t>(n);
}

Generator::Range Generator::reserve(int64_t n) {
  auto* const philox = std::get_if<Philox>(&engine_);
  if (!philox)
    fail("reserve",
         "needs a generator whose words can be drawn in any order, got a torch one. Hint: ask "
         "as_torch() first, and draw from that in order.");
  const uint64_t start = (philox->position + 3) / 4 * 4;
  philox->position = start + static_cast<uint64_t>(n);
  return {philox->key, start / 4};
}

std::string Generator::state() const {
  if (const auto* torch = std::get_if<TorchStream>(&engine_)) return torch->state();
  const auto& [key, position] = std::get<Philox>(engine_);
  return concat("philox ", key, " ", position);
}

void Generator::set_state(const std::string& state) {
  Generator restored(0);
  if (const std::optional<TorchStream> stream = TorchStream::from_state(state)) {
    restored.engine_ = *stream;
  } else {
    std::istringstream text(state);
    std::string kind;
    auto& [key, position] = std::get<Philox>(restored.engine_);
    text >> kind >> key >> position;
  }
  if (restored.state() != state)  // a misread text is written differently
    fail("generator",
         "a state must be what state() writes, 'philox KEY POSITION' or 'torch SEED PLACE SPARE' "
         "and 624 words, got '",
         std::string_view(state).substr(0, 60), state.size() > 60 ? "...'." : "'.");
  *this = restored;
}

Tensor rand(const Shape& shape, Generator& generator, DType dtype) {
  if (generator.as_torch()) return uniform(shape, 0.0, 1.0, generator, dtype);
  Tensor out = empty(shape, dtype);
  const int64_t n = out.numel();
  if (dtype == DType::float64) {
    double* x = out.mutable_data<double>();
    fill_chunks(2 * n, generator.reserve(2 * n), [&](int64_t i, const uint32_t* word) {
      for (int64_t k = 0; k < 4 && i + k < 2 * n; k += 2) x[(i + k) / 2] = unit(word[k], word[k + 1]);
    });
  } else {
    float* x = out.mutable_data<float>();
    fill_chunks(n, generator.reserve(n), [&](int64_t i, const uint32_t* word) {
      for (int64_t k = 0; k < 4 && i + k < n; ++k) x[i + k] = static_cast<float>(word[k] >> 8) * 0x1p-24F;
    });
  }
  return out;
}

Tensor uniform(const Shape& shape, double low, double high, Generator& generator, DType dtype) {
  const double width =
      dtype == DType::float32 ? static_cast<float>(high) - static_cast<float>(low) : high - low;
  if (!(low <= high && std::isfinite(width)))
    fail("uniform", "low must be at most high and not infinitely far from it, got ", low, " and ", high, ".");
  TorchStream* const torch = generator.as_torch();
  if (!torch) return scaled(rand(shape, generator, dtype), high - low, low);
  return filled("uniform", shape, dtype, [&]<class T>(std::span<T> out) { torch->uniform(out, low, high); });
}

Tensor randn(const Shape& shape, Generator& generator, DType dtype) {
  if (generator.as_torch()) return normal(shape, 0.0, 1.0, generator, dtype);
  return filled("randn", shape, dtype, [&]<class T>(std::span<T> x) {
    const auto n = static_cast<int64_t>(x.size());
    fill_chunks(n, generator.reserve(n), [x = x.data(), n](int64_t i, const uint32_t* word) {
      double value[4];
      normal_pair(word[0], word[1], value[0], value[1]);
      normal_pair(word[2], word[3], value[2], value[3]);
      for (int64_t k = 0; k < 4 && i + k < n; ++k) x[i + k] = static_cast<T>(value[k]);
    });
  });
}

Tensor normal(const Shape& shape, double mean, double std, Generator& generator, DType dtype) {
  if (!(std >= 0.0)) fail("normal", "std must be at least 0, got ", std, ".");
  TorchStream* const torch = generator.as_torch();
  if (!torch) return scaled(randn(shape, generator, dtype), std, mean);
  return filled("normal", shape, dtype, [&]<class T>(std::span<T> out) { torch->normal(out, mean, std); });
}

Tensor exponential(const Shape& shape, Generator& generator, DType dtype) {
  return filled("exponential", shape, dtype, [&]<class T>(std::span<T> out) {
    for (T& x : out) x = static_cast<T>(-std::log(1.0 - generator.uniform()));
  });
}

Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator& generator) {
  if (low >= high) fail("randint", "low must be below high, got ", low, " and ", high, ".");
  Tensor out = empty(shape, DType::int64);
  int64_t* x = out.mutable_data<int64_t>();
  std::generate_n(x, out.numel(), [&] { return generator.between(low, high); });
  return out;
}

Tensor randperm(int64_t n, Generator& generator) {
  if (n < 0) fail("randperm", "n must be at least 0, got ", n, ".");
  Tensor out = empty({n}, DType::int64);
  int64_t* x = out.mutable_data<int64_t>();
  std::iota(x, x + n, 0);
  for (int64_t i = 0; i + 1 < n; ++i) std::swap(x[i], x[generator.between(i, n)]);
  return out;
}

}  // namespace gradus
