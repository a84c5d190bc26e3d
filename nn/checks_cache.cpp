#include <algorithm>
#include <string_view>

#include "gradus/files/error.hpp"
#include "gradus/nn/checks.hpp"
#include "gradus/nn/checks_compare.hpp"

namespace gradus::nn::detail {
namespace {

constexpr std::string_view kCache = "check_kv_cache";

/// Positions of each call of decode(); they add up to T.
using Pieces = std::vector<int64_t>;

Pieces uneven_pieces(int64_t T) {
  Pieces pieces;
  for (int64_t start = 0, size = 1; start < T; start += pieces.back(), size = size % 3 + 1)
    pieces.push_back(std::min(size, T - start));
  return pieces;
}

/// Compares the outputs of a call of decode(), up to position `end`, with those of the full call.
Moved compare_piece(const Tensor& full, const Tensor& outputs, int64_t start, int64_t end, double allowed) {
  const bool all = outputs.dim() == full.dim();  // else the last position's only
  const Tensor expected = all ? full.slice(1, start, end) : full.select(1, end - 1);
  check_shape(kCache, outputs, expected.shape());
  Moved moved = compare(expected, outputs, allowed);
  if (moved && all) (*moved.at)[1] += start;
  if (moved && !all) moved.at->insert(1, end - 1);
  return moved;
}

/// Feeds sequences to caches and keeps what it saw.
class Feeding {
 public:
  Feeding(const Tensor& x, const Tensor& full, double allowed)
      : x_(x), other_(rotated(x, 1)), full_(full), allowed_(allowed) {}

  /// `how` and `hint` are for the message. Each piece of x is followed by one of another sequence for
  /// `beside`, which may overwrite what is shared.
  void feed(std::string_view how, std::string_view hint, const Pieces& pieces, const CachedSequence& sequence,
            const CachedSequence* beside = nullptr) {
    int64_t start = 0;
    for (const int64_t size : pieces) {
      const int64_t end = start + size;
      Tensor outputs;
      try {
        outputs = outputs_of(kCache, sequence.decode, x_.slice(1, start, end));
        if (beside) outputs_of(kCache, beside->decode, other_.slice(1, start, end));
      } catch (const Error& error) {
        worst_ = kInfinity;
        fault(how, hint,
              concat("at positions ", start, " to ", end - 1, " the error \"", error.what(), "\""));
        return;
      }
      const Moved moved = compare_piece(full_, outputs, start, end, allowed_);
      worst_ = std::max(worst_, moved.worst);
      if (moved) fault(how, hint, concat(number(moved.to), " for ", number(moved.from), " at ", *moved.at));
      start = end;
    }
  }

  CheckReport report() const {
    const std::string rule = concat("[", kCache, "] decode() must give what a full call gives, ");
    const std::string size = extent(worst_, allowed_);
    if (fault_.seen.empty()) return {true, worst_, concat(rule, "and did; ", size, ".")};
    return {false, worst_,
            concat(rule, "got ", fault_.seen, " when x was fed ", fault_.how, "; ", size,
                   ". Hint: ", fault_.hint, ".")};
  }

 private:
  struct Fault {
    std::string seen, how, hint;
  };

  /// Only the first is kept: it needs the least to show.
  void fault(std::string_view how, std::string_view hint, const std::string& seen) {
    if (fault_.seen.empty()) fault_ = {seen, std::string(how), std::string(hint)};
  }

  Tensor x_, other_, full_;
  double allowed_;
  double worst_ = 0;
  Fault fault_;
};

}  // namespace

CheckReport check_kv_cache(const Function& model, const std::function<CachedSequence()>& start,
                           const Tensor& x, std::optional<double> tolerance) {
  check_input(kCache, x);
  if (x.dim() < 2 || x.size(1) < 2)
    fail(kCache, "x must be (B, T) or (B, T, C) with T >= 2, got ", x.shape(), ".");
  const int64_t T = x.size(1);
  const Tensor given = x.detach();
  if (equal(given, rotated(given, 1))) fail(kCache, "positions of x must differ, got ", T, " equal ones.");
  const Tensor full = outputs_of(kCache, model, given);
  if (full.dim() < 2 || full.size(0) != x.size(0) || full.size(1) != T)
    fail(kCache, "outputs of a full call must be (", x.size(0), ", ", T, ", ...), got ", full.shape(), ".");

  const Pieces ones(static_cast<size_t>(T), 1), uneven = uneven_pieces(T);
  Feeding all(given, full, allowance(kCache, full, tolerance));
  all.feed("at once", "look at where decode differs from the call: positions, mask, dropout", {T}, start());
  all.feed("one by one", "look at the length of the cache, the positions of what is new, what is overwritten",
           ones, start());
  all.feed("in pieces of 1, 2 and 3", "look at the mask of several new positions behind old ones", uneven,
           start());
  const CachedSequence sequence = start(), beside = start();
  all.feed("beside a second sequence", "each cache needs storage of its own, and must hold all of the state",
           uneven, sequence, &beside);
  if (beside.clear) {
    beside.clear();
    all.feed("into a cleared cache", "clear() must forget all positions, in every layer", uneven, beside);
  }
  return all.report();
}

}  // namespace gradus::nn::detail
