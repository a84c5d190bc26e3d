#include "gradus/data/pairs/word_merger.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace gradus::data::pairs {
namespace {

constexpr int32_t kGone = -1;

}  // namespace

MergeRules::MergeRules(std::vector<Merge> all) : merges(std::move(all)), ranks(merges.size()) {
  for (size_t rank = 0; rank < merges.size(); ++rank)
    ranks.add(pair_key(merges[rank].left, merges[rank].right), static_cast<uint32_t>(rank));
}

/// Puts the pair that begins there on the heap, if there is a merge for it.
void WordMerger::offer(uint32_t at) {
  const uint32_t behind = parts_[at].behind;
  if (behind >= parts_.size()) return;
  const uint32_t rank = rules_.ranks.find(pair_key(parts_[at].token, parts_[behind].token));
  if (rank == PairTable::kNone) return;
  heap_.push_back(uint64_t{rank} << 32 | at);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void WordMerger::encode(std::string_view word, std::vector<int32_t>& tokens) {
  parts_.clear();
  for (const char byte : word) {
    const auto at = static_cast<uint32_t>(parts_.size());
    parts_.push_back({rules_.of_byte[static_cast<unsigned char>(byte)], at - 1, at + 1});
  }
  const auto end = static_cast<uint32_t>(parts_.size());
  for (uint32_t at = 0; at + 1 < end; ++at) offer(at);

  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const uint64_t best = heap_.back();
    heap_.pop_back();
    const Merge& merge = rules_.merges[best >> 32];
    const auto at = static_cast<uint32_t>(best);
    const uint32_t right = parts_[at].behind;
    // The pair may have gone since, into merges that came first.
    if (parts_[at].token != merge.left || right >= end || parts_[right].token != merge.right) continue;

    parts_[at].token = merge.joined;
    parts_[at].behind = parts_[right].behind;
    parts_[right].token = kGone;
    if (parts_[at].behind < end) {
      parts_[parts_[at].behind].before = at;
      offer(at);
    }
    if (at > 0) offer(parts_[at].before);
  }
  for (uint32_t at = 0; at < end; at = parts_[at].behind) tokens.push_back(parts_[at].token);
}

}  // namespace gradus::data::pairs
