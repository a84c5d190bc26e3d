// Generator: a stream of random numbers that is handed to whoever draws; there is no global one.
//
// Every draw works on each of its three kinds:
// - Generator(seed), to train: counter-based (Philox4x32-10; Salmon, Moraes, Dror and Shaw, "Parallel random
//   numbers: as easy as 1, 2, 3", 2011). The n-th word depends on the key and n alone, so kernels draw in
//   parallel, the same for any number of threads.
// - Generator::torch(seed), to reproduce: PyTorch's CPU stream after torch.manual_seed(seed), bit for bit.
// - Generator::torch_mkl(seed): the same, with dropout masks as PyTorch's MKL builds draw them on Intel's
//   processors.
//
// What ops and layers draw from a torch kind is what PyTorch's draw, in the same order. Only what is computed
// in float64 with the C library's log, sin and cos may differ in its last bit. A plain value: copying it
// forks the same stream. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "gradus/autograd/random/torch_stream.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

class Generator {
 public:
  /// The stream to train with.
  explicit Generator(uint64_t seed) : engine_(Philox{seed}) {}
  /// Seeds count modulo 2^32, as in PyTorch.
  static Generator torch(int64_t seed) { return Generator(TorchStream(seed, TorchStream::Masks::portable)); }
  /// The same, but for dropout masks.
  static Generator torch_mkl(int64_t seed) { return Generator(TorchStream(seed, TorchStream::Masks::mkl)); }

  /// A stream of its own for one purpose ("init", "data", "dropout", "sample"), of the same kind: its seed is
  /// a hash of this one's seed and the name, wherever this one has got to.
  Generator stream(std::string_view purpose) const;

  uint32_t next();   ///< 32 random bits
  double uniform();  ///< in [0, 1), 53 bits of two words
  double normal();   ///< mean 0, variance 1 (Box and Muller, 1958); a torch kind makes two and spares one
  /// Uniform in [low, high). Without bias, but for PyTorch's remainder of one word (two from a range of 2^32
  /// on) on its kinds. Throws Error unless low < high.
  int64_t between(int64_t low, int64_t high);
  int64_t below(int64_t n);  ///< uniform in [0, n), likewise; n >= 1, throws Error otherwise
  /// Leaves out the next n words. At once on Philox; as if drawn on the torch kinds. Throws Error if n < 0.
  void discard(int64_t n);

  /// Where a kernel finds n words of its own: word i of the range is word i % 4 of Philox block (block + i /
  /// 4).
  struct Range {
    uint64_t key, block;  ///< of Philox
  };
  /// Throws Error for a torch kind, whose words come one after the other: ask for as_torch() before.
  Range reserve(int64_t n);
  /// The stream of a torch kind; null for Philox.
  TorchStream* as_torch() { return std::get_if<TorchStream>(&engine_); }

  /// Text that set_state() of any generator turns back into this stream, of this kind and at this place.
  std::string state() const;
  /// Throws Error for any text that state() does not write, and then changes nothing.
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

// Each draws in row-major order. float32 or float64 unless said otherwise; throws Error for other dtypes.

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
