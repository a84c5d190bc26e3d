// Reductions against loops in double: any dims, special numbers, accuracy over many elements, threads.
#include <algorithm>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "vectors.hpp"

namespace test_reduce {

using gradus::kernels::Loop;
using gradus::kernels::Reduce;
using namespace vectors;

constexpr Reduce kOps[] = {Reduce::sum, Reduce::max, Reduce::min};

/// Reduces the dims of a packed x of this shape that are marked 'r', keeping those marked 'k'.
template <class T>
struct Job {
  std::vector<int64_t> shape;
  std::string dims;

  int64_t outputs() const { return product('k'); }
  int64_t each() const { return product('r'); }

  std::vector<T> run(Reduce op, const std::vector<T>& x) const {
    Loop<2> kept;
    Loop<1> reduced;
    int64_t stride = outputs() * each(), out_stride = outputs();
    for (size_t d = 0; d < shape.size(); ++d) {
      stride /= std::max<int64_t>(shape[d], 1);
      if (dims[d] == 'r') {
        reduced.size[reduced.dims] = shape[d];
        reduced.stride[0][reduced.dims++] = stride;
      } else {
        out_stride /= std::max<int64_t>(shape[d], 1);
        kept.size[kept.dims] = shape[d];
        kept.stride[0][kept.dims] = out_stride;
        kept.stride[1][kept.dims++] = stride;
      }
    }
    kept.coalesce();
    reduced.coalesce();
    std::vector<T> out(static_cast<size_t>(outputs()));
    gradus::kernels::reduce(op, kept, reduced, out.data(), x.data());
    return out;
  }

  std::vector<double> oracle(Reduce op, const std::vector<T>& x) const {
    const double start = op == Reduce::sum ? 0 : op == Reduce::max ? -kInf : kInf;
    std::vector<double> out(static_cast<size_t>(outputs()), start);
    for (size_t i = 0; i < x.size(); ++i) {
      int64_t rest = static_cast<int64_t>(i), at = 0, place = 1;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
        if (dims[d] == 'k') at += rest % shape[d] * place, place *= shape[d];
      const double v = static_cast<double>(x[i]);
      double& o = out[static_cast<size_t>(at)];
      if (op == Reduce::sum)
        o += v;
      else if (std::isnan(v) || std::isnan(o))
        o = kNaN;
      else
        o = op == Reduce::max ? std::fmax(o, v) : std::fmin(o, v);
    }
    return out;
  }

 private:
  int64_t product(char kind) const {
    int64_t n = 1;
    for (size_t d = 0; d < shape.size(); ++d)
      if (dims[d] == kind) n *= shape[d];
    return n;
  }
};

template <class T>
std::vector<Job<T>> jobs() {
  std::vector<Job<T>> all = {{{}, ""},           {{3, 5}, "kk"},         {{6, 7, 8}, "krk"},
                             {{6, 7, 8}, "rkr"}, {{2, 3, 4, 5}, "rkrk"}, {{2, 3, 4, 5}, "krkr"},
                             {{5, 1}, "kr"},     {{1, 5}, "rk"},         {{700, 3}, "rk"},
                             {{130, 600}, "rk"}};
  for (const int64_t n : kSizes) {
    all.push_back({{n}, "r"});
    all.push_back({{3, n}, "kr"});
    all.push_back({{3, n}, "rk"});
    all.push_back({{n, 3}, "rk"});
    all.push_back({{n, 3}, "kr"});
  }
  return all;
}

TEMPLATE_TEST_CASE("reductions agree with loops over the elements", "[reduce]", float, double, int64_t) {
  at_each_level([] {
    for (const Job<TestType>& job : jobs<TestType>())
      for (const Reduce op : kOps) {
        INFO("dims " << job.dims << ", outputs " << job.outputs() << ", each " << job.each());
        const auto x = values<TestType>(job.outputs() * job.each(), 50);
        const auto want = job.oracle(op, x);
        // The sum of n rounded numbers of size 50 against that of the numbers: 1e-6 of their total size for
        // float.
        const double slack =
            sizeof(TestType) == 4 && op == Reduce::sum ? 2e-7 * 50 * static_cast<double>(job.each()) : 1e-9;
        const auto got = job.run(op, x);
        for (size_t i = 0; i < got.size(); ++i)
          CHECK(std::fabs(static_cast<double>(got[i]) - want[i]) <= slack);
      }
  });
}

TEST_CASE("an empty sum is 0 and an empty max or min the neutral value", "[reduce]") {
  for (const Job<float>& job : {Job<float>{{4, 0}, "kr"}, Job<float>{{0, 4}, "rk"}, Job<float>{{0}, "r"}}) {
    const auto n = static_cast<size_t>(job.outputs());
    CHECK(job.run(Reduce::sum, {}) == std::vector<float>(n, 0));
    CHECK(job.run(Reduce::max, {}) == std::vector<float>(n, static_cast<float>(-kInf)));
    CHECK(job.run(Reduce::min, {}) == std::vector<float>(n, static_cast<float>(kInf)));
  }
  CHECK(Job<float>{{0, 4}, "kr"}.run(Reduce::sum, {}).empty());
}

TEMPLATE_TEST_CASE("NaN wins in max and min wherever it is", "[reduce]", float, double) {
  at_each_level([] {
    for (const Job<TestType>& job :
         {Job<TestType>{{70}, "r"}, {{3, 70}, "kr"}, {{70, 3}, "rk"}, {{5, 14, 3}, "rkr"}})
      for (const Reduce op : kOps)
        for (const double fill : {1.0, -kInf, kInf})
          for (size_t at = 0; at < 70; at += 3) {
            std::vector<TestType> x(static_cast<size_t>(job.outputs() * job.each()),
                                    static_cast<TestType>(fill));
            x[at] = static_cast<TestType>(kNaN);
            const auto want = job.oracle(op, x);
            INFO(job.dims);
            check_near(
                job.run(op, x), [&](int64_t i) { return want[i]; }, 0);
          }
  });
}

TEST_CASE("float sums of ten million elements are good to 1e-6", "[reduce]") {
  const int64_t n = 10'000'000;
  std::vector<float> x = values<float>(n, 0.5);
  double rows = 0;
  for (float& v : x) rows += v += 0.5F;  // positive: a running sum would be stuck at 2^24 times its step
  at_each_level([&] {
    CHECK(std::fabs(Job<float>{{n}, "r"}.run(Reduce::sum, x)[0] / rows - 1) < 1e-6);
    for (const float column : Job<float>{{n / 4, 4}, "rk"}.run(Reduce::sum, x)) {
      CHECK(std::fabs(column / (rows / 4) - 1) < 1e-3);  // a different quarter of the elements
    }
    // Constant columns have an exact sum, so that the error is all rounding's.
    const std::vector<float> tenth(4'000'000, 0.1F);
    const double want = 1e6 * static_cast<double>(0.1F);
    for (const float column : Job<float>{{1'000'000, 4}, "rk"}.run(Reduce::sum, tenth))
      CHECK(std::fabs(column / want - 1) < 1e-6);
    for (const float middle : Job<float>{{2, 500'000, 4}, "rkr"}.run(Reduce::max, tenth))
      CHECK(middle == 0.1F);
    const auto strided = Job<float>{{2, 500'000, 2, 2}, "krkr"}.run(Reduce::sum, tenth);
    for (const float part : strided) CHECK(std::fabs(part / want - 1) < 1e-6);
  });
}

TEST_CASE("reductions give the same bits for any number of threads", "[reduce]") {
  const auto x = values<float>(300'000);
  const Job<float> shapes[] = {
      {{300'000}, "r"}, {{1000, 300}, "rk"}, {{1000, 300}, "kr"}, {{10, 300, 100}, "rkr"}};
  at_each_level([&] {
    for (const Job<float>& job : shapes) {
      const auto run = [&](int threads) {
        const Threads guard(threads);
        return job.run(Reduce::sum, x);
      };
      CHECK(same_bits(run(1), run(2)));
      CHECK(same_bits(run(1), run(5)));
    }
  });
}

TEST_CASE("argmax takes the first of equals, and the first NaN before all", "[reduce]") {
  const auto nan = static_cast<float>(kNaN), inf = static_cast<float>(kInf);
  const std::vector<float> x = {1, 3, 2, 3, -inf, -inf, -inf, -inf, 1, nan, inf, nan, 5, 4, 3, 2};
  std::vector<int64_t> at(4);
  gradus::kernels::argmax(4, 4, at.data(), x.data());
  CHECK(at == std::vector<int64_t>{1, 0, 1, 0});
}

TEMPLATE_TEST_CASE("cumsum runs along the middle, both ways", "[reduce]", float, double, int64_t) {
  const int64_t outer = 3, n = 17, inner = 5;
  const auto x = values<TestType>(outer * n * inner, 9);
  for (const bool reverse : {false, true}) {
    std::vector<TestType> y = x;
    gradus::kernels::cumsum(outer, n, inner, y.data(), y.data(), reverse);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        double total = 0;
        for (int64_t k = 0; k < n; ++k) {
          const int64_t at = (o * n + (reverse ? n - 1 - k : k)) * inner + i;
          total += static_cast<double>(x[at]);
          CHECK(near(static_cast<double>(y[at]), total, sizeof(TestType) == 4 ? 1e-5 : 1e-13));
        }
      }
  }
}

TEST_CASE("cumsum of three million floats is right to a float's last digits", "[reduce]") {
  const int64_t n = 3'000'000;
  const auto x = values<float>(n, 1);
  std::vector<float> lifted(x);
  for (float& v : lifted) v += 1.5F;  // a sum that grows
  for (const bool reverse : {false, true}) {
    std::vector<float> y(lifted.size());
    gradus::kernels::cumsum(1, n, 1, y.data(), lifted.data(), reverse);
    long double total = 0;
    double worst = 0;
    for (int64_t k = 0; k < n; ++k) {
      const auto at = static_cast<size_t>(reverse ? n - 1 - k : k);
      total += lifted[at];
      worst = std::max(worst, static_cast<double>(std::fabs(y[at] - total) / total));
    }
    CHECK(worst <= 6.1e-8);  // half a step
  }
}

}  // namespace test_reduce
