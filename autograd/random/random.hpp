// Generator: a stream of random numbers that is passed as an argument; there is no global one.
//
// There are three kinds:
// - Generator(seed), for training: counter-based (Philox4x32-10; Salmon, Moraes, Dror and Shaw, "Parallel
//   random numbers: as easy as 1, 2, 3", 2011). Word n depends only on the key and n, so kernels draw in
//   parallel, with the same numbers for any number of threads.
// - Generator::torch(seed): PyTorch's CPU stream after torch.manual_seed(seed), bit for bit.
// - Generator::torch_mkl(seed): the same, with the dropout masks of PyTorch's MKL builds on Intel processors.
//
// Ops and layers draw from a torch kind as PyTorch's do, in the same order. Only numbers that are computed in
// float64 with the C library's log, sin and cos may differ in the last bit. A plain value: a copy continues
// the same stream. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// The random numbers of PyTorch's CPU generator, bit for bit, on every machine: a Mersenne twister (MT19937;
/// Matsumoto and Nishimura, 1998), whose words become floats as in PyTorch 1.13 for x86-64 with AVX2.
class TorchStream {
 public:
  /// The PyTorch build whose dropout masks are reproduced; all other numbers are the same in both.
  enum class Masks : uint8_t {
    portable,  ///< without MKL, or on processors that are not Intel's: two words an element
    mkl,       ///< MKL on Intel's: one word a tensor seeds a multiplicative congruential generator (MCG31m1)
  };

  /// The stream after torch.manual_seed(seed), which takes seeds modulo 2^32.
  TorchStream(int64_t seed, Masks masks);

  uint32_t seed() const { return seed_; }          ///< modulo 2^32
  Masks masks() const { return masks_; }           ///< of the next dropout
  void set_masks(Masks masks) { masks_ = masks; }  ///< of the dropouts from here on

  uint32_t word();       ///< 32 random bits
  uint64_t two_words();  ///< the first is the high half
  double uniform();      ///< in [0, 1), 53 bits of two words
  double normal();       ///< the second of the last pair, or the first of a new pair, which takes four words
  void discard(uint64_t n);  ///< as n calls of word(), in O(n)

  /// Uniform on [low, high). T: float (one word each), double (two).
  template <class T>
  void uniform(std::span<T> out, double low, double high);
  /// Fewer than 16 are pairs computed in float64, of which an odd one is kept for the next such call; 16 and
  /// more are computed from uniforms in blocks of 16. T: float, double.
  template <class T>
  void normal(std::span<T> out, double mean, double std);
  /// Each is `kept` with probability q, else 0. Draws nothing for no elements. T: float, double.
  template <class T>
  void mask(std::span<T> out, double q, T kept);

  /// "torch" or "torch-mkl", seed, place, spare normal (hexadecimal bits, or "none"), and the 624 words of
  /// the engine in hexadecimal, separated by spaces.
  std::string state() const;
  /// The stream of a state; none for any text that state() does not write.
  static std::optional<TorchStream> from_state(const std::string& state);

  bool operator==(const TorchStream&) const = default;

 private:
  static constexpr uint32_t kWords = 624;

  TorchStream() = default;
  void refill();

  std::array<uint32_t, kWords> words_{};
  uint32_t place_ = kWords;  // of the next word; kWords: all are used up
  uint32_t seed_ = 0;
  Masks masks_ = Masks::portable;
  std::optional<double> spare_;
};

class Generator {
 public:
  /// The stream to train with.
  explicit Generator(uint64_t seed) : engine_(Philox{seed}) {}
  /// Seeds count modulo 2^32, as in PyTorch.
  static Generator torch(int64_t seed) { return Generator(TorchStream(seed, TorchStream::Masks::portable)); }
  /// The same, but for dropout masks.
  static Generator torch_mkl(int64_t seed) { return Generator(TorchStream(seed, TorchStream::Masks::mkl)); }

  /// A separate stream of the same kind for one purpose ("init", "data", "dropout", "sample"). Its seed is a
  /// hash of this one's seed and the name.
  Generator stream(std::string_view purpose) const;

  uint32_t next();   ///< 32 random bits
  double uniform();  ///< in [0, 1), 53 bits of two words
  double normal();   ///< mean 0, variance 1 (Box and Muller, 1958); a torch kind draws two and keeps one
  /// Uniform in [low, high). Without bias, but for PyTorch's remainder of one word (two from a range of 2^32
  /// on) on its kinds. Throws Error unless low < high.
  int64_t between(int64_t low, int64_t high);
  int64_t below(int64_t n);  ///< uniform in [0, n); throws Error unless n >= 1
  /// Skips n words, in O(1) on Philox. Throws Error if n < 0.
  void discard(int64_t n);

  /// A range of words for one kernel: word i of it is word i % 4 of Philox block (block + i / 4).
  struct Range {
    uint64_t key, block;  ///< of Philox
  };
  /// The next n words. Throws Error for a torch kind, whose words are drawn only in order: see as_torch().
  Range reserve(int64_t n);
  /// The stream of a torch kind; null for Philox.
  TorchStream* as_torch() { return std::get_if<TorchStream>(&engine_); }

  /// The kind and the state as text, for set_state() of any generator.
  std::string state() const;
  /// Throws Error, without a change, for text that state() does not write.
  void set_state(const std::string& state);

  bool operator==(const Generator&) const = default;

 private:
  struct Philox {
    uint64_t key;
    uint64_t position = 0;  // words drawn so far
    bool operator==(const Philox&) const = default;
  };
  explicit Generator(const TorchStream& stream) : engine_(stream) {}

  std::variant<Philox, TorchStream> engine_;
};

// Each draws in row-major order. float32 or float64 unless noted; throws Error for other dtypes.

/// Values uniform on [0, 1).
Tensor rand(const Shape& shape, Generator& generator, DType dtype = DType::float32);
/// Values uniform on [low, high). Throws Error unless low <= high and high - low is finite.
Tensor uniform(const Shape& shape, double low, double high, Generator& generator,
               DType dtype = DType::float32);
/// Values from the standard normal distribution.
Tensor randn(const Shape& shape, Generator& generator, DType dtype = DType::float32);
/// Values from a normal distribution. Throws Error unless std >= 0.
Tensor normal(const Shape& shape, double mean, double std, Generator& generator,
              DType dtype = DType::float32);
/// Values from the exponential distribution of rate 1: -log(1 - u).
Tensor exponential(const Shape& shape, Generator& generator, DType dtype = DType::float32);
/// Integers uniform on [low, high), int64. Throws Error unless low < high.
Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator& generator);
/// 0 to n - 1 in random order (Fisher and Yates, 1938), int64 -> (n). Throws Error if n < 0.
Tensor randperm(int64_t n, Generator& generator);

}  // namespace gradus
