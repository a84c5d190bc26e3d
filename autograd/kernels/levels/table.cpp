// Compiled once for each level, with GRADUS_LEVEL as its name and the compiler's flags as its meaning. All of
// it lives in the level's namespace, and the linker must not find a shared inline function in it: that copy
// could be the one that a machine without these instructions then runs.
#include <utility>

#include "gradus/autograd/kernels/levels/attention.cpp"
#include "gradus/autograd/kernels/levels/dots.cpp"
#include "gradus/autograd/kernels/levels/rows.hpp"
#include "gradus/autograd/kernels/levels/elementwise.cpp"
#include "gradus/autograd/kernels/levels/updates.cpp"

namespace gradus::kernels::GRADUS_LEVEL {
namespace {

template <class T, Binary kOp>
constexpr void set_binary(LevelKernels<T>& table) {
  auto& row = table.binary[static_cast<int>(kOp)];
  row[0] = binary_span<T, kOp, Operands::both>;
  row[1] = binary_span<T, kOp, Operands::a_single>;
  row[2] = binary_span<T, kOp, Operands::b_single>;
}

template <class T, Reduce kOp>
constexpr void set_fold(LevelKernels<T>& table) {
  table.fold[static_cast<int>(kOp)] = fold<T, kOp>;
  table.fold_rows[static_cast<int>(kOp)] = fold_rows<T, kOp>;
}

template <class T, int... kUnary, int... kBinary>
constexpr LevelKernels<T> make_table(std::integer_sequence<int, kUnary...>,
                                     std::integer_sequence<int, kBinary...>) {
  LevelKernels<T> table{};
  ((table.unary[kUnary] = unary_span<T, Unary{kUnary}>), ...);
  (set_binary<T, Binary{kBinary}>(table), ...);
  set_fold<T, Reduce::sum>(table);
  set_fold<T, Reduce::max>(table);
  set_fold<T, Reduce::min>(table);
  table.softmax = softmax<T>;
  table.log_softmax = log_softmax<T>;
  table.logsumexp = logsumexp<T>;
  table.softmax_grad = softmax_grad<T>;
  table.log_softmax_grad = log_softmax_grad<T>;
  table.layer_norm = layer_norm<T>;
  table.layer_norm_gx = layer_norm_gx<T>;
  table.layer_norm_gw = layer_norm_gw<T>;
  table.cross_entropy = cross_entropy<T>;
  table.cross_entropy_grad = cross_entropy_grad<T>;
  table.dropout = dropout<T>;
  table.sum_of_squares = sum_of_squares<T>;
  table.adamw = adamw<T>;
  table.dots = dots;
  table.dots_bfloat16 = dots;
  table.attention = attention_loops<T>();
  return table;
}

template <class T>
constexpr LevelKernels<T> make_table() {
  return make_table<T>(std::make_integer_sequence<int, kUnaryOps>(),
                       std::make_integer_sequence<int, kBinaryOps>());
}

}  // namespace

extern const LevelKernels<float> float_kernels;
extern const LevelKernels<double> double_kernels;
constexpr LevelKernels<float> float_kernels = make_table<float>();
constexpr LevelKernels<double> double_kernels = make_table<double>();

}  // namespace gradus::kernels::GRADUS_LEVEL
