#include "gradus/autograd/kernels/blas/float_product.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/aligned_buffer.hpp"

namespace gradus::kernels {
namespace {

// Elements of k that a strip is long, and bytes of strips side by side: half of a second cache of 1 MiB.
constexpr int64_t kDepth = 512, kPanelBytes = int64_t{1} << 19;
// Rows of a transposed a that are copied at a time: a multiple of a block's.
constexpr int64_t kCopiedRows = 96;
// The largest block of any level.
constexpr int64_t kMostRows = 8, kMostColumns = 64;

template <class T>
class FloatProductPart {
 public:
  explicit FloatProductPart(const FloatProduct<T>& p) : p_(p) {}

  void run() {
    const int64_t pieces = (p_.k + kDepth - 1) / kDepth, longest = (p_.k + pieces - 1) / pieces;
    const int64_t panel = kPanelBytes / (kDepth * kSize) / loops_.block_columns * loops_.block_columns;
    for (column_ = 0; column_ < p_.n; column_ += panel)
      for (depth_begin_ = 0; depth_begin_ < p_.k; depth_begin_ += longest) {
        columns_ = std::min(panel, p_.n - column_);
        depth_ = std::min(longest, p_.k - depth_begin_);
        pack_right();
        if (p_.a_k == 1) {
          multiply_rows(0, p_.m, p_.a + depth_begin_, p_.a_row, 1);
        } else {
          for (int64_t row = 0; row < p_.m; row += kCopiedRows) multiply_copied(row);
        }
      }
  }

 private:
  static constexpr int64_t kSize = sizeof(T), kLine = kCacheLine / kSize;

  /// The distance of strips: a cache line more than their size, so that they do not fall on the same lines.
  int64_t strip_step() const { return kDepth * loops_.block_columns + kLine; }

  void pack_right() {
    static thread_local Scratch scratch;
    const int64_t width = loops_.block_columns, strips = (columns_ + width - 1) / width;
    right_ = static_cast<T*>(scratch.of(strips * strip_step() * kSize));
    for (int64_t s = 0; s < strips; ++s) {
      const int64_t first = column_ + s * width, wide = std::min(width, column_ + columns_ - first);
      const T* const from = p_.b + depth_begin_ * p_.b_k + first * p_.b_column;
      T* const strip = right_ + s * strip_step();
      if (p_.b_column == 1) {
        for (int64_t l = 0; l < depth_; ++l) std::copy_n(from + l * p_.b_k, wide, strip + l * width);
      } else {
        loops_.transpose(wide, depth_, from, p_.b_column, strip, width);
      }
      if (p_.alpha != T{1})
        for (int64_t i = 0; i < depth_ * width; ++i) strip[i] *= p_.alpha;
    }
  }

  /// Where a is stored by columns, whose elements lie far apart.
  void multiply_copied(int64_t row) {
    static thread_local Scratch scratch;
    const int64_t rows = std::min(kCopiedRows, p_.m - row);
    T* const copy = static_cast<T*>(scratch.of(kDepth * kCopiedRows * kSize));
    const T* const from = p_.a + depth_begin_ * p_.a_k + row;
    for (int64_t l = 0; l < depth_; ++l) std::copy_n(from + l * p_.a_k, rows, copy + l * kCopiedRows);
    multiply_rows(row, row + rows, copy, 1, kCopiedRows);
  }

  /// Rows [begin, end) of c; element (i, l) of a from there on is a[i * row_step + l * k_step].
  void multiply_rows(int64_t begin, int64_t end, const T* a, int64_t row_step, int64_t k_step) {
    const int64_t width = loops_.block_columns;
    for (int64_t row = begin; row < end; row += loops_.block_rows)
      for (int64_t s = 0; s * width < columns_; ++s) {
        const int64_t rows = std::min(loops_.block_rows, end - row),
                      wide = std::min(width, columns_ - s * width);
        const int64_t column = column_ + s * width;
        const Block from{p_.c + row * p_.c_row + column, p_.c_row};
        const Block start = depth_begin_ > 0 ? from
                            : p_.start       ? Block{p_.start + row * p_.start_row + column, p_.start_row}
                                             : Block{};
        multiply_block(rows, wide, a + (row - begin) * row_step, row_step, k_step, right_ + s * strip_step(),
                       start, p_.c + row * p_.c_row + column);
      }
  }

  struct Block {
    const T* data = nullptr;
    int64_t row = 0;
  };

  void multiply_block(int64_t rows, int64_t wide, const T* a, int64_t row_step, int64_t k_step,
                      const T* strip, Block start, T* c) {
    const int64_t width = loops_.block_columns, whole = std::min(width, (wide + kLine - 1) / kLine * kLine);
    if (whole == wide)
      return loops_.multiply(rows, wide, depth_, a, row_step, k_step, strip, width, start.data, start.row, c,
                             p_.c_row);
    // Whole vectors: a strip has room beside the last columns of b, whose contents are not used.
    T scratch[kMostRows * kMostColumns];
    loops_.multiply(rows, whole, depth_, a, row_step, k_step, strip, width, nullptr, 0, scratch, whole);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < wide; ++j)
        c[i * p_.c_row + j] = scratch[i * whole + j] + (start.data ? start.data[i * start.row + j] : T{0});
  }

  const FloatProduct<T>& p_;
  const ProductLoops<T>& loops_ = isa_loops<ProductLoops<T>>();
  int64_t column_ = 0, columns_ = 0, depth_begin_ = 0, depth_ = 0;
  T* right_ = nullptr;
};

}  // namespace

template <class T>
void multiply_floats(const FloatProduct<T>& product) {
  FloatProductPart<T>(product).run();
}

template void multiply_floats(const FloatProduct<float>&);
template void multiply_floats(const FloatProduct<double>&);

}  // namespace gradus::kernels
