#include "gradus/annexes/fast/attention/attention.hpp"

#include "autograd/kernels/plain.hpp"

namespace test_attention {

using namespace gradus::kernels;
using vectors::at_each_level;
using vectors::Threads;

AttentionShape make_shape(int64_t batch, int64_t heads, int64_t q_len, int64_t k_len, int64_t size,
                          bool causal, double dropout = 0, int64_t kv_heads = 0) {
  AttentionShape s{};
  s.batch = batch, s.heads = heads, s.kv_heads = kv_heads > 0 ? kv_heads : heads;
  s.q_len = q_len, s.k_len = k_len, s.head_size = size;
  s.causal = causal, s.scale = 1 / std::sqrt(double(size));
  s.dropout = dropout, s.key = 77, s.offset = 3;
  return s;
}

int64_t rows(const AttentionShape& s, int64_t length) { return s.batch * s.heads * length; }
int64_t kv_rows(const AttentionShape& s) { return s.batch * s.kv_heads * s.k_len; }

View4 contiguous(int64_t heads, int64_t length, int64_t size) {
  return {heads * length * size, length * size, size};
}

template <class T>
struct Values {
  std::vector<T> out, sums, gq, gk, gv;
};

template <class T>
struct Inputs {
  explicit Inputs(const AttentionShape& s)
      : q(vectors::values<T>(rows(s, s.q_len) * s.head_size, 1, 1)),
        k(vectors::values<T>(kv_rows(s) * s.head_size, 1, 2)),
        v(vectors::values<T>(kv_rows(s) * s.head_size, 1, 3)),
        gout(vectors::values<T>(rows(s, s.q_len) * s.head_size, 1, 4)) {}
  std::vector<T> q, k, v, gout;
};

/// Runs the kernels on contiguous tensors; outputs start as NaN, so that what is not written shows.
template <class T>
Values<T> run(const AttentionShape& s, const Inputs<T>& in) {
  const View4 sq = contiguous(s.heads, s.q_len, s.head_size),
              sk = contiguous(s.kv_heads, s.k_len, s.head_size);
  const auto nan = [](size_t n) { return std::vector<T>(n, std::numeric_limits<T>::quiet_NaN()); };
  Values<T> r{nan(in.q.size()), nan(2 * rows(s, s.q_len)), nan(in.q.size()), nan(in.k.size()),
              nan(in.v.size())};
  attention(s, r.out.data(), sq, r.sums.data(), in.q.data(), sq, in.k.data(), sk, in.v.data(), sk);
  attention_grad(s, r.gq.data(), sq, r.gk.data(), sk, r.gv.data(), sk, in.gout.data(), sq, r.out.data(), sq,
                 r.sums.data(), in.q.data(), sq, in.k.data(), sk, in.v.data(), sk);
  return r;
}

/// The same by the definition, one query at a time in double: weights w = softmax(scale * k q), d = w * mask,
/// out = d v; gd = v gout, gw = gd * mask, gs = w * (gw - sum(w * gw)).
template <class T>
Values<double> naive(const AttentionShape& s, const Inputs<T>& in) {
  const auto wide = [](const std::vector<T>& x) { return std::vector<double>(x.begin(), x.end()); };
  const std::vector<double> q = wide(in.q), k = wide(in.k), v = wide(in.v), gout = wide(in.gout);
  Values<double> r{std::vector<double>(q.size()), std::vector<double>(2 * rows(s, s.q_len)),
                   std::vector<double>(q.size()), std::vector<double>(k.size()),
                   std::vector<double>(v.size())};
  std::vector<double> masks(rows(s, s.q_len) * s.k_len, 1), weights(s.k_len), gradients(s.k_len);
  if (s.dropout > 0) dropout<double>(masks.size(), masks.data(), masks.data(), s.dropout, s.key, s.offset);
  double *const w = weights.data(), *const gw = gradients.data();
  const int64_t size = s.head_size;
  const auto dot = [&](const double* a, const double* b) { return std::inner_product(a, a + size, b, 0.0); };
  const auto add = [&](double* to, double factor, const double* x) {
    for (int64_t d = 0; d < size; ++d) to[d] += factor * x[d];
  };
  for (int64_t row = 0; row < s.batch * s.heads * s.q_len; ++row) {
    const int64_t head = row / s.q_len, i = row % s.q_len;
    const int64_t seen = s.causal ? std::clamp<int64_t>(i + 1 + s.k_len - s.q_len, 0, s.k_len) : s.k_len;
    const int64_t first = head / (s.heads / s.kv_heads) * s.k_len * size;  // also across the batch
    const double *const query = &q[row * size], *const gy = &gout[row * size],
                        *const mask = &masks[row * s.k_len];
    double largest = -INFINITY, sum = 0, mean = 0;
    for (int64_t j = 0; j < seen; ++j)
      largest = std::max(largest, w[j] = s.scale * dot(query, &k[first + j * size]));
    for (int64_t j = 0; j < seen; ++j) sum += w[j] = std::exp(w[j] - largest);
    r.sums[2 * row] = largest;
    r.sums[2 * row + 1] = seen > 0 ? sum : 1;
    for (int64_t j = 0; j < seen; ++j) {
      const double* const value = &v[first + j * size];
      w[j] /= sum;
      add(&r.out[row * size], w[j] * mask[j], value);
      add(&r.gv[first + j * size], w[j] * mask[j], gy);
      gw[j] = mask[j] * dot(value, gy);
      mean += w[j] * gw[j];
    }
    for (int64_t j = 0; j < seen; ++j) {
      const double gs = s.scale * w[j] * (gw[j] - mean);
      add(&r.gq[row * size], gs, &k[first + j * size]);
      add(&r.gk[first + j * size], gs, query);
    }
  }
  return r;
}

/// The largest |a - b| / (1 + |b|).
template <class T>
double distance(const std::vector<T>& a, const std::vector<double>& b) {
  return plain::worst_error(a, b, [&](size_t i) { return 1 + std::abs(b[i]); });
}

template <class T>
void check_against(const AttentionShape& s, const Inputs<T>& in, const Values<double>& expected) {
  CAPTURE(s.batch, s.heads, s.q_len, s.k_len, s.head_size, s.causal, s.dropout);
  const double tolerance = 200 * std::numeric_limits<T>::epsilon();
  std::vector<Values<T>> results;
  for (const int threads : {1, 2}) {
    const Threads guard(threads);
    results.push_back(run(s, in));
  }
  const Values<T>& first = results[0];
  CHECK(distance(first.out, expected.out) < tolerance);
  CHECK(distance(first.sums, expected.sums) < tolerance);
  CHECK(distance(first.gq, expected.gq) < tolerance);
  CHECK(distance(first.gk, expected.gk) < tolerance);
  CHECK(distance(first.gv, expected.gv) < tolerance);
  for (auto part : {&Values<T>::out, &Values<T>::sums, &Values<T>::gq, &Values<T>::gk, &Values<T>::gv})
    CHECK(results[0].*part == results[1].*part);
}

TEMPLATE_TEST_CASE("attention and its gradients agree with the definition", "[attention]", float, double) {
  std::vector<AttentionShape> shapes = {make_shape(1, 2, 600, 600, 8, true),  // several tiles of keys
                                        make_shape(1, 1, 90, 800, 24, false, 0.2),
                                        make_shape(8, 6, 64, 64, 32, true),
                                        make_shape(1, 2, 9, 9, 4, true, 1.0)};
  const int64_t lengths[][2] = {{1, 1},  {7, 7},   {64, 64},  {100, 100}, {1, 50},    {1, 700}, {3, 70},
                                {70, 3}, {80, 10}, {130, 65}, {65, 300},  {100, 513}, {0, 5},   {5, 0}};
  for (const bool causal : {false, true}) {
    for (const auto& [q_len, k_len] : lengths) shapes.push_back(make_shape(2, 2, q_len, k_len, 16, causal));
    for (const int64_t length : {1, 31, 65})
      for (const int64_t size : {1, 8, 64}) shapes.push_back(make_shape(2, 3, length, length, size, causal));
    for (const int64_t kv_heads : {1, 2, 3}) {
      shapes.push_back(make_shape(2, 6, 7, 7, 8, causal, 0, kv_heads));
      shapes.push_back(make_shape(2, 6, 70, 301, 8, causal, 0.2, kv_heads));
      shapes.push_back(make_shape(1, 6, 70, 3, 4, causal, 0, kv_heads));
      shapes.push_back(make_shape(1, 6, 0, 3, 4, causal, 0, kv_heads));
    }
    for (const double dropout : {0.1, 0.5, 0.9})
      shapes.push_back(make_shape(2, 3, 31, 31, 8, causal, dropout));
  }
  for (const AttentionShape& s : shapes) {
    const Inputs<TestType> in(s);
    check_against(s, in, naive(s, in));
  }
}

TEMPLATE_TEST_CASE("attention agrees with the definition at every level of the machine", "[attention]", float,
                   double) {
  for (const int64_t size : {1, 5, 16, 40})
    for (const AttentionShape& s :
         {make_shape(1, 2, 67, 67, size, true, 0.1), make_shape(1, 2, 5, 290, size, false),
          make_shape(1, 4, 67, 67, size, true, 0, 2)}) {
      const Inputs<TestType> in(s);
      const Values<double> expected = naive(s, in);
      at_each_level([&] { check_against(s, in, expected); });
    }
}

TEMPLATE_TEST_CASE("a maximum that grows from tile to tile", "[attention]", float, double) {
  const AttentionShape s = make_shape(1, 1, 3, 900, 2, false);
  Inputs<TestType> in(s);
  std::fill(in.q.begin(), in.q.end(), TestType{1});
  for (int64_t j = 0; j < 900; ++j)
    in.k[2 * j] = in.k[2 * j + 1] = static_cast<TestType>(0.1 * static_cast<double>(j < 450 ? j : 900 - j));
  const Values<TestType> r = run(s, in);
  const Values<double> expected = naive(s, in);
  CHECK(distance(r.out, expected.out) < 1000 * std::numeric_limits<TestType>::epsilon());
  CHECK(distance(r.sums, expected.sums) < 10 * std::numeric_limits<TestType>::epsilon());
}

TEST_CASE("rounded to bfloat16, attention is that of rounded operands, within what rounding weights allows",
          "[attention]") {
  // Weights and the gradients of scores are rounded too, half an ulp of 2^-8 each: of a mean of values of
  // one, weighted, that moves the mean by as much; a few of them come together in gq and gk.
  constexpr double kForward = 0.015, kBackward = 0.06;
  const auto rounded = [](std::vector<float> x) {
    std::vector<gradus::bfloat16> small(x.size());
    to_bfloat16(static_cast<int64_t>(x.size()), small.data(), x.data());
    from_bfloat16(static_cast<int64_t>(x.size()), x.data(), small.data());
    return x;
  };
  const auto check = [&](const AttentionShape& s) {
    CAPTURE(s.batch, s.heads, s.kv_heads, s.q_len, s.k_len, s.head_size, s.causal, s.dropout);
    const Inputs<float> in(s);
    Inputs<float> in_bf16 = in;
    for (auto part : {&Inputs<float>::q, &Inputs<float>::k, &Inputs<float>::v, &Inputs<float>::gout})
      in_bf16.*part = rounded(in.*part);
    const Values<double> expected = naive(s, in_bf16);
    AttentionShape as_bf16 = s;
    as_bf16.rounded = true;
    at_each_level([&] {
      const Values<float> plain = run(s, in);
      std::vector<Values<float>> results;
      for (const int threads : {1, 2}) {
        const Threads guard(threads);
        results.push_back(run(as_bf16, in));
      }
      CHECK(distance(results[0].sums, expected.sums) < 1e-4);
      CHECK(distance(results[0].out, expected.out) < kForward);
      for (auto [part, of] : {std::pair(&Values<float>::gq, &Values<double>::gq),
                              std::pair(&Values<float>::gk, &Values<double>::gk),
                              std::pair(&Values<float>::gv, &Values<double>::gv)})
        CHECK(distance(results[0].*part, expected.*of) < kBackward);
      for (auto part : {&Values<float>::out, &Values<float>::sums, &Values<float>::gq, &Values<float>::gk,
                        &Values<float>::gv}) {
        CHECK(results[0].*part == results[1].*part);
        if (s.k_len > 1) CHECK(results[0].*part != plain.*part);
      }
    });
  };
  for (const bool causal : {false, true})
    for (const int64_t length : {1, 31, 65, 130}) check(make_shape(2, 3, length, length, 24, causal));
  check(make_shape(4, 4, 300, 300, 40, true));  // all tiles of a head together
  check(make_shape(1, 2, 70, 513, 64, true));
  check(make_shape(1, 1, 90, 600, 16, false, 0.2));
  check(make_shape(2, 4, 70, 70, 32, true, 0, 2));
}

TEST_CASE("large scores neither overflow nor lose the gradient", "[attention]") {
  const AttentionShape s = make_shape(1, 1, 20, 20, 4, true);
  Inputs<float> in(s);
  for (float& x : in.q) x *= 300;
  const Values<float> r = run(s, in);
  const Values<double> expected = naive(s, in);
  CHECK(distance(r.out, expected.out) < 1e-3);
  CHECK(distance(r.gv, expected.gv) < 1e-3);
  CHECK(distance(r.sums, expected.sums) < 1e-5);
  CHECK(distance(r.gq, expected.gq) < 1e-2);
}

TEMPLATE_TEST_CASE("NaN in a query stays in its row", "[attention]", float, double) {
  const AttentionShape s = make_shape(1, 1, 30, 30, 4, false);
  Inputs<TestType> in(s);
  in.q[7 * 4] = std::numeric_limits<TestType>::quiet_NaN();
  const Values<TestType> r = run(s, in);
  for (int64_t i = 0; i < 30; ++i) CHECK(std::isnan(r.out[4 * i]) == (i == 7));
}

}  // namespace test_attention
