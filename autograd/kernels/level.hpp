// The inner loops of the kernels, built once for each level of x86-64 (v2: SSE4, v3: AVX2 and FMA, v4:
// AVX-512), and the choice among them. One binary runs at full width on each machine.
//
// Everything here works on one thread and on packed data; the kernels around it cut the work into blocks.
// Within a level the bits of an element do not depend on its place. Thread-safe once the level is chosen.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gradus/autograd/kernels/attention_loops.hpp"
#include "gradus/autograd/kernels/bfloat16.hpp"
#include "gradus/autograd/kernels/elementwise.hpp"
#include "gradus/autograd/kernels/reduce.hpp"

namespace gradus::kernels {

inline constexpr int kUnaryOps = 16, kBinaryOps = 13, kReductions = 3;

/// One operand of a binary loop may be a single value.
enum class Operands { both, a_single, b_single };

/// AdamW with what is common to all elements worked out: param = shrink * param - rate * m / (sqrt(v) * root
/// + eps).
template <class T>
struct AdamWFactors {
  T grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, shrink, rate, root, eps;
};

template <class T>
struct LevelKernels {
  void (*unary[kUnaryOps])(int64_t n, T* out, const T* x);
  void (*binary[kBinaryOps][3])(int64_t n, T* out, const T* a, const T* b);  // by Binary and Operands

  T (*fold[kReductions])(int64_t n, const T* x);  // by Reduce
  /// out[c] = op(out[c], x[r][c]) for each row r in order.
  void (*fold_rows[kReductions])(int64_t rows, int64_t cols, T* out, const T* x, int64_t row_stride);

  void (*softmax)(int64_t cols, T* y, const T* x);
  void (*log_softmax)(int64_t cols, T* y, const T* x);
  T (*logsumexp)(int64_t cols, const T* x);
  void (*softmax_grad)(int64_t cols, T* gx, const T* gy, const T* y);
  void (*log_softmax_grad)(int64_t cols, T* gx, const T* gy, const T* y);

  /// mean: 2 numbers that add up to it.
  void (*layer_norm)(int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias);
  void (*layer_norm_gx)(int64_t cols, T* gx, const T* gy, const T* x, const T* mean, T rstd, const T* weight);
  /// gw += gy * xhat, gb += gy for one row; either may be nullptr.
  void (*layer_norm_gw)(int64_t cols, T* gw, T* gb, const T* gy, const T* x, const T* mean, T rstd);

  /// row_sum: what is taken off x before exp, and the sum of that, for the gradient.
  void (*cross_entropy)(int64_t classes, T* loss, T* row_sum, const T* x, int64_t target);
  /// gx = scale * (softmax(x) - onehot(target)).
  void (*cross_entropy_grad)(int64_t classes, T* gx, T scale, const T* x, const T* row_sum, int64_t target);

  void (*dropout)(int64_t n, T* out, const T* x, uint32_t threshold, T scale, uint64_t key, uint64_t block);
  double (*sum_of_squares)(int64_t n, const T* x);
  void (*adamw)(int64_t n, T* param, T* m, T* v, const T* grad, const AdamWFactors<T>& f);

  /// sums[r] = the dot product of x (n) and rows[r] (n), for four rows.
  void (*dots)(int64_t n, const T* x, const T* const* rows, T* sums);
  void (*dots_bfloat16)(int64_t n, const T* x, const bfloat16* const* rows, T* sums);

  AttentionLoops<T> attention;
};

/// The loops for T = float or double at the level in use.
template <class T>
const LevelKernels<T>& level_kernels();
template <>
const LevelKernels<float>& level_kernels();
template <>
const LevelKernels<double>& level_kernels();

/// Names of the levels that this machine can run, best first.
std::vector<std::string_view> available_levels();
/// For tests: use the level of that name. Throws Error if this machine cannot run it. At the start it is the
/// best one, or the one that the environment variable GRADUS_LEVEL names.
void set_level(std::string_view name);

}  // namespace gradus::kernels
