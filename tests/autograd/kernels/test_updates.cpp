// Philox, dropout, AdamW, Muon and the norm of a gradient.
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/elementwise/optimizers.hpp"
#include "gradus/autograd/kernels/elementwise/philox.hpp"
#include "vectors.hpp"

namespace gradus::kernels::test_updates {

using namespace vectors;

TEST_CASE("philox4x32 gives the published words", "[updates]") {
  // Known answers of Random123: counter, key, block.
  const struct {
    uint64_t low, high, key;
    uint32_t want[4];
  } cases[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x85a308d3243f6a88,
       0x0370734413198a2e,
       0x299f31d0a4093822,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& c : cases) {
    const PhiloxBlock block = philox4x32(c.low, c.high, c.key);
    for (int w = 0; w < 4; ++w) CHECK(block.word[w] == c.want[w]);
  }
}

TEMPLATE_TEST_CASE("dropout keeps where its word of the stream is at least p", "[updates]", float, double) {
  at_each_level([] {
    for (const double p : {0.0, 0.1, 0.5, 0.999999, 1.0})
      for (const int64_t n : {1, 3, 4, 5, 255, 257, 1000, 40000})
        for (const uint64_t offset :
             {uint64_t{0}, uint64_t{12345}, (uint64_t{1} << 32) - 20, ~uint64_t{0} - 3}) {
          INFO("p " << p << ", n " << n << ", offset " << offset);
          const uint64_t key = 0x0123456789abcdef;
          const auto x = values<TestType>(n);
          std::vector<TestType> want(n), out(n);
          for (int64_t i = 0; i < n; ++i) {
            const double u = philox4x32(offset + i / 4, 0, key).word[i % 4] * 0x1p-32;
            want[i] = u >= p ? x[i] * static_cast<TestType>(1 / (1 - p)) : 0;
          }
          dropout(n, out.data(), x.data(), p, key, offset);
          CHECK(same_bits(out, want));
        }
  });
}

TEST_CASE("dropout keeps a word that is p exactly", "[updates]") {
  const uint32_t word = philox4x32(3, 0, 5).word[0];
  at_each_level([&] {
    const float one = 1;
    float out = 0;
    dropout(1, &out, &one, word * 0x1p-32, 5, 3);
    CHECK(out > 0);
    dropout(1, &out, &one, (word + 1.0) * 0x1p-32, 5, 3);
    CHECK(out == 0);
  });
}

TEST_CASE("dropout does not depend on threads, works in place and drops non-finite values", "[updates]") {
  const int64_t n = 100'001;
  const auto x = values<float>(n);
  const auto run = [&](int threads) {
    const Threads guard(threads);
    std::vector<float> y = x;
    dropout(n, y.data(), y.data(), 0.3, 7, 9);
    return y;
  };
  at_each_level([&] {
    const auto y = run(1);
    CHECK(same_bits(y, run(2)));
    int64_t dropped = 0;
    for (const float v : y) dropped += v == 0;
    CHECK(std::fabs(static_cast<double>(dropped) / n - 0.3) < 5 * std::sqrt(0.3 * 0.7 / n));
    std::vector<float> infinite(n, static_cast<float>(kInf));
    dropout(n, infinite.data(), infinite.data(), 0.3, 7, 9);
    for (int64_t i = 0; i < n; ++i)
      if (!(infinite[i] == (y[i] == 0 ? 0 : static_cast<float>(kInf)))) FAIL_CHECK("element " << i);
  });
}

TEMPLATE_TEST_CASE("adamw takes PyTorch's step", "[updates]", float, double) {
  const double lr = 1e-2, beta1 = 0.9, beta2 = 0.99, eps = 1e-8, decay = 0.1, scale = 0.5;
  at_each_level([&] {
    for (const int64_t n : {1, 7, 17, 1000, 20000}) {
      auto p = values<TestType>(n, 1, 1);
      std::vector<TestType> m(n), v(n);
      std::vector<double> want_p(p.begin(), p.end()), want_m(n), want_v(n);
      for (int64_t step = 1; step <= 3; ++step) {
        const auto g = values<TestType>(n, 1, 10 + static_cast<uint64_t>(step));
        adamw(n, p.data(), m.data(), v.data(), g.data(), lr, beta1, beta2, eps, decay, step, scale);
        for (int64_t i = 0; i < n; ++i) {
          const double grad = g[i] * scale;
          want_m[i] = beta1 * want_m[i] + (1 - beta1) * grad;
          want_v[i] = beta2 * want_v[i] + (1 - beta2) * grad * grad;
          const double m_hat = want_m[i] / (1 - std::pow(beta1, step)),
                       v_hat = want_v[i] / (1 - std::pow(beta2, step));
          want_p[i] = want_p[i] * (1 - lr * decay) - lr * m_hat / (std::sqrt(v_hat) + eps);
        }
      }
      check_near(p, [&](int64_t i) { return want_p[i]; });
      check_near(m, [&](int64_t i) { return want_m[i]; });
      check_near(v, [&](int64_t i) { return want_v[i]; });
    }
  });
}

TEMPLATE_TEST_CASE("Muon's passes over memory are their formulas", "[updates]", float, double) {
  at_each_level([] {
    for (const int64_t n : {0, 1, 7, 17, 1000, 40'000}) {
      const auto x = values<TestType>(n, 1, 1), y = values<TestType>(n, 1, 2),
                 before = values<TestType>(n, 1, 3);
      std::vector<TestType> sum = before, ahead(n), both(n), in_place = x;
      look_ahead(n, ahead.data(), sum.data(), x.data(), 0.75, 0.5);
      check_near(sum, [&](int64_t i) { return 0.75 * before[i] + 0.5 * x[i]; });
      check_near(ahead, [&](int64_t i) { return 0.75 * (0.75 * before[i] + 0.5 * x[i]) + 0.5 * x[i]; });
      weighted_sum(n, both.data(), 3.0, x.data(), -0.25, y.data());
      check_near(both, [&](int64_t i) { return 3.0 * x[i] - 0.25 * y[i]; });
      weighted_sum(n, in_place.data(), 3.0, in_place.data(), -0.25, y.data());
      CHECK(same_bits(in_place, both));
    }
  });
}

TEST_CASE("sum_of_squares is a double, for any number of threads", "[updates]") {
  at_each_level([] {
    for (const int64_t n : {0, 1, 33, 100'003}) {
      const auto x = values<float>(n, 1e25);  // its square overflows a float
      double want = 0;
      for (const float v : x) want += static_cast<double>(v) * v;
      const auto run = [&](int threads) {
        const Threads guard(threads);
        return sum_of_squares(n, x.data());
      };
      CHECK(near(run(1) / 1e50, want / 1e50, 1e-13));
      CHECK(run(1) == run(2));
    }
  });
}

}  // namespace gradus::kernels::test_updates
