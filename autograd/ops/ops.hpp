// The operations: functions with PyTorch's names and argument order. Views are members of Tensor.
//
// All check their arguments and throw Error with the op's name, and the given and expected shapes or values.
// Except where noted they are differentiable to any order, take float32 or float64 (one dtype in a call),
// broadcast like NumPy, and return new storage. `dim` may count from the end.
#pragma once

#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

namespace autograd {
/// Dimensions to reduce; negative ones count from the end.
using Dims = std::vector<int64_t>;
}  // namespace autograd

/// The results of max() and min() along a dimension, sort() and topk().
struct ValuesAndIndices {
  Tensor values, indices;  ///< of one shape
};

// -- making tensors (not differentiable)
Tensor zeros(const Shape& shape, DType dtype = DType::float32);               ///< all 0
Tensor ones(const Shape& shape, DType dtype = DType::float32);                ///< all 1
Tensor full(const Shape& shape, double value, DType dtype = DType::float32);  ///< all `value`
/// start, start + step, ... below end. Throws Error for a fraction as start or step of int64 numbers.
Tensor arange(double start, double end, double step = 1.0, DType dtype = DType::int64);
Tensor eye(int64_t n, DType dtype = DType::float32);  ///< (n, n), 1 on the diagonal and 0 elsewhere
/// The given values, row-major. Throws Error if their number is not shape.numel().
Tensor tensor(const std::vector<float>& values, const Shape& shape);
Tensor tensor(const std::vector<double>& values, const Shape& shape);
Tensor tensor(const std::vector<int64_t>& values, const Shape& shape);
Tensor tensor(const std::vector<bool>& values, const Shape& shape);
/// A number as it is written in a list.
struct Literal {
  /// From a number of any arithmetic type.
  template <class T>
  requires std::is_arithmetic_v<T> Literal(T x)  // NOLINT: a number is the natural spelling
      : value(static_cast<double>(x)),
        whole(static_cast<int64_t>(std::is_floating_point_v<T> ? T{} : x)),
        dtype(std::is_same_v<T, bool>       ? DType::boolean
              : std::is_floating_point_v<T> ? DType::float32
                                            : DType::int64) {}
  double value;   ///< the number
  int64_t whole;  ///< the number, if dtype is int64
  DType dtype;    ///< bool, int64 or float32
};
/// tensor({1, 2}, {2}): of the highest dtype among the numbers, as in PyTorch: bool, int64 or, of numbers
/// with a point, float32. A std::vector makes float64.
Tensor tensor(std::initializer_list<Literal> values, const Shape& shape);
/// The same as a vector.
inline Tensor tensor(std::initializer_list<Literal> values) { return tensor(values, {std::ssize(values)}); }
/// float32 matrix from rows, as it is written: matrix({{1, 2}, {3, 4}}).
Tensor matrix(std::initializer_list<std::initializer_list<float>> rows);

// -- arithmetic: of operands of different dtypes in the higher one, as in PyTorch: bool, int64, floating;
// float32 and float64 must be converted
Tensor add(const Tensor& a, const Tensor& b);  ///< a + b
Tensor sub(const Tensor& a, const Tensor& b);  ///< a - b
Tensor mul(const Tensor& a, const Tensor& b);  ///< a * b
Tensor div(const Tensor& a, const Tensor& b);  ///< a / b; of int64: float32
/// base^exponent. int64 powers are computed modulo 2^64; a negative exponent throws Error.
Tensor pow(const Tensor& base, const Tensor& exponent);
/// The larger of a and b, or NaN if one is NaN. Where both are equal, each gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);  ///< the smaller, with the same rules

/// add(), sub(), mul() and div().
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
/// A number is a 0-d tensor of the other operand's dtype. If that is int64 or bool (which only the
/// comparisons take) and the number is not one of its values, both become float32: an int64 x * 0.5 is not 0.
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
/// base^exponent, with the same rules; an int64 base to a negative power gives float32.
Tensor pow(const Tensor& base, double exponent);

// -- one value at a time
Tensor neg(const Tensor& x);                                 ///< -x; also int64
inline Tensor operator-(const Tensor& x) { return neg(x); }  ///< neg()
Tensor abs(const Tensor& x);                                 ///< |x|; gradient 0 at 0; also int64
Tensor exp(const Tensor& x);                                 ///< e^x
Tensor log(const Tensor& x);                                 ///< to base e
Tensor sqrt(const Tensor& x);                                ///< gradient infinite at 0
Tensor rsqrt(const Tensor& x);                               ///< 1 / sqrt(x)
Tensor tanh(const Tensor& x);                                ///< (e^x - e^-x) / (e^x + e^-x)
Tensor sigmoid(const Tensor& x);                             ///< 1 / (1 + e^-x)
Tensor relu(const Tensor& x);                                ///< max(x, 0); gradient 0 at 0
/// Which form of gelu(): exact, or approximate.
enum class Gelu { none, tanh };
/// x * Phi(x) (Hendrycks and Gimpel, arXiv 1606.08415), exact by erf or in its tanh approximation (GPT-2's).
Tensor gelu(const Tensor& x, Gelu approximate = Gelu::none);
Tensor silu(const Tensor& x);  ///< x * sigmoid(x)
/// silu(gate) * up, both of one shape (Shazeer, arXiv 2002.05202).
Tensor swiglu(const Tensor& gate, const Tensor& up);
/// log(1 + e^(beta x)) / beta, and x itself where beta x is above the threshold.
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);
Tensor mish(const Tensor& x);  ///< x * tanh(softplus(x)) (Misra, arXiv 1908.08681)
Tensor sin(const Tensor& x);   ///< of radians
Tensor cos(const Tensor& x);   ///< of radians
Tensor erf(const Tensor& x);   ///< 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x
/// Values below min become min, above max max (max wins if min > max). The gradient passes in [min, max].
Tensor clamp(const Tensor& x, double min = -std::numeric_limits<double>::infinity(),
             double max = std::numeric_limits<double>::infinity());
/// The same with bounds that broadcast with x, either of them undefined for none; a bound gets the gradient
/// of the elements it replaces. A NaN anywhere gives NaN.
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max);
Tensor sign(const Tensor& x);  ///< -1, 0 or 1; not differentiable

// -- choosing
/// a where condition (bool) holds, else b.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// x with `value` where mask (bool) holds, both broadcast; the gradient there is 0 even if value is infinite.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
/// The same with a value () of x's dtype that gets the gradients of all it fills.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);

// -- comparisons: bool tensors, not differentiable; of float, int64 and bool operands
Tensor eq(const Tensor& a, const Tensor& b);  ///< a == b
Tensor ne(const Tensor& a, const Tensor& b);  ///< a != b
Tensor lt(const Tensor& a, const Tensor& b);  ///< a < b
Tensor le(const Tensor& a, const Tensor& b);  ///< a <= b
Tensor gt(const Tensor& a, const Tensor& b);  ///< a > b
Tensor ge(const Tensor& a, const Tensor& b);  ///< a >= b
Tensor eq(const Tensor& a, double b);         ///< a == b
Tensor ne(const Tensor& a, double b);         ///< a != b
Tensor lt(const Tensor& a, double b);         ///< a < b
Tensor le(const Tensor& a, double b);         ///< a <= b
Tensor gt(const Tensor& a, double b);         ///< a > b
Tensor ge(const Tensor& a, double b);         ///< a >= b

// -- reductions: over the given dims, or over all if none are given
/// Also int64; of bool, the int64 number of those that are true.
Tensor sum(const Tensor& x, const autograd::Dims& dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, const autograd::Dims& dims = {}, bool keepdim = false);  ///< NaN if empty
/// Mean square deviation, divided by n - correction. NaN if n <= correction.
Tensor var(const Tensor& x, const autograd::Dims& dims = {}, int64_t correction = 1, bool keepdim = false);
/// torch.std: the root of var, with gradient 0 where that is 0.
Tensor stddev(const Tensor& x, const autograd::Dims& dims = {}, int64_t correction = 1, bool keepdim = false);
/// The largest. Ties share the gradient equally. Throws Error for no elements. Also int64, as max and min.
Tensor amax(const Tensor& x, const autograd::Dims& dims = {}, bool keepdim = false);
/// The smallest, in the same way.
Tensor amin(const Tensor& x, const autograd::Dims& dims = {}, bool keepdim = false);
// The next four stand in parentheses, because windows.h has macros of these names.
/// The largest element along dim, or a NaN, and its int64 index. The first of equals gets the gradient.
ValuesAndIndices(max)(const Tensor& x, int64_t dim, bool keepdim = false);
ValuesAndIndices(min)(const Tensor& x, int64_t dim,
                      bool keepdim = false);  ///< the smallest, with the same rules
/// The largest of all elements, as amax; but if that is NaN, the elements that are NaN share the gradient.
Tensor(max)(const Tensor& x);
Tensor(min)(const Tensor& x);  ///< the smallest, with the same rules
/// Running sums along dim; from the end if reverse. Also int64.
Tensor cumsum(const Tensor& x, int64_t dim, bool reverse = false);
/// h_t = a_t * h_(t-1) + b_t along dim (h_(t+1) if reverse); the first h is b. a and b have equal shapes.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, int64_t dim, bool reverse = false);
/// log(sum(exp(x))), without overflow. A slice that holds only -inf gives -inf and gradient 0.
Tensor logsumexp(const Tensor& x, const autograd::Dims& dims, bool keepdim = false);
/// torch.linalg.vector_norm: sum(|x|^p)^(1 / p); the largest |x| for p = inf, the smallest for -inf, the
/// number of elements that are not 0 for p = 0. The gradient is 0 where x or the norm is 0.
Tensor norm(const Tensor& x, double p = 2.0, const autograd::Dims& dims = {}, bool keepdim = false);
/// exp(x) / sum(exp(x)) along dim. A row that holds only -inf gives NaN, as in PyTorch.
Tensor softmax(const Tensor& x, int64_t dim);
/// softmax, but a row that holds only -inf gives zeros, with gradient 0.
Tensor safe_softmax(const Tensor& x, int64_t dim);
Tensor log_softmax(const Tensor& x, int64_t dim);  ///< log(softmax(x)), without overflow

// -- products
/// (n) @ (n) -> (), (n) @ (n, p) -> (p), (m, n) @ (n) -> (m), (..., m, n) @ (..., n, p) -> (..., m, p) with
/// the batch dimensions broadcast. Of int64 it is exact.
Tensor matmul(const Tensor& a, const Tensor& b);
/// matmul of (m, n) and (n, p) only: throws Error for other shapes.
Tensor mm(const Tensor& a, const Tensor& b);
/// matmul of (B, m, n) and (B, n, p) only: throws Error for other shapes.
Tensor bmm(const Tensor& a, const Tensor& b);
/// x @ weight^T + bias: x (..., in), weight (out, in), bias (out) or undefined -> (..., out). A weight (in),
/// with a bias () or undefined, leaves the last dimension out. A weight (out, in) that is only stored
/// (dtype.hpp) is read as it is and gets no gradient; with one of q8_0 or q4_0, a float32 x of up to 8 rows
/// is rounded to 8 bits too.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// Products, summed over the letters that the result does not have (Einstein's notation): "ij,jk->ik" is a
/// matrix product. A term has a letter for each dimension of its operand; "..." stands for the others, which
/// broadcast, as do sizes of 1. A letter twice in one term takes the diagonal. Without "->", the result has
/// "...", then the letters that occur once, in alphabetical order. Multiplies from left to right.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);
/// linear(gelu(x, approximate), weight, bias), to the bit. Under Autocast it is one operation, which reads
/// and keeps half as much: gelu's values are rounded as they are made.
Tensor gelu_linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                   Gelu approximate = Gelu::none);
/// linear(swiglu(gate, up), weight, bias), fused in the same way.
Tensor swiglu_linear(const Tensor& gate, const Tensor& up, const Tensor& weight, const Tensor& bias = {});

// -- joining and indexing
/// Joins along dim; the other sizes must be equal. A vector of size 0 fits any shape and adds nothing.
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
/// Joins tensors of equal shapes along a new dimension.
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim);
/// x placed into zeros of `size` along dim, at start, start + step, ...: the inverse of Tensor::slice.
Tensor pad(const Tensor& x, int64_t dim, int64_t size, int64_t start, int64_t step = 1);
/// Rows `index` (int64, 1-d) of x along dim. Index values must lie in [0, size); throws Error otherwise, as
/// do all ops that take an index. In these four a scalar counts as a vector of one element.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// x with source's slices added at `index` along dim; repeated indices add up.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// out[i][j] = x[index[i][j]][j] for dim 0 and so on; except along dim, index is no larger than x.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
/// x with source added where gather would have read; repeated indices add up.
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// x with source where gather would have read; of repeated indices, the last one counts.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// The same with one value for all.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, double value);
/// x sorted along dim, and the int64 indices of its elements; stable; NaN counts as largest.
ValuesAndIndices sort(const Tensor& x, int64_t dim = -1, bool descending = false);
/// The k largest along dim, largest first, or the k smallest, smallest first; the lower index first among
/// equals. Without `sorted` their order is not specified.
ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);
/// weight (V, C), index (...) int64 -> (..., C). Row padding_idx, if given, gets no gradient. Rows of a
/// weight that is only stored (dtype.hpp) are returned as float32, without gradients.
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx = {});
/// Zero above the given diagonal of the last two dimensions; 0 is the main one, 1 that above it.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);  ///< zero below it

// -- layers and losses
/// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, whose sizes are normalized_shape;
/// weight and bias of that shape or undefined (Ba, Kiros and Hinton, arXiv 1607.06450).
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
/// x / sqrt(mean(x^2) + eps) * weight over the last dimensions, whose sizes are normalized_shape; weight of
/// that shape or undefined; eps, if absent, the distance from 1 to the next number (Zhang and Sennrich, arXiv
/// 1910.07467).
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});
/// Rotary positions (Su et al., arXiv 2104.09864): x (..., T, hs) -> (..., T, hs), where features i and i +
/// hs / 2 of row t, one pair, are rotated by (offset + t) * base^(-2 i / hs) radians. Pairs are Hugging
/// Face's halves, not neighbours. Throws Error for an odd hs and a negative offset.
Tensor rotary_embedding(const Tensor& x, int64_t offset = 0, double base = 10000.0);
/// The same by (offset + t) * frequencies[i] radians, times `scale`. frequencies: float64 (hs / 2), a
/// constant. Scaled frequencies and YaRN's scale extend the context of a trained model.
Tensor rotary_embedding(const Tensor& x, int64_t offset, const Tensor& frequencies, double scale = 1.0);
/// base^(-2 i / hs) for i < hs / 2, float64.
Tensor rotary_frequencies(int64_t hs, double base);
/// How the losses of single elements are combined. batchmean, which only kl_div() takes, is the sum divided
/// by the first size.
enum class Reduction { none, mean, sum, batchmean };
/// An int64_t that {} does not convert to, so that cross_entropy(x, t, {}) uses the default options.
struct IgnoreIndex {
  /// The class whose targets do not count.
  IgnoreIndex(int64_t class_) : value(class_) {}  // NOLINT: a number is the natural spelling
  int64_t value;                                  ///< that class
};
/// -log softmax(logits)[target]: logits (N, V), target (N) int64 -> (), or (N) with Reduction::none. Targets
/// equal to ignore_index count neither in the sum nor in the mean's divisor; without other targets, the mean
/// is NaN with gradient 0.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, IgnoreIndex ignore_index = -100,
                     Reduction reduction = Reduction::mean);
/// The options of cross_entropy().
struct CrossEntropyOptions {
  Tensor weight{};  ///< (V), one for each class; the mean is divided by the sum of the targets' weights
  int64_t ignore_index = -100;  ///< throws Error if it is not negative and targets are probabilities
  Reduction reduction = Reduction::mean;  ///< over rows
  double label_smoothing = 0.0;           ///< share in [0, 1] of a target that is spread over all classes
};
/// The same for logits (N, V, d1, ...) or (V) and targets that are classes, int64 (N, d1, ...) or (), or
/// probabilities of all classes, of the logits' shape; their mean is over rows (Szegedy et al., arXiv
/// 1512.00567, section 7, for smoothing). The targets' probabilities get gradients.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options);
/// -weight[target] * x[target]: log-probabilities x (N, C, d1, ...) or (C), int64 classes (N, d1, ...) or (),
/// weight (C) or undefined. The mean is divided by the sum of the targets' weights; without any it is NaN.
/// Targets equal to ignore_index do not count.
Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {}, int64_t ignore_index = -100,
                Reduction reduction = Reduction::mean);
/// (x - target)^2, each element or reduced. The target of this and of the next four broadcasts to x's shape.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// |x - target|, each element or reduced.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// d^2 / 2 where |d| = |x - target| is below delta, else delta (|d| - delta / 2) (Huber, 1964). Throws
/// Error unless delta > 0.
Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
                  double delta = 1.0);
/// huber_loss with delta = beta, divided by beta; l1_loss for beta = 0. Throws Error unless beta >= 0.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
                      double beta = 1.0);
/// target (log(target) - x), the terms of the Kullback-Leibler divergence of log-probabilities x from
/// probabilities, or, with log_target, from log-probabilities. A target 0 gives 0, without a gradient of the
/// logarithm.
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
              bool log_target = false);
/// -(pos_weight target log(sigmoid(x)) + (1 - target) log(1 - sigmoid(x))) weight, without overflow; weight
/// and pos_weight broadcast or are undefined. Throws Error unless target has x's shape.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                        Reduction reduction = Reduction::mean, const Tensor& pos_weight = {});
/// Each element is 0 with probability p, else x / (1 - p) (Srivastava et al., 2014). p = 0 draws nothing.
/// With a torch generator it is PyTorch's product of x and a mask of 0 and 1 / (1 - p), for which p = 1 draws
/// nothing: where x is negative or not finite, a dropped element is -0 or NaN. Throws Error unless 0 <= p
/// <= 1.
Tensor dropout(const Tensor& x, double p, Generator& generator);

/// Which keys a query may attend to, and how.
struct AttentionOptions {
  bool causal = false;            ///< query i attends to key j only if j <= i + (S - T)
  std::optional<double> scale{};  ///< of the scores; 1 / sqrt(hs) if absent
  /// With w > 0, query i attends to key j only if j > i + (S - T) - w: a sliding window, which needs `causal`
  /// (Beltagy et al., arXiv 2004.05150).
  int64_t window = 0;
  /// (B, T) int64: query i of batch b attends to key j only if j >= starts[b, i], which is the start of its
  /// document where a sequence has several. Undefined: no limit.
  Tensor starts{};
  /// Broadcast to the scores (..., T, S): bool, true where a query may attend, or added to them (-inf hides).
  Tensor mask{};
  double dropout = 0.0;  ///< probability in [0, 1] with which a weight is dropped; > 0 needs a generator
  Generator* generator = nullptr;  ///< borrowed; draws the dropped weights
  /// Whether k and v may have n heads, fewer than q, where n divides nh: each serves nh / n consecutive heads
  /// of q (Ainslie et al., arXiv 2305.13245).
  bool enable_gqa = false;
};
/// The keys that the options causal, window and starts hide: (T, S) or, with starts, (B, 1, T, S) bool, true
/// where hidden; undefined if they hide none.
Tensor hidden_keys(const AttentionOptions& options, int64_t T, int64_t S);
/// softmax(scale * q @ k^T) @ v (Vaswani et al., arXiv 1706.03762, eq. 1): q (B, nh, T, hs), k and v (B, nh,
/// S, hs) -> (B, nh, T, hs). It holds no (T, S) matrix for the whole batch, except where it calls the public
/// ops: with a mask; for q (..., T, hs), k (..., S, hs), v (..., S, n) with other numbers of dimensions, or
/// broadcast; for dropout with a torch generator, drawn as by PyTorch's matmul, softmax, dropout, matmul. A
/// query that may attend to nothing gives zeros.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});
/// The same for q, k and v of all heads side by side, as one projection makes them: qkv (B, T, 3 C) -> (B, T,
/// C) with C = n_head * hs, head by head. Backward avoids the copies of splitting and joining. Throws Error
/// if n_head does not divide C.
Tensor scaled_dot_product_attention(const Tensor& qkv, int64_t n_head, const AttentionOptions& options = {});

// -- not differentiable
/// Index of the largest value along dim, the first among equals -> int64. NaN counts as largest.
Tensor argmax(const Tensor& x, int64_t dim, bool keepdim = false);
Tensor argmin(const Tensor& x, int64_t dim, bool keepdim = false);  ///< the index of the smallest
/// Indices of the elements of x that are not 0, in row-major order -> (n, x.dim()) int64.
Tensor nonzero(const Tensor& x);
/// 1 at each index (...), else 0 -> (..., num_classes) int64; num_classes = -1 counts them: the largest index
/// plus 1. Throws Error for an index outside [0, num_classes).
Tensor one_hot(const Tensor& index, int64_t num_classes = -1);
/// Indices drawn with probabilities proportional to the weights p (..., n) -> (..., num_samples) int64. Draws
/// without replacement by default. Throws Error for negative or non-finite weights and for too few positive
/// ones, and then draws nothing.
Tensor multinomial(const Tensor& p, int64_t num_samples, Generator& generator, bool replacement = false);
/// 1 with probability p, else 0, for each p -> p's shape and dtype. Throws Error for a p outside [0, 1], and
/// then draws nothing.
Tensor bernoulli(const Tensor& p, Generator& generator);

}  // namespace gradus
