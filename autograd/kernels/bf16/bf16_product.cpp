#include "gradus/autograd/kernels/bf16/bf16_product.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kSmallBf16 = int64_t{1} << 20;  // as in gemm.cpp
constexpr int64_t kPartLength = 256;              // of c, that makes it worth while to widen an operand again
constexpr int64_t kMaxParts = 16;
constexpr int64_t kEvenStrips = 4;  // a multiple of what any kernel takes
constexpr int64_t kMaxKernelStrips = 4;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// A range in as few pieces of a length as can be, none of them much shorter than the others.
struct Pieces {
  Range whole;
  int64_t count;

  Pieces(Range range, int64_t longest) : whole(range), count(parts_of(range.size(), longest)) {}
  Range operator[](int64_t i) const {
    return {whole.begin + i * whole.size() / count, whole.begin + (i + 1) * whole.size() / count};
  }
};

/// How c is cut along its longer side, in strips.
struct Cut {
  Range rows, columns;  // all
  bool by_rows;
  int64_t length, count;

  Cut(const PackedBf16& left, const PackedBf16& right) : rows{0, left.strips()}, columns{0, right.strips()} {
    const int64_t m = left.rows, n = right.columns, k = left.columns;
    by_rows = m >= n;
    // An even number, so that two threads end together.
    const int64_t wanted = m * n * k < kSmallBf16
                               ? 1
                               : std::clamp<int64_t>(std::max(m, n) / (2 * kPartLength) * 2, 2, kMaxParts);
    const int64_t extent = by_rows ? rows.end : columns.end;
    length = parts_of(parts_of(extent, wanted), kEvenStrips) * kEvenStrips;
    count = parts_of(extent, length);
  }

  void take(int64_t index, Range& of_rows, Range& of_columns) const {
    of_rows = rows;
    of_columns = columns;
    Range& cut = by_rows ? of_rows : of_columns;
    cut = {index * length, std::min(cut.end, (index + 1) * length)};
  }
};

constexpr int64_t kTileBytes = kTileElements * static_cast<int64_t>(sizeof(bfloat16));

/// Strips of an operand as a kernel takes them; in bytes.
struct Strips {
  const char* data;
  int64_t step, tile;

  const void* at(int64_t strip, int64_t depth) const { return data + strip * step + depth * tile; }
};

/// Widened strips, in `scratch`. A cache line lies between two of them, so that strips which a kernel reads
/// side by side do not fall on the same lines of the cache.
Strips widened(Scratch& scratch, const Bf16Kernel& kernel, const PackedBf16& from, Range strips,
               Range depth) {
  const int64_t step = depth.size() * 2 * kTileBytes + kCacheLine;
  char* const data = static_cast<char*>(scratch.of(strips.size() * step));
  for (int64_t i = 0; i < strips.size(); ++i)
    kernel.widen(depth.size() * (kTileBytes / kCacheLine), from.tile(strips.begin + i, depth.begin),
                 reinterpret_cast<float*>(data + i * step));
  return {data, step, 2 * kTileBytes};
}

/// The kernel's begin() and end() on this thread.
class Running {
 public:
  explicit Running(const Bf16Kernel& kernel) : kernel_(kernel) {
    if (kernel_.begin) kernel_.begin();
  }
  ~Running() {
    if (kernel_.end) kernel_.end();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  const Bf16Kernel& kernel_;
};

class Bf16Product {
 public:
  Bf16Product(const Bf16Kernel& kernel, const PackedBf16& left, const PackedBf16& right, float* c,
              int64_t ldc, const ProductStart& start)
      : kernel_(kernel), left_(left), right_(right), c_(c), ldc_(ldc), start_(start) {}

  void run() const {
    if (left_.rows == 0 || right_.columns == 0) return;
    if (left_.columns == 0) return run_empty();
    const Cut cut(left_, right_);
    const int64_t work = std::max<int64_t>(1, left_.rows * right_.columns * left_.columns / cut.count);
    parallel_for(cut.count, std::max<int64_t>(1, kSmallBf16 / work), [&](int64_t begin, int64_t end) {
      const Running running(kernel_);
      for (int64_t i = begin; i < end; ++i) {
        Range rows, columns;
        cut.take(i, rows, columns);
        run_part(rows, columns);
      }
    });
  }

 private:
  /// Sums of no products.
  void run_empty() const {
    for (int64_t i = 0; i < left_.rows && !start_.from_c; ++i) {
      float* const row = c_ + i * ldc_;
      start_.bias ? std::copy_n(start_.bias, right_.columns, row) : std::fill_n(row, right_.columns, 0.0F);
    }
  }

  /// Along the rows of c, so that few lines of it are written at a time; each panel of right meets all rows.
  void run_part(Range rows, Range columns) const {
    static thread_local Scratch left_scratch, right_scratch;
    const Pieces depths({0, left_.depth()}, kernel_.depth), panels(columns, kernel_.panel);
    for (int64_t p = 0; p < panels.count; ++p)
      for (int64_t k = 0; k < depths.count; ++k) {
        const Strips right = strips(right_scratch, right_, panels[p], depths[k]);
        for (int64_t i = rows.begin; i < rows.end; i += kernel_.rows) {
          const Range high{i, std::min(i + kernel_.rows, rows.end)};
          run_strips(strips(left_scratch, left_, high, depths[k]), high, right, panels[p], depths[k]);
        }
      }
  }

  Strips strips(Scratch& scratch, const PackedBf16& operand, Range range, Range depth) const {
    if (kernel_.widen) return widened(scratch, kernel_, operand, range, depth);
    return {reinterpret_cast<const char*>(operand.tile(range.begin, depth.begin)),
            operand.strip_step() * kTileBytes, kTileBytes};
  }

  void run_strips(const Strips& left, Range rows, const Strips& right, Range columns, Range depth) const {
    const Pieces groups(columns, kernel_.columns);
    for (int64_t j = 0; j < groups.count; ++j)
      run_block({.left = left.at(0, 0),
                 .left_step = left.step,
                 .right = right.at(groups[j].begin - columns.begin, 0),
                 .right_step = right.step,
                 .rows = rows.size(),
                 .columns = groups[j].size(),
                 .depth = depth.size(),
                 .start = nullptr,
                 .start_step = 0,
                 .out = nullptr,
                 .out_step = 0},
                rows.begin * kStrip, groups[j].begin * kStrip, depth);
  }

  /// The block of c that begins at (row, column).
  void run_block(Bf16Block block, int64_t row, int64_t column, Range depth) const {
    static constexpr float kZeros[kMaxKernelStrips * kStrip] = {};
    const int64_t rows = std::min(block.rows * kStrip, left_.rows - row);
    const int64_t columns = std::min(block.columns * kStrip, right_.columns - column);
    float* const c = c_ + row * ldc_ + column;
    const bool go_on = start_.from_c || depth.begin > 0;
    block.start = go_on ? c : start_.bias ? start_.bias + column : kZeros;
    block.start_step = go_on ? ldc_ : 0;
    if (rows == block.rows * kStrip && columns == block.columns * kStrip) {
      block.out = c;
      block.out_step = ldc_;
      kernel_.multiply(block);
    } else {
      multiply_edge(block, rows, columns, c);
    }
  }

  /// Only the part (rows, columns) of the tiles is in c, or in the bias.
  void multiply_edge(Bf16Block block, int64_t rows, int64_t columns, float* c) const {
    const int64_t width = block.columns * kStrip;
    alignas(kCacheLine) float whole[kMaxKernelStrips * kMaxKernelStrips * kStrip * kStrip] = {};
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(block.start + i * block.start_step, columns, whole + i * width);
    block.start = block.out = whole;
    block.start_step = block.out_step = width;
    kernel_.multiply(block);
    for (int64_t i = 0; i < rows; ++i) std::copy_n(whole + i * width, columns, c + i * ldc_);
  }

  const Bf16Kernel& kernel_;
  const PackedBf16 &left_, &right_;
  float* c_;
  int64_t ldc_;
  ProductStart start_;
};

}  // namespace

const Bf16Kernel& bf16_kernel([[maybe_unused]] Isa isa) {
#if defined(GRADUS_HAS_AMX)
  if (isa == Isa::amx) return amx::kernel;
#endif
#if defined(GRADUS_HAS_AVX512_BF16)
  if (isa == Isa::avx512_bf16) return avx512_bf16::kernel;
#endif
  return isa_loops<WidenedLoops>().kernel;
}

void multiply_bf16_by(const Bf16Kernel& kernel, const PackedBf16& left, const PackedBf16& right, float* c,
                      int64_t ldc, const ProductStart& start) {
  if (left.side != Side::left || right.side != Side::right || left.columns != right.rows)
    fail("multiply_bf16", "needs a left operand (m, k) and a right one (k, n), got ",
         left.side == Side::left ? "a left one (" : "a right one (", left.rows, ", ", left.columns, ") and ",
         right.side == Side::left ? "a left one (" : "a right one (", right.rows, ", ", right.columns, ").");
  if (start.from_c && start.bias) fail("multiply_bf16", "needs one start at most, got c and a bias.");
  if (left.rows > 1 && ldc < right.columns)
    fail("multiply_bf16", "needs rows of c at least ", right.columns, " apart, got ", ldc, ".");
  Bf16Product(kernel, left, right, c, ldc, start).run();
}

void multiply_bf16(const PackedBf16& left, const PackedBf16& right, float* c, int64_t ldc,
                   const ProductStart& start) {
  multiply_bf16_by(bf16_kernel(isa_in_use(IsaFor::bf16)), left, right, c, ldc, start);
}

void gemm_batch_bf16(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, Trans ta, Trans tb,
                     int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c) {
  const int64_t grain = std::max<int64_t>(1, kSmallBf16 / std::max<int64_t>(1, m * n * k));
  parallel_for(batch, grain, [&](int64_t begin, int64_t end) {
    PackedBf16 left = packed_matrix(Side::left, m, k), right = packed_matrix(Side::right, k, n);
    for (int64_t i = begin; i < end; ++i) {
      pack(ta, a + a_offset[i], lda, left);
      pack(tb, b + b_offset[i], ldb, right);
      multiply_bf16(left, right, c + i * m * n, n);
    }
  });
}

}  // namespace gradus::kernels
