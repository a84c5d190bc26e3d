#include "gradus/autograd/random/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <sstream>

namespace gradus {
namespace {

constexpr uint32_t kMiddle = 397;
constexpr uint64_t kMersenne31 = (uint64_t{1} << 31) - 1;

uint32_t twist(uint32_t high, uint32_t low) {
  const uint32_t mixed = (high & 0x80000000U) | (low & 0x7FFFFFFFU);
  return (mixed >> 1) ^ ((low & 1U) != 0 ? 0x9908B0DFU : 0U);
}

// Polynomials of Cephes (Moshier, 1992), single precision. Each fma is one rounding of PyTorch's, so none may
// be added or omitted; all of gradus is compiled without contraction.

// 0 < x <= 1.
float log_cephes(float x) {
  constexpr float kCoefficients[] = {-1.1514610310e-1F, 1.1676998740e-1F,  -1.2420140846e-1F,
                                     1.4249322787e-1F,  -1.6668057665e-1F, 2.0000714765e-1F,
                                     -2.4999993993e-1F, 3.3333331174e-1F};
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  float t = mantissa - 1.0F;
  if (mantissa < std::numbers::sqrt2_v<float> / 2) {
    --exponent;
    t += mantissa;
  }
  const auto e = static_cast<float>(exponent);
  const float z = t * t;
  float y = 7.0376836292e-2F;
  for (const float c : kCoefficients) y = std::fma(y, t, c);
  y = std::fma(y * t, z, e * -2.12194440e-4F);  // log 2 in two parts, the large one exact
  y = std::fma(-z, 0.5F, y);
  return std::fma(e, 0.693359375F, t + y);
}

template <class T>
struct SinCos {
  T sin, cos;
};

// x >= 0.
SinCos<float> sincos_cephes(float x) {
  const int octant = (static_cast<int>(x * 1.27323954473516F) + 1) & ~1;  // 4 / pi, rounded to even
  const auto y = static_cast<float>(octant);
  x = std::fma(y, -0.78515625F, x);  // pi / 4 in three parts
  x = std::fma(y, -2.4187564849853515625e-4F, x);
  x = std::fma(y, -3.77489497744594108e-8F, x);

  const float z = x * x;
  float c = std::fma(2.443315711809948e-5F, z, -1.388731625493765e-3F);
  c = std::fma(c, z, 4.166664568298827e-2F);
  c = std::fma(c * z, z, -(0.5F * z)) + 1.0F;
  float s = std::fma(-1.9515295891e-4F, z, 8.3321608736e-3F);
  s = std::fma(s, z, -1.6666654611e-1F);
  s = std::fma(s * z, x, x);

  SinCos<float> result = (octant & 2) != 0 ? SinCos<float>{c, s} : SinCos<float>{s, c};
  if ((octant & 4) != 0) result.sin = -result.sin;
  if (((octant - 2) & 4) == 0) result.cos = -result.cos;
  return result;
}

constexpr size_t kNormalBlock = 16;

float log_of(float x) { return log_cephes(x); }
double log_of(double x) { return std::log(x); }
SinCos<float> sincos_of(float x) { return sincos_cephes(x); }
SinCos<double> sincos_of(double x) { return {std::sin(x), std::cos(x)}; }

// x[0, 16): uniforms on [0, 1) in, normals out, as PyTorch's CPU kernels compute them (Box and Muller): x[i]
// and x[i + 8] become a pair. float32 rounds as eight AVX2 lanes do, on any processor.
template <class T>
void normals_of_uniforms(T* x, T mean, T std) {
  for (size_t i = 0; i < kNormalBlock / 2; ++i) {
    const T radius = std::sqrt(T{-2} * log_of(T{1} - x[i]));
    const auto [sin, cos] = sincos_of(T{2} * std::numbers::pi_v<T> * x[i + kNormalBlock / 2]);
    x[i] = std::fma(radius * cos, std, mean);
    x[i + kNormalBlock / 2] = std::fma(radius * sin, std, mean);
  }
}

}  // namespace

TorchStream::TorchStream(int64_t seed, Masks masks) : seed_(static_cast<uint32_t>(seed)), masks_(masks) {
  words_[0] = seed_;
  for (uint32_t i = 1; i < kWords; ++i) words_[i] = 1812433253U * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
}

void TorchStream::refill() {
  constexpr uint32_t kLast = kWords - 1, kRest = kWords - kMiddle;
  for (uint32_t i = 0; i < kRest; ++i) words_[i] = words_[i + kMiddle] ^ twist(words_[i], words_[i + 1]);
  for (uint32_t i = kRest; i < kLast; ++i) words_[i] = words_[i - kRest] ^ twist(words_[i], words_[i + 1]);
  words_[kLast] = words_[kLast - kRest] ^ twist(words_[kLast], words_[0]);
  place_ = 0;
}

uint32_t TorchStream::word() {
  if (place_ == kWords) refill();
  uint32_t y = words_[place_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9D2C5680U;
  y ^= (y << 15) & 0xEFC60000U;
  return y ^ (y >> 18);
}

uint64_t TorchStream::two_words() {
  const uint64_t high = word();
  return high << 32 | word();
}

double TorchStream::uniform() {
  return static_cast<double>(two_words() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

double TorchStream::normal() {
  if (spare_) {
    const double value = *spare_;
    spare_.reset();
    return value;
  }
  const double u1 = uniform(), u2 = uniform();
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u2)), angle = 2.0 * std::numbers::pi * u1;
  spare_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void TorchStream::discard(uint64_t n) {
  while (n > kWords - place_) {
    n -= kWords - place_;
    refill();
  }
  place_ += static_cast<uint32_t>(n);
}

template <class T>
void TorchStream::uniform(std::span<T> out, double low, double high) {
  const T from = static_cast<T>(low), width = static_cast<T>(high) - from;
  for (T& x : out) {
    T u;
    if constexpr (sizeof(T) == sizeof(float))
      u = static_cast<float>(word() & 0xFFFFFFU) * 0x1p-24F;
    else
      u = uniform();
    x = std::fma(u, width, from);
  }
}

template <class T>
void TorchStream::normal(std::span<T> out, double mean, double std) {
  if (out.size() < kNormalBlock) {
    for (T& x : out) x = static_cast<T>(std::fma(normal(), std, mean));
    return;
  }
  const auto m = static_cast<T>(mean), s = static_cast<T>(std);
  uniform(out, 0.0, 1.0);
  size_t done = 0;
  for (; done + kNormalBlock <= out.size(); done += kNormalBlock) normals_of_uniforms(&out[done], m, s);
  if (done == out.size()) return;
  const std::span<T> last = out.last(kNormalBlock);  // drawn again, including finished ones
  uniform(last, 0.0, 1.0);
  normals_of_uniforms(last.data(), m, s);
}

template <class T>
void TorchStream::mask(std::span<T> out, double q, T kept) {
  if (masks_ == Masks::portable) {
    for (T& x : out) x = uniform() < q ? kept : T{0};
    return;
  }
  if (out.empty()) return;
  uint64_t x = std::max<uint64_t>(word() % kMersenne31, 1);
  for (T& m : out) {
    m = static_cast<double>(x) / static_cast<double>(kMersenne31) < q ? kept : T{0};
    x = 1132489760U * x % kMersenne31;
  }
}

template void TorchStream::uniform(std::span<float>, double, double);
template void TorchStream::uniform(std::span<double>, double, double);
template void TorchStream::normal(std::span<float>, double, double);
template void TorchStream::normal(std::span<double>, double, double);
template void TorchStream::mask(std::span<float>, double, float);
template void TorchStream::mask(std::span<double>, double, double);

std::string TorchStream::state() const {
  std::ostringstream text;
  text << (masks_ == Masks::mkl ? "torch-mkl " : "torch ") << seed_ << ' ' << place_ << ' ' << std::hex;
  if (spare_)
    text << std::bit_cast<uint64_t>(*spare_);
  else
    text << "none";
  for (const uint32_t w : words_) text << ' ' << w;
  return text.str();
}

std::optional<TorchStream> TorchStream::from_state(const std::string& state) {
  std::istringstream text(state);
  TorchStream stream;
  std::string kind, spare;
  text >> kind >> stream.seed_ >> stream.place_ >> spare >> std::hex;
  stream.masks_ = kind == "torch-mkl" ? Masks::mkl : Masks::portable;
  if (spare != "none") {
    uint64_t bits = 0;
    std::istringstream(spare) >> std::hex >> bits;
    stream.spare_ = std::bit_cast<double>(bits);
    if (!std::isfinite(*stream.spare_)) return {};
  }
  for (uint32_t& w : stream.words_) text >> w;
  const bool stuck = std::all_of(stream.words_.begin() + 1, stream.words_.end(),
                                 [](uint32_t w) { return w == 0; });  // such a stream gives only zeros
  if (stream.place_ < 1 || stream.place_ > kWords || stuck) return {};
  // Signs, leading zeros, too large numbers, missing or extra parts are not reproduced.
  return stream.state() == state ? std::optional(stream) : std::nullopt;
}

}  // namespace gradus
