// Reductions against their definitions: any dims, special numbers, accuracy over many elements, threads.
#include "autograd/by_definition.hpp"
#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/tensor/raw.hpp"
#include "vectors.hpp"

namespace gradus::test_reduce {

using namespace gradus::testing;
using vectors::at_each_level;
using vectors::kSizes;
using In = const std::vector<Tensor>&;

/// Reduces these dims of a tensor of this shape; none: all.
struct Job {
  Shape shape;
  autograd::Dims dims;
};
constexpr Tensor (*kOps[])(const Tensor&, const autograd::Dims&, bool) = {sum, amax, amin};

Tensor draw(const Shape& shape) {
  Generator g(1);
  return uniform(shape, -50, 50, g, DType::float64);
}

TEST_CASE("reductions of any dims agree with their definitions, and so do their gradients", "[reduce]") {
  std::vector<Job> jobs = {
      {{}, {}},      {{6, 7, 8}, {1}}, {{6, 7, 8}, {0, 2}}, {{2, 3, 4, 5}, {0, 2}}, {{2, 3, 4, 5}, {1, 3}},
      {{5, 1}, {1}}, {{1, 5}, {0}},    {{700, 3}, {0}},     {{130, 600}, {0}}};
  for (const int64_t n : kSizes)
    for (const Job& job : {Job{{n}, {0}}, {{3, n}, {1}}, {{3, n}, {0}}, {{n, 3}, {0}}, {{n, 3}, {1}}})
      jobs.push_back(job);
  at_each_level([&] {
    for (const Job& job : jobs)
      for (const auto op : kOps) {
        INFO(job.shape << ", dims " << Shape(job.dims));
        const Tensor x = draw(job.shape), whole = x.to(DType::int64);
        const auto f = [&](In in) { return op(in[0], job.dims, false); };
        for (const DType dtype : {DType::float32, DType::float64})
          CHECK(check_by_definition(f, {x.to(dtype)}) == 1);
        CHECK(difference(f({whole}).to(DType::float64), f({whole.to(DType::float64)}), 0) == "");
      }
  });
}

TEST_CASE("an empty sum is 0 and an empty max or min the neutral value", "[reduce]") {
  using kernels::Reduce;
  for (const auto& [shape, dims, left] : {std::tuple<Shape, autograd::Dims, Shape>{{4, 0}, {1}, {4}},
                                          {{0, 4}, {0}, {4}},
                                          {{0}, {0}, {}},
                                          {{0, 4}, {1}, {0}}})
    for (const auto& [op, value] : {std::pair{Reduce::sum, 0.0}, {Reduce::max, -kInf}, {Reduce::min, kInf}})
      CHECK(difference(raw::reduce(op, zeros(shape), dims, false), full(left, value)) == "");
}

TEST_CASE("NaN wins in max and min wherever it is", "[reduce]") {
  at_each_level([] {
    for (const Job& job : {Job{{70}, {0}}, {{3, 70}, {1}}, {{70, 3}, {0}}, {{5, 14, 3}, {0, 2}}})
      for (const auto op : kOps)
        for (const double fill : {1.0, -kInf, kInf})
          for (const DType dtype : {DType::float32, DType::float64})
            for (int64_t at = 0; at < 70; at += 3) {
              const Tensor x = full(job.shape, fill, dtype);
              x.flatten().slice(0, at, at + 1).fill_(kNan);
              INFO(job.shape << ", NaN at " << at << " of " << fill);
              CHECK(error_of_calls([&] { op(x, job.dims, false); }) == 0);
            }
  });
}

TEST_CASE("float sums of ten million elements are good to 1e-6", "[reduce]") {
  Generator g(1);
  const Tensor x = rand({10'000'000}, g);  // positive: a running sum would be stuck at 2^24 times its step
  const double right = sum(x.to(DType::float64)).item();
  // Constant columns have an exact sum, so that the error is all rounding's.
  const Tensor tenth = full({4'000'000}, 0.1F);
  const Tensor want = full({4}, 1e6 * static_cast<double>(0.1F), DType::float64);
  at_each_level([&] {
    CHECK(std::fabs(sum(x).item() / right - 1) < 1e-6);
    const Tensor columns = sum(tenth.reshape({1'000'000, 4}), {0}),
                 strided = sum(tenth.reshape({2, 500'000, 2, 2}), {1, 3}).flatten();
    CHECK(relative_error(columns, want) < 1e-6);
    CHECK(relative_error(strided, want) < 1e-6);
    CHECK(difference(amax(tenth.reshape({2, 500'000, 4}), {0, 2}), full({500'000}, 0.1F), 0) == "");
  });
}

TEST_CASE("reductions give the same bits for any number of threads", "[reduce]") {
  const Tensor x = draw({300'000}).to(DType::float32);
  const Job shapes[] = {{{300'000}, {0}}, {{1000, 300}, {0}}, {{1000, 300}, {1}}, {{10, 300, 100}, {0, 2}}};
  at_each_level([&] {
    for (const Job& job : shapes) {
      const auto run = [&](int threads) {
        const vectors::Threads guard(threads);
        return sum(x.reshape(job.shape), job.dims);
      };
      CHECK(difference(run(1), run(2), 0) == "");
      CHECK(difference(run(1), run(5), 0) == "");
    }
  });
}

TEST_CASE("cumsum runs along the middle, both ways", "[reduce]") {
  const Tensor x = draw({3, 17, 5}), whole = x.to(DType::int64);
  for (const bool reverse : {false, true}) {
    const auto f = [reverse](In in) { return cumsum(in[0], 1, reverse); };
    for (const DType dtype : {DType::float32, DType::float64})
      CHECK(check_by_definition(f, {x.to(dtype)}) == 1);
    CHECK(difference(f({whole}).to(DType::float64), f({whole.to(DType::float64)}), 0) == "");
  }
}

TEST_CASE("cumsum of three million floats is right to a float's last digits", "[reduce]") {
  Generator g(1);
  const Tensor x = uniform({3'000'000}, 0.5, 2.5, g);  // a sum that grows
  for (const bool reverse : {false, true}) {
    const Tensor want = cumsum(x.to(DType::float64), 0, reverse);
    CHECK(amax(abs(cumsum(x, 0, reverse).to(DType::float64) / want - 1)).item() <= 6.1e-8);  // half a step
  }
}

}  // namespace gradus::test_reduce
