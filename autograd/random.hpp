// Generator: a stream of random numbers that is handed to whoever draws; there is no global one.
//
// Counter-based (Philox4x32-10; Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// 2011): the n-th word depends on the key and n alone, so kernels draw in parallel with the same result for
// any number of threads. A plain value: copying it forks the same stream. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gradus/autograd/tensor.hpp"

namespace gradus {

class Generator {
 public:
  explicit Generator(uint64_t seed) : key_(seed) {}

  /// A stream of its own for one purpose ("init", "data", "dropout", "sample"); the same for the same key and
  /// name.
  Generator stream(std::string_view purpose) const;

  uint32_t next();           ///< 32 random bits
  double uniform();          ///< in [0, 1), 53 bits
  double normal();           ///< mean 0, variance 1 (Box and Muller, 1958)
  int64_t below(int64_t n);  ///< uniform in [0, n), without bias; n >= 1, throws Error otherwise

  /// Where a kernel finds n words of its own: word i of the range is word i % 4 of Philox block (block + i / 4).
  struct Range {
    uint64_t key, block;
  };
  Range reserve(int64_t n);

  /// Text that set_state() of any generator turns back into this stream at this place. Throws Error if
  /// malformed.
  std::string state() const;
  void set_state(const std::string& state);

  bool operator==(const Generator&) const = default;

 private:
  uint64_t key_;
  uint64_t position_ = 0;  // words drawn so far
};

/// Values uniform on [0, 1).
Tensor rand(const Shape& shape, Generator& generator, DType dtype = DType::float32);
/// Values from the standard normal distribution.
Tensor randn(const Shape& shape, Generator& generator, DType dtype = DType::float32);
/// Integers uniform on [low, high). Throws Error unless low < high.
Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator& generator);

}  // namespace gradus
