#include "gradus/annexes/fast/bf16/bf16_product.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/blas/float_product.hpp"
#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels {
namespace {

// A multiple of the strips that any kernel takes, in elements; and the most strips that one takes.
constexpr int64_t kTileMultiple = 4 * kStrip, kMaxKernelStrips = 4;
// k is split into two partial sums if k >= kHalvedK, c has at most kMostHalved elements, and a and b together
// have at least kOperandsToSums times as many.
constexpr int64_t kHalvedK = 1024, kMostHalved = int64_t{1} << 20, kOperandsToSums = 8;
// Rows that are packed and multiplied at a time: bands of kTileDepth, and numbers that fit the second-level
// cache. If fewer than kLeastBands fit, the product would read the right operand too often.
constexpr int64_t kMostBands = 8, kMostPacked = int64_t{1} << 19, kLeastBands = 4;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// A range in as few pieces as possible, of about equal lengths.
struct Pieces {
  Range whole;
  int64_t count;

  Pieces(Range range, int64_t longest) : whole(range), count(ceil_div(range.size(), longest)) {}
  Range operator[](int64_t i) const {
    return {whole.begin + i * whole.size() / count, whole.begin + (i + 1) * whole.size() / count};
  }
};

constexpr int64_t kTileBytes = kTileElements * static_cast<int64_t>(sizeof(bfloat16));

Bf16Strips strips_of(const PackedBf16& operand, Range strips, Range depth) {
  return {reinterpret_cast<const char*>(operand.tile(strips.begin, depth.begin)),
          operand.strip_step * kTileBytes, operand.tile_step * kTileBytes};
}

/// Widened strips in `scratch`, a cache line apart, so that strips do not share cache sets.
Bf16Strips widened(Scratch& scratch, const Bf16Kernel& kernel, const PackedBf16& from, Range strips,
                   Range depth) {
  constexpr int64_t kStep = 2 * kTileBytes;
  const int64_t strip_step = depth.size() * kStep + kCacheLine;
  char* const data = static_cast<char*>(scratch.of(strips.size() * strip_step));
  for (int64_t i = 0; i < strips.size(); ++i)
    for (int64_t k = 0; k < depth.size(); ++k)
      kernel.widen(kTileBytes / kCacheLine, from.tile(strips.begin + i, depth.begin + k),
                   reinterpret_cast<float*>(data + i * strip_step + k * kStep));
  return {data, strip_step, kStep};
}

/// Calls the kernel's begin() and end() on this thread.
struct Running {
  const Bf16Kernel& kernel;

  explicit Running(const Bf16Kernel& used) : kernel(used) {
    if (kernel.begin) kernel.begin();
  }
  ~Running() {
    if (kernel.end) kernel.end();
  }
};

class Bf16Product {
 public:
  Bf16Product(const Bf16Kernel& kernel, const PackedBf16& left, const PackedBf16& right, float* c,
              int64_t ldc, const ProductStart& start, bool is_gram = false)
      : kernel_(kernel), left_(left), right_(right), c_(c), ldc_(ldc), start_(start), is_gram_(is_gram) {}

  Tiling tiling() const { return {left_.rows, right_.columns, left_.columns, kMaxTiles, kTileMultiple}; }

  void run() const {
    if (left_.columns == 0) return run_empty();
    const Tiling tiles = tiling();
    const int64_t work = left_.rows * right_.columns * left_.columns / tiles.count;
    parallel_for(tiles.count, grain_of(kSmallProduct, work),
                 [&](int64_t begin, int64_t end) { run(tiles, begin, end); });
  }

  /// Computes the tiles [begin, end) of `tiling`, on this thread.
  void run(const Tiling& tiling, int64_t begin, int64_t end) const {
    const Running running(kernel_);
    for (int64_t i = begin; i < end; ++i) {
      Range rows{0, left_.strips()}, columns{0, right_.strips()};
      Range& cut = tiling.by_rows ? rows : columns;
      const int64_t length = tiling.length / kStrip;
      cut = {i * length, std::min(cut.end, (i + 1) * length)};
      run_tile(rows, columns);
    }
  }

 private:
  /// The result for k = 0.
  void run_empty() const {
    for (int64_t i = 0; i < left_.rows; ++i) {
      float* const row = c_ + i * ldc_;
      const float* const from = start_.from ? start_.from + i * ldc_ : start_.bias;
      if (from != row) from ? std::copy_n(from, right_.columns, row) : std::fill_n(row, right_.columns, 0.0F);
    }
  }

  /// Each panel of right meets all rows. Goes along the rows of c, so that it writes few lines at a time.
  void run_tile(Range rows, Range columns) const {
    static thread_local Scratch left_scratch, right_scratch;
    const Pieces depths({0, left_.depth()}, kernel_.depth), panels(columns, kernel_.panel);
    for (int64_t p = 0; p < panels.count; ++p)
      for (int64_t k = 0; k < depths.count; ++k) {
        const Bf16Strips right = strips(right_scratch, right_, panels[p], depths[k]);
        for (int64_t i = rows.begin; i < rows.end; i += kernel_.rows) {
          const Range high{i, std::min(i + kernel_.rows, rows.end)};
          Range wide = panels[p];
          if (is_gram_)
            wide.end = std::min(wide.end, ceil_div(high.end * kStrip, kGramBlock) * kGramBlock / kStrip);
          if (wide.size() > 0)
            run_strips(strips(left_scratch, left_, high, depths[k]), high, right, wide, depths[k]);
        }
      }
  }

  Bf16Strips strips(Scratch& scratch, const PackedBf16& operand, Range range, Range depth) const {
    return kernel_.widen ? widened(scratch, kernel_, operand, range, depth)
                         : strips_of(operand, range, depth);
  }

  void run_strips(const Bf16Strips& left, Range rows, const Bf16Strips& right, Range columns,
                  Range depth) const {
    const Pieces groups(columns, kernel_.columns);
    for (int64_t j = 0; j < groups.count; ++j) {
      Bf16Strips group = right;
      group.data += (groups[j].begin - columns.begin) * right.strip_step;
      run_tiles({left, group, rows.size(), groups[j].size(), depth.size()}, rows.begin * kStrip,
                groups[j].begin * kStrip, depth.begin > 0);
    }
  }

  /// The tiles of c that begin at (row, column); `adds` to c.
  void run_tiles(Bf16Tiles tiles, int64_t row, int64_t column, bool adds) const {
    static constexpr float kZeros[kMaxKernelStrips * kStrip] = {};
    const int64_t rows = std::min(tiles.rows * kStrip, left_.rows - row);
    const int64_t columns = std::min(tiles.columns * kStrip, right_.columns - column);
    float* const c = c_ + row * ldc_ + column;
    const float* const sum = adds ? c : start_.from ? start_.from + row * ldc_ + column : nullptr;
    tiles.start = sum ? sum : start_.bias ? start_.bias + column : kZeros;
    tiles.start_stride = sum ? ldc_ : 0;
    if (rows < tiles.rows * kStrip || columns < tiles.columns * kStrip)
      return multiply_edge(tiles, rows, columns, c);
    tiles.out = c;
    tiles.out_stride = ldc_;
    kernel_.multiply(tiles);
  }

  /// Only the part (rows, columns) of the tiles is in c, or in the bias.
  void multiply_edge(Bf16Tiles tiles, int64_t rows, int64_t columns, float* c) const {
    const int64_t width = tiles.columns * kStrip;
    alignas(kCacheLine) float whole[kMaxKernelStrips * kMaxKernelStrips * kStrip * kStrip] = {};
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(tiles.start + i * tiles.start_stride, columns, whole + i * width);
    tiles.start = tiles.out = whole;
    tiles.start_stride = tiles.out_stride = width;
    kernel_.multiply(tiles);
    for (int64_t i = 0; i < rows; ++i) std::copy_n(whole + i * width, columns, c + i * ldc_);
  }

  const Bf16Kernel& kernel_;
  const PackedBf16 &left_, &right_;
  float* c_;
  int64_t ldc_;
  ProductStart start_;
  bool is_gram_;  // else all is computed
};

PackedBf16 packed_in(Scratch& memory, Side side, int64_t rows, int64_t columns) {
  return packed_matrix(side, rows, columns, memory.of(packed_bytes(side, rows, columns)));
}

void check_product(Side side, int64_t m, int64_t k, const PackedBf16& right, int64_t ldc,
                   const ProductStart& start) {
  const auto name = [](Side of) { return of == Side::left ? "a left one (" : "a right one ("; };
  if (side != Side::left || right.side != Side::right || k != right.rows)
    fail("multiply_bf16", "needs a left operand (m, k) and a right one (k, n), got ", name(side), m, ", ", k,
         ") and ", name(right.side), right.rows, ", ", right.columns, ").");
  if (start.from && start.bias) fail("multiply_bf16", "needs one start at most, got a sum and a bias.");
  if (m > 1 && ldc < right.columns)
    fail("multiply_bf16", "needs rows of c at least ", right.columns, " apart, got ", ldc, ".");
}

bool has_two_sums(int64_t m, int64_t n, int64_t k) {
  return k >= kHalvedK && m * n <= kMostHalved && k * (m + n) >= kOperandsToSums * m * n;
}

/// How many of `all` bands a thread packs and multiplies at once: chunks are even in number, for two threads.
int64_t bands_at_a_time(int64_t all, int64_t k) {
  const int64_t most =
      std::clamp<int64_t>(kMostPacked / (kTileDepth * std::max<int64_t>(1, k)), 1, kMostBands);
  const int64_t chunks = 2 * ceil_div(all, 2 * most);
  return chunks == 0 ? 1 : ceil_div(all, chunks);
}

/// The sum of the products of both halves of k, so that each of two threads that packed half of the rows of k
/// reads what it wrote.
void run_two_sums(const Bf16Kernel& kernel, const PackedBf16& left, const PackedBf16& right, float* c,
                  int64_t ldc, const ProductStart& start) {
  const int64_t m = left.rows, n = right.columns, k = left.columns, middle = left.depth() / 2 * kTileDepth;
  static thread_local Scratch memory;
  auto* const second = static_cast<float*>(memory.of(m * n * static_cast<int64_t>(sizeof(float))));
  const PackedBf16 a[2] = {left.part_of_k(0, middle), left.part_of_k(middle, k)};
  const PackedBf16 b[2] = {right.part_of_k(0, middle), right.part_of_k(middle, k)};
  const Bf16Product products[2] = {{kernel, a[0], b[0], c, ldc, start}, {kernel, a[1], b[1], second, n, {}}};
  const Tiling tiling = products[0].tiling();
  parallel_for(2 * tiling.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t tile = i % tiling.count;
      products[i / tiling.count].run(tiling, tile, tile + 1);
    }
  });
  parallel_for(m, grain_of(kElementsChunk, n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      isa_loops<ReduceLoops<float>>().fold_rows[static_cast<int>(Reduce::sum)](1, n, c + i * ldc,
                                                                               second + i * n, n);
  });
}

}  // namespace

const Bf16Kernel& bf16_kernel([[maybe_unused]] Bf16Unit isa) {
#if defined(GRADUS_HAS_AMX)
  if (isa == Bf16Unit::amx) return amx::kernel;
#endif
#if defined(GRADUS_HAS_AVX512_BF16)
  if (isa == Bf16Unit::avx512_bf16) return avx512_bf16::kernel;
#endif
  return isa_loops<WidenedLoops>().kernel;
}

void multiply_bf16(const PackedBf16& left, const PackedBf16& right, float* c, int64_t ldc,
                   const ProductStart& start, const Bf16Kernel& kernel) {
  check_product(left.side, left.rows, left.columns, right, ldc, start);
  if (left.rows == 0 || right.columns == 0) return;
  if (has_two_sums(left.rows, right.columns, left.columns))
    return run_two_sums(kernel, left, right, c, ldc, start);
  Bf16Product(kernel, left, right, c, ldc, start).run();
}

bool multiplies_as_it_packs(int64_t m, int64_t n, int64_t k) {
  return m >= n && k * kTileDepth * kLeastBands <= kMostPacked;
}

void pack_and_multiply_bf16(const RowSource& rows, const PackedRows& to, const PackedBf16& right, float* c,
                            int64_t ldc, const ProductStart& start) {
  if (to.left) {
    pack_rows(rows, to);
    return multiply_bf16(*to.left, right, c, ldc, start);
  }
  check_product(Side::left, rows.rows, rows.columns, right, ldc, start);
  if (right.columns == 0) return pack_rows(rows, to);
  RowPacking packing(rows, to);
  const Bf16Kernel& kernel = bf16_kernel();
  const int64_t bands = packing.bands(), k = rows.columns, high = bands_at_a_time(bands, k);
  const int64_t work = high * kTileDepth * right.columns * k;
  parallel_for(ceil_div(bands, high), grain_of(kSmallProduct, work), [&](int64_t begin, int64_t end) {
    static thread_local Scratch memory;
    for (int64_t band = begin * high; band < std::min(bands, end * high); band += high) {
      const int64_t last = std::min(bands, band + high), row = band * kTileDepth;
      const PackedBf16 left = packed_in(memory, Side::left, std::min(rows.rows, last * kTileDepth) - row, k);
      for (int64_t i = band; i < last; ++i) packing.pack_band(i, &left, band);
      ProductStart here = start;
      if (here.from) here.from += row * ldc;
      Bf16Product(kernel, left, right, c + row * ldc, ldc, here).run();
    }
  });
  packing.finish();
}

int64_t bf16_burst() {
  constexpr int kRounds = 1 << 9;
  const Bf16Kernel& kernel = bf16_kernel();
  const int64_t tile = kTileElements * static_cast<int64_t>(kernel.widen ? sizeof(float) : sizeof(bfloat16));
  const int64_t strip = kernel.depth * tile, rows = kernel.rows * kStrip, columns = kernel.columns * kStrip;
  Scratch memory[3];  // zeros
  const auto strips = [&](Scratch& of, int64_t count) {
    return Bf16Strips{static_cast<const char*>(of.of(count * strip)), strip, tile};
  };
  auto* const c = static_cast<float*>(memory[2].of(rows * columns * static_cast<int64_t>(sizeof(float))));
  Bf16Tiles tiles{strips(memory[0], kernel.rows), strips(memory[1], kernel.columns), kernel.rows,
                  kernel.columns, kernel.depth};
  tiles.start = tiles.out = c;
  tiles.start_stride = tiles.out_stride = columns;
  const Running running(kernel);
  for (int round = 0; round < kRounds; ++round) kernel.multiply(tiles);
  return kRounds * 2 * rows * columns * kernel.depth * kTileDepth;
}

void gram_bf16(Trans trans, int64_t m, int64_t k, const float* a, int64_t lda, float* c) {
  if (m == 0) return;
  static thread_local Scratch left_memory, right_memory;
  PackedBf16 left = packed_in(left_memory, Side::left, m, k),
             right = packed_in(right_memory, Side::right, k, m);
  pack(trans, a, lda, left);
  pack(trans == Trans::yes ? Trans::no : Trans::yes, a, lda, right);
  Bf16Product(bf16_kernel(), left, right, c, m, {}, /*is_gram=*/true).run();
  mirror(m, c);
}

void gemm_batch_bf16(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, Trans ta, Trans tb,
                     int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c) {
  parallel_for(batch, grain_of(kSmallProduct, m * n * k), [&](int64_t begin, int64_t end) {
    PackedBf16 left = packed_matrix(Side::left, m, k), right = packed_matrix(Side::right, k, n);
    for (int64_t i = begin; i < end; ++i) {
      pack(ta, a + a_offset[i], lda, left);
      pack(tb, b + b_offset[i], ldb, right);
      multiply_bf16(left, right, c + i * m * n, n);
    }
  });
}

}  // namespace gradus::kernels
