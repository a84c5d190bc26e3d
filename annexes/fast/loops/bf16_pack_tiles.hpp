// Packing of tiles of bfloat16, for any way of rounding pairs of numbers to words.
#pragma once

#include "gradus/annexes/fast/bf16/bf16_pack.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

typedef Vector<uint32_t> Words;
constexpr int kWords = kLanes<uint32_t>;
constexpr int kTileWords = 16;  // in a row of a tile, and rows of a tile

template <bool streamed>
void store_words(bfloat16* out, Words words) {
  if constexpr (streamed)
    store_past_caches(out, words);
  else
    __builtin_memcpy(out, &words, sizeof words);
}

// Rounding has words of pairs of neighbours in a row (along), and of two rows (across). Processors do not
// prefetch from this many rows by themselves.
template <class Rounding, bool across, bool transposed, bool streamed>
void pack_tile(const float* x, int64_t ldx, int64_t ahead, bfloat16* out) {
  for (int row = 0; row < kTileWords; row += kWords)
    for (int column = 0; column < kTileWords; column += kWords) {
      const auto words_of = [&](int i) {
        const float* const from =
            across ? x + 2 * (row + i) * ldx + column : x + (row + i) * ldx + 2 * column;
        const float* const other = from + (across ? ldx : kTileWords);
        if (column == 0) {
          __builtin_prefetch(from + ahead);
          __builtin_prefetch(other + ahead);
        }
        return across ? Rounding::across(load(from), load(other))
                      : Rounding::along(load(from), load(from + kWords));
      };
      if constexpr (transposed) {
        Words words[kWords];
        for (int i = 0; i < kWords; ++i) words[i] = words_of(i);
        transpose(words);
        for (int i = 0; i < kWords; ++i)
          store_words<streamed>(out + 2 * ((column + i) * kTileWords + row), words[i]);
      } else {
        for (int i = 0; i < kWords; ++i)
          store_words<streamed>(out + 2 * ((row + i) * kTileWords + column), words_of(i));
      }
    }
}

template <class Rounding, bool across, bool transposed>
void pack_tiles(int64_t tiles, const float* x, int64_t ldx, int64_t stride, int64_t ahead, bfloat16* out,
                int64_t out_stride, bool streamed) {
  if (!streamed || !kStoresPastCaches) {
    for (int64_t tile = 0; tile < tiles; ++tile)
      pack_tile<Rounding, across, transposed, false>(x + tile * stride, ldx, ahead, out + tile * out_stride);
    return;
  }
  for (int64_t tile = 0; tile < tiles; ++tile)
    pack_tile<Rounding, across, transposed, true>(x + tile * stride, ldx, ahead, out + tile * out_stride);
  finish_stores();
}

template <class Rounding>
constexpr PackLoops kPackLoops = {{{pack_tiles<Rounding, false, false>, pack_tiles<Rounding, false, true>},
                                   {pack_tiles<Rounding, true, false>, pack_tiles<Rounding, true, true>}}};

}  // namespace gradus::kernels::GRADUS_ISA
