// TorchStream: the random numbers of PyTorch's CPU generator, bit for bit, on every machine.
//
// A Mersenne twister (MT19937; Matsumoto and Nishimura, 1998) and the ways in which PyTorch 1.13 makes floats
// of its words; kernels of PyTorch that differ between builds are followed as x86-64 with AVX2 computes them.
// Generator is the door to it. A plain value of 2.5 KB: copying it forks the stream. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gradus {

class TorchStream {
 public:
  /// Which build of PyTorch dropout masks are drawn like; all else is the same in both.
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
  double normal();  ///< the spare one of the last pair, or the first of a new pair, which takes four words
  void discard(uint64_t n);  ///< as n calls of word(), in O(n)

  /// Uniform on [low, high). T: float (one word each), double (two).
  template <class T>
  void uniform(std::span<T> out, double low, double high);
  /// Fewer than 16 are pairs computed in float64, of which an odd one is spared for the next such call; 16
  /// and more are made of uniforms in blocks of 16. T: float, double.
  template <class T>
  void normal(std::span<T> out, double mean, double std);
  /// Each is `kept` with probability q, else 0. Draws nothing for none. T: float, double.
  template <class T>
  void mask(std::span<T> out, double q, T kept);

  /// "torch" or "torch-mkl", seed, place, spare normal (hexadecimal bits, or "none"), and the 624 words of
  /// the engine in hexadecimal, with a space between.
  std::string state() const;
  /// The stream of a state; none if it is not what state() writes, to the letter.
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

}  // namespace gradus
