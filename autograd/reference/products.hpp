// Products of matrices, and attention.
#pragma once

#include "gradus/autograd/reference/elementwise.hpp"
#include "gradus/autograd/reference/reduce.hpp"
#include "gradus/autograd/reference/shapes.hpp"

namespace gradus::reference {

/// c_mn = sum_k a_mk b_kn of the last two dimensions; the others are broadcast.
template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b) {
  const int64_t M = a.size(-2), K = a.size(-1), N = b.size(-1);
  const Sizes batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  const Sizes batch = broadcast(batch_a, batch_b);
  Sizes shape = batch;
  shape.insert(shape.end(), {M, N});
  Array<T> c(shape);
  int64_t i = 0;
  for_each_index(batch, [&](const Sizes& at) {
    const int64_t from_a = place(at, batch_a) * M * K, from_b = place(at, batch_b) * K * N;
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n, ++i)
        for (int64_t k = 0; k < K; ++k) c[i] += a[from_a + m * K + k] * b[from_b + k * N + n];
  });
  return c;
}

/// y = x W^T + b: x (..., in), weight (out, in), bias (out) or none.
template <class T>
Array<T> linear(const Array<T>& x, const Array<T>& weight, const Array<T>& bias) {
  const int64_t out = weight.size(0), in = weight.size(1);
  Array<T> y(resized(x.shape, x.dim() - 1, out));
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t row = i / out, o = i % out;
    for (int64_t k = 0; k < in; ++k) y[i] += x[row * in + k] * weight[o * in + k];
    if (bias.defined) y[i] += bias[o];
  }
  return y;
}

/// The arguments of attention other than q, k and v.
struct Attention {
  double scale;        ///< of the scores
  Whole hidden;        ///< keys that a query may not see: (T, S), (B, 1, T, S) or none
  Array<double> drop;  ///< drawn factors of the weights (B, nh, T, S), constants, or none
};

/// softmax(scale q k^T) v of each head (Vaswani et al., arXiv 1706.03762, eq. 1): q (B, nh, T, hs), k and v
/// (B, kv, S, hs), where nh / kv heads of q share one of k (Ainslie et al., arXiv 2305.13245). A query that
/// sees no key gives zeros.
template <class T>
Array<T> scaled_dot_product_attention(const Array<T>& q, const Array<T>& k, const Array<T>& v,
                                      const Attention& how) {
  const int64_t heads = q.size(1), hs = q.size(3), shared = heads / k.size(1), S = k.size(2);
  Array<T> y(q.shape);
  for_each_index({q.size(0), heads, q.size(2)}, [&](const Sizes& query) {
    const int64_t h = query[1], row = place(query, {q.size(0), heads, q.size(2)});
    const int64_t keys = (query[0] * k.size(1) + h / shared) * S;  // the first row of k and v
    Row<T> scores;
    Sizes seen;
    for (int64_t s = 0; s < S; ++s) {
      if (how.hidden.defined && how.hidden[place({query[0], h, query[2], s}, how.hidden.shape)]) continue;
      T score(0);
      for (int64_t i = 0; i < hs; ++i) score += q[row * hs + i] * k[(keys + s) * hs + i];
      scores.push_back(T(how.scale) * score);
      seen.push_back(s);
    }
    const Row<T> weights = softmax(scores);
    for (size_t j = 0; j < seen.size(); ++j) {
      const T w = how.drop.defined ? weights[j] * T(how.drop[row * S + seen[j]]) : weights[j];
      for (int64_t i = 0; i < hs; ++i) y[row * hs + i] += w * v[(keys + seen[j]) * hs + i];
    }
  });
  return y;
}

/// The same of q, k and v side by side, head by head: qkv (B, T, 3 C) -> (B, T, C).
template <class T>
Array<T> scaled_dot_product_attention(const Array<T>& qkv, int64_t heads, const Attention& how) {
  const int64_t B = qkv.size(0), length = qkv.size(1), C = qkv.size(2) / 3, hs = C / heads;
  const auto part = [&](int64_t which) {
    return permute(reshape(slice(qkv, 2, which * C, 1, C), {B, length, heads, hs}), {0, 2, 1, 3});
  };
  const Array<T> by_head = scaled_dot_product_attention(part(0), part(1), part(2), how);
  return reshape(permute(by_head, {0, 2, 1, 3}), {B, length, C});
}

/// Rotary positions (Su et al., arXiv 2104.09864): features i and i + hs / 2 of row t of x (..., T, hs) are
/// rotated by (offset + t) frequencies_i radians, times scale.
template <class T>
Array<T> rotary_embedding(const Array<T>& x, int64_t offset, const Array<double>& frequencies, double scale) {
  const int64_t length = x.size(-2), hs = x.size(-1), half = hs / 2;
  Array<T> y(x.shape);
  for (int64_t row = 0; row * hs < x.size(); ++row)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(offset + row % length) * frequencies[i];
      const T c(std::cos(angle) * scale), s(std::sin(angle) * scale);
      const T a = x[row * hs + i], b = x[row * hs + half + i];
      y[row * hs + i] = a * c - b * s;
      y[row * hs + half + i] = b * c + a * s;
    }
  return y;
}

}  // namespace gradus::reference
