#include "gradus/annexes/fast/attention/attention.hpp"

#include "autograd/kernels/vectors.hpp"
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace test_attention {

using gradus::kernels::AttentionShape;
using gradus::kernels::View4;
using vectors::at_each_level;
using vectors::random_values;
using vectors::Threads;

AttentionShape make_shape(int64_t batch, int64_t heads, int64_t q_len, int64_t k_len, int64_t size,
                          bool causal, double dropout = 0) {
  AttentionShape s{};
  s.batch = batch, s.heads = s.kv_heads = heads, s.q_len = q_len, s.k_len = k_len, s.head_size = size;
  s.causal = causal, s.scale = 1 / std::sqrt(double(size));
  s.dropout = dropout, s.key = 77, s.offset = 3;
  return s;
}

AttentionShape with_kv_heads(AttentionShape s, int64_t kv_heads) {
  s.kv_heads = kv_heads;
  return s;
}

int64_t rows(const AttentionShape& s, int64_t length) { return s.batch * s.heads * length; }
int64_t kv_rows(const AttentionShape& s) { return s.batch * s.kv_heads * s.k_len; }

View4 contiguous(int64_t heads, int64_t length, int64_t size) {
  return {heads * length * size, length * size, size};
}
View4 contiguous(const AttentionShape& s, int64_t length) { return contiguous(s.heads, length, s.head_size); }

template <class T>
struct Values {
  std::vector<T> out, sums, gq, gk, gv;
};

template <class T>
struct Inputs {
  explicit Inputs(const AttentionShape& s)
      : q(random_values<T>(rows(s, s.q_len) * s.head_size, 1)),
        k(random_values<T>(kv_rows(s) * s.head_size, 2)),
        v(random_values<T>(kv_rows(s) * s.head_size, 3)),
        gout(random_values<T>(rows(s, s.q_len) * s.head_size, 4)) {}
  std::vector<T> q, k, v, gout;
};

/// Runs the kernels on contiguous tensors; outputs start as NaN, so that what is not written shows.
template <class T>
Values<T> run(const AttentionShape& s, const Inputs<T>& in) {
  const View4 sq = contiguous(s, s.q_len), sk = contiguous(s.kv_heads, s.k_len, s.head_size);
  const auto nan = [](size_t n) { return std::vector<T>(n, std::numeric_limits<T>::quiet_NaN()); };
  Values<T> r{nan(in.q.size()), nan(2 * rows(s, s.q_len)), nan(in.q.size()), nan(in.k.size()),
              nan(in.v.size())};
  gradus::kernels::attention(s, r.out.data(), sq, r.sums.data(), in.q.data(), sq, in.k.data(), sk,
                             in.v.data(), sk);
  gradus::kernels::attention_grad(s, r.gq.data(), sq, r.gk.data(), sk, r.gv.data(), sk, in.gout.data(), sq,
                                  r.out.data(), sq, r.sums.data(), in.q.data(), sq, in.k.data(), sk,
                                  in.v.data(), sk);
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
  if (s.dropout > 0)
    gradus::kernels::dropout<double>(masks.size(), masks.data(), masks.data(), s.dropout, s.key, s.offset);
  double *const w = weights.data(), *const gw = gradients.data();
  const int64_t size = s.head_size;
  for (int64_t head = 0; head < s.batch * s.heads; ++head)
    for (int64_t i = 0; i < s.q_len; ++i) {
      const int64_t seen = s.causal ? std::clamp<int64_t>(i + 1 + s.k_len - s.q_len, 0, s.k_len) : s.k_len;
      const int64_t row = head * s.q_len + i;
      const int64_t first = head / (s.heads / s.kv_heads) * s.k_len * size;  // also across the batch
      const double *const query = q.data() + row * size, *const gy = gout.data() + row * size,
                          *const mask = masks.data() + row * s.k_len;
      double *const out = r.out.data() + row * size, *const gq = r.gq.data() + row * size;
      double largest = -INFINITY, sum = 0, mean = 0;
      for (int64_t j = 0; j < seen; ++j) {
        const double* const key = k.data() + first + j * size;
        w[j] = 0;
        for (int64_t d = 0; d < size; ++d) w[j] += s.scale * query[d] * key[d];
        largest = std::max(largest, w[j]);
      }
      for (int64_t j = 0; j < seen; ++j) sum += w[j] = std::exp(w[j] - largest);
      r.sums[2 * row] = largest;
      r.sums[2 * row + 1] = seen > 0 ? sum : 1;
      for (int64_t j = 0; j < seen; ++j) {
        const double* const value = v.data() + first + j * size;
        double* const gv = r.gv.data() + first + j * size;
        w[j] /= sum;
        gw[j] = 0;
        for (int64_t d = 0; d < size; ++d) {
          out[d] += w[j] * mask[j] * value[d];
          gv[d] += w[j] * mask[j] * gy[d];
          gw[j] += mask[j] * value[d] * gy[d];
        }
        mean += w[j] * gw[j];
      }
      for (int64_t j = 0; j < seen; ++j) {
        const double* const key = k.data() + first + j * size;
        double* const gk = r.gk.data() + first + j * size;
        const double gs = s.scale * w[j] * (gw[j] - mean);
        for (int64_t d = 0; d < size; ++d) {
          gq[d] += gs * key[d];
          gk[d] += gs * query[d];
        }
      }
    }
  return r;
}

/// The largest |a - b| / (1 + |b|); infinite for NaN and for infinities that differ.
template <class T>
double distance(const std::vector<T>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (double(a[i]) == b[i]) continue;
    const double difference = std::abs(double(a[i]) - b[i]) / (1 + std::abs(b[i]));
    if (!(difference <= worst)) worst = std::isnan(difference) ? INFINITY : difference;
  }
  return worst;
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

template <class T>
void check_against_naive(const AttentionShape& s) {
  const Inputs<T> in(s);
  check_against(s, in, naive(s, in));
}

TEMPLATE_TEST_CASE("attention and its gradients agree with the definition", "[attention]", float, double) {
  for (const bool causal : {false, true}) {
    for (const int64_t length : {1, 7, 31, 65})
      for (const int64_t size : {1, 8, 32})
        check_against_naive<TestType>(make_shape(2, 3, length, length, size, causal));
    for (const int64_t length : {64, 100})
      check_against_naive<TestType>(make_shape(2, 3, length, length, 64, causal));
  }
}

TEMPLATE_TEST_CASE("queries and keys may differ in number", "[attention]", float, double) {
  const int64_t lengths[][2] = {{1, 1},    {1, 50},   {1, 700},   {3, 70}, {70, 3},
                                {130, 65}, {65, 300}, {100, 513}, {0, 5},  {5, 0}};
  for (const bool causal : {false, true})
    for (const auto& [q_len, k_len] : lengths)
      check_against_naive<TestType>(make_shape(2, 2, q_len, k_len, 16, causal));
}

TEMPLATE_TEST_CASE("heads of k and v serve several heads of q", "[attention]", float, double) {
  for (const bool causal : {false, true})
    for (const int64_t kv_heads : {1, 2, 3, 6}) {
      check_against_naive<TestType>(with_kv_heads(make_shape(2, 6, 7, 7, 8, causal), kv_heads));
      check_against_naive<TestType>(with_kv_heads(make_shape(2, 6, 70, 301, 8, causal, 0.2), kv_heads));
      check_against_naive<TestType>(with_kv_heads(make_shape(1, 6, 130, 130, 16, causal), kv_heads));
      check_against_naive<TestType>(with_kv_heads(make_shape(1, 6, 70, 3, 4, causal), kv_heads));
      check_against_naive<TestType>(with_kv_heads(make_shape(1, 6, 0, 3, 4, causal), kv_heads));
    }
}

TEMPLATE_TEST_CASE("long rows go through several tiles of keys", "[attention]", float, double) {
  check_against_naive<TestType>(make_shape(1, 2, 600, 600, 8, true));
  check_against_naive<TestType>(make_shape(1, 1, 90, 800, 24, false, 0.2));
  check_against_naive<TestType>(make_shape(8, 6, 64, 64, 32, true));
}

TEMPLATE_TEST_CASE("attention agrees with the definition at every level of the machine", "[attention]", float,
                   double) {
  for (const int64_t size : {1, 5, 16, 40})
    for (const AttentionShape& s :
         {make_shape(1, 2, 67, 67, size, true, 0.1), make_shape(1, 2, 5, 290, size, false),
          with_kv_heads(make_shape(1, 4, 67, 67, size, true), 2)}) {
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

TEMPLATE_TEST_CASE("dropped weights are those that dropout drops", "[attention]", float, double) {
  for (const double dropout : {0.1, 0.5, 0.9})
    for (const bool causal : {false, true}) {
      check_against_naive<TestType>(make_shape(2, 3, 31, 31, 8, causal, dropout));
      check_against_naive<TestType>(make_shape(1, 2, 70, 301, 8, causal, dropout));
    }
  const AttentionShape all = make_shape(1, 2, 9, 9, 4, true, 1.0);
  const Values<TestType> r = run(all, Inputs<TestType>(all));
  for (const auto* zero : {&r.out, &r.gq, &r.gk, &r.gv})
    CHECK(*zero == std::vector<TestType>(zero->size(), 0));
}

TEST_CASE("rounded to bfloat16, attention is that of rounded operands, within what rounding weights allows",
          "[attention]") {
  // Weights and the gradients of scores are rounded too, half an ulp of 2^-8 each: of a mean of values of
  // one, weighted, that moves the mean by as much; a few of them come together in gq and gk.
  constexpr double kForward = 0.015, kBackward = 0.06;
  const auto rounded = [](std::vector<float> x) {
    std::vector<gradus::bfloat16> small(x.size());
    gradus::kernels::to_bfloat16(static_cast<int64_t>(x.size()), small.data(), x.data());
    gradus::kernels::from_bfloat16(static_cast<int64_t>(x.size()), x.data(), small.data());
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
  check(with_kv_heads(make_shape(2, 4, 70, 70, 32, true), 2));
}

TEST_CASE("attention's gradients agree with central differences", "[attention]") {
  for (const double dropout : {0.0, 0.3})
    for (const bool causal : {false, true}) {
      const AttentionShape s = make_shape(1, 2, 5, 8, 3, causal, dropout);
      const Inputs<double> in(s);
      const Values<double> r = run(s, in);
      const auto check = [&](std::vector<double> Inputs<double>::*input,
                             const std::vector<double>& gradient) {
        for (size_t i = 0; i < gradient.size(); ++i) {
          double loss[2];
          for (const int side : {0, 1}) {
            Inputs<double> moved = in;
            (moved.*input)[i] += side == 0 ? 1e-5 : -1e-5;
            const Values<double> there = run(s, moved);
            loss[side] = 0;
            for (size_t j = 0; j < in.gout.size(); ++j) loss[side] += in.gout[j] * there.out[j];
          }
          REQUIRE(std::abs((loss[0] - loss[1]) / 2e-5 - gradient[i]) < 1e-8);
        }
      };
      check(&Inputs<double>::q, r.gq);
      check(&Inputs<double>::k, r.gk);
      check(&Inputs<double>::v, r.gv);
    }
}

TEMPLATE_TEST_CASE("q, k and v may lie inside one (B, T, 3C) buffer", "[attention]", float, double) {
  const AttentionShape s = make_shape(2, 3, 70, 70, 8, true);
  const Inputs<TestType> in(s);
  const Values<TestType> expected = run(s, in);
  const int64_t width = s.heads * s.head_size, row = 3 * width;
  const View4 packed{s.q_len * row, s.head_size, row}, merged{s.q_len * width, s.head_size, width};
  const View4 plain = contiguous(s, s.q_len);

  const auto copy = [&](TestType* to, View4 st, const TestType* from, View4 sf) {
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t t = 0; t < s.q_len; ++t)
          std::copy_n(from + b * sf.batch + h * sf.head + t * sf.row, s.head_size,
                      to + b * st.batch + h * st.head + t * st.row);
  };
  const int64_t n = s.batch * s.q_len * width;
  std::vector<TestType> qkv(3 * n), grad(3 * n, static_cast<TestType>(std::nan(""))), out(n), gout(n),
      sums(2 * rows(s, s.q_len)), unpacked(n);
  copy(qkv.data(), packed, in.q.data(), plain);
  copy(qkv.data() + width, packed, in.k.data(), plain);
  copy(qkv.data() + 2 * width, packed, in.v.data(), plain);
  copy(gout.data(), merged, in.gout.data(), plain);
  gradus::kernels::attention(s, out.data(), merged, sums.data(), qkv.data(), packed, qkv.data() + width,
                             packed, qkv.data() + 2 * width, packed);
  gradus::kernels::attention_grad(s, grad.data(), packed, grad.data() + width, packed,
                                  grad.data() + 2 * width, packed, gout.data(), merged, out.data(), merged,
                                  sums.data(), qkv.data(), packed, qkv.data() + width, packed,
                                  qkv.data() + 2 * width, packed);
  CHECK(sums == expected.sums);
  copy(unpacked.data(), plain, out.data(), merged);
  CHECK(unpacked == expected.out);
  const std::vector<TestType>* parts[] = {&expected.gq, &expected.gk, &expected.gv};
  for (int part = 0; part < 3; ++part) {
    copy(unpacked.data(), plain, grad.data() + part * width, packed);
    CHECK(unpacked == *parts[part]);
  }
}

TEMPLATE_TEST_CASE("a query that sees no key gives zeros, and no gradient", "[attention]", float, double) {
  const AttentionShape s = make_shape(1, 2, 80, 10, 4, true);  // the first 70 queries are before every key
  const Values<TestType> r = run(s, Inputs<TestType>(s));
  for (int64_t head = 0; head < 2; ++head)
    for (int64_t i = 0; i < 70; ++i) {
      REQUIRE(r.sums[2 * (head * 80 + i)] == -std::numeric_limits<TestType>::infinity());
      for (int64_t d = 0; d < 4; ++d) {
        REQUIRE(r.out[(head * 80 + i) * 4 + d] == 0);
        REQUIRE(r.gq[(head * 80 + i) * 4 + d] == 0);
      }
    }
  for (const auto* finite : {&r.out, &r.gq, &r.gk, &r.gv})
    CHECK(std::all_of(finite->begin(), finite->end(), [](TestType x) { return std::isfinite(x); }));
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
