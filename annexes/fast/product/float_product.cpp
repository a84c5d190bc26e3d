#include "gradus/annexes/fast/product/float_product.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/aligned_buffer.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

// The length of a strip along k, and the bytes of a panel of strips: half of a second-level cache of 1 MiB.
constexpr int64_t kDepth = 512, kPanelBytes = int64_t{1} << 19;
// Rows of a transposed a that are copied at a time: a multiple of a tile's.
constexpr int64_t kCopiedRows = 96;
// The largest tile of any level.
constexpr int64_t kMostRows = 8, kMostColumns = 64;

template <class T>
class FloatProductPart {
 public:
  explicit FloatProductPart(const FloatProduct<T>& p) : p_(p) {}

  void run() {
    const int64_t longest = ceil_div(p_.k, ceil_div(p_.k, kDepth));
    const int64_t panel = kPanelBytes / (kDepth * kSize) / loops_.tile_columns * loops_.tile_columns;
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

  /// A cache line more than the size of a strip, so that strips do not share cache sets.
  int64_t strip_stride() const { return kDepth * loops_.tile_columns + kLine; }

  void pack_right() {
    static thread_local Scratch scratch;
    const int64_t width = loops_.tile_columns, strips = ceil_div(columns_, width);
    right_ = static_cast<T*>(scratch.of(strips * strip_stride() * kSize));
    for (int64_t s = 0; s < strips; ++s) {
      const int64_t first = column_ + s * width, wide = std::min(width, column_ + columns_ - first);
      const T* const from = p_.b + depth_begin_ * p_.b_k + first * p_.b_column;
      T* const strip = right_ + s * strip_stride();
      if (p_.b_column == 1) {
        for (int64_t l = 0; l < depth_; ++l) std::copy_n(from + l * p_.b_k, wide, strip + l * width);
      } else {
        loops_.transpose(wide, depth_, from, p_.b_column, strip, width);
      }
    }
  }

  /// The case of an a that is stored by columns.
  void multiply_copied(int64_t row) {
    static thread_local Scratch scratch;
    const int64_t rows = std::min(kCopiedRows, p_.m - row);
    T* const copy = static_cast<T*>(scratch.of(kDepth * kCopiedRows * kSize));
    const T* const from = p_.a + depth_begin_ * p_.a_k + row;
    for (int64_t l = 0; l < depth_; ++l) std::copy_n(from + l * p_.a_k, rows, copy + l * kCopiedRows);
    multiply_rows(row, row + rows, copy, 1, kCopiedRows);
  }

  /// Rows [begin, end) of c; element (i, l) of a from there on is a[i * row_stride + l * k_stride].
  void multiply_rows(int64_t begin, int64_t end, const T* a, int64_t row_stride, int64_t k_stride) {
    const int64_t width = loops_.tile_columns;
    for (int64_t row = begin; row < end; row += loops_.tile_rows)
      for (int64_t s = 0; s * width < columns_; ++s) {
        const int64_t rows = std::min(loops_.tile_rows, end - row),
                      wide = std::min(width, columns_ - s * width);
        const int64_t column = column_ + s * width;
        if (column >= p_.needed(row + rows)) break;
        T* const c = p_.c + row * p_.c_row + column;
        const Start start = depth_begin_ > 0 ? Start{c, p_.c_row}
                            : p_.start       ? Start{p_.start + row * p_.start_row + column, p_.start_row}
                                             : Start{};
        multiply_tile(rows, wide, a + (row - begin) * row_stride, row_stride, k_stride,
                      right_ + s * strip_stride(), start, c);
      }
  }

  struct Start {
    const T* data = nullptr;
    int64_t row = 0;
  };

  void multiply_tile(int64_t rows, int64_t wide, const T* a, int64_t row_stride, int64_t k_stride,
                     const T* strip, Start start, T* c) {
    const int64_t width = loops_.tile_columns, whole = std::min(width, ceil_div(wide, kLine) * kLine);
    if (whole == wide)
      return loops_.multiply(rows, wide, depth_, a, row_stride, k_stride, strip, width, start.data, start.row,
                             c, p_.c_row);
    // Whole vectors; their results for the padding columns of the strip are not used.
    T scratch[kMostRows * kMostColumns];
    loops_.multiply(rows, whole, depth_, a, row_stride, k_stride, strip, width, nullptr, 0, scratch, whole);
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

template <class T>
void mirror_blocks(int64_t m, T* c) {
  for (int64_t row = kGramBlock; row < m; row += kGramBlock)
    isa_loops<ProductLoops<T>>().transpose(std::min(kGramBlock, m - row), row, c + row * m, m, c + row, m);
}

bool beats_blas() { return isa_loops<ProductLoops<float>>().beat_blas; }

template void multiply_floats(const FloatProduct<float>&);
template void multiply_floats(const FloatProduct<double>&);
template void mirror_blocks(int64_t, float*);
template void mirror_blocks(int64_t, double*);

}  // namespace gradus::kernels
