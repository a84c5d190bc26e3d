#include "gradus/autograd/kernels/bf16/bf16_activation.hpp"

#include "gradus/autograd/kernels/elementwise/swiglu.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {
namespace {

struct ActivatedRows {
  const Activation& of;
  int64_t columns;

  static void make(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns,
                   float* out, int64_t out_step) {
    const auto& [of, all_columns] = *static_cast<const ActivatedRows*>(context);
    for (int64_t i = 0; i < rows; ++i, out += out_step) {
      const int64_t at = (row + i) * all_columns + column;
      if (of.up)
        isa_loops<SwigluLoops<float>>().forward(columns, out, of.x + at, of.up + at);
      else
        isa_loops<ElementwiseLoops<float>>().unary[static_cast<int>(of.unary)](columns, out, of.x + at);
    }
  }
};

}  // namespace

void pack_activation(const Activation& activation, int64_t rows, int64_t columns, const PackedRows& to) {
  const ActivatedRows made{activation, columns};
  pack_rows({.rows = rows, .columns = columns, .make = ActivatedRows::make, .context = &made}, to);
}

}  // namespace gradus::kernels
