// PairTable: numbers of pairs of tokens, looked up a few times for each word that is encoded. A flat table
// with linear probing, half empty, because most pairs that are looked up are not there. Thread-safety:
// immutable once filled.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradus::data::pairs {

/// Two tokens side by side, as one number that sorts by the left one first.
constexpr uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

class PairTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  /// Room for that many.
  explicit PairTable(size_t most) : slots_(std::bit_ceil(2 * most + 2)) {}

  /// Each key once.
  void add(uint64_t key, uint32_t number) { slots_[slot_of(key)] = {key, number}; }
  /// kNone if it was not added.
  uint32_t find(uint64_t key) const { return slots_[slot_of(key)].number; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t number = kNone;
  };

  /// The slot of the key, else the empty one where it belongs.
  size_t slot_of(uint64_t key) const {
    const size_t last = slots_.size() - 1;
    size_t at = static_cast<size_t>(key * 0x9E3779B97F4A7C15u >> 32) & last;  // Fibonacci hashing
    while (slots_[at].number != kNone && slots_[at].key != key) at = (at + 1) & last;
    return at;
  }

  std::vector<Slot> slots_;
};

}  // namespace gradus::data::pairs
