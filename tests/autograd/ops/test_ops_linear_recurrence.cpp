// linear_recurrence against its definition in long double.
#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"

namespace gradus::test_ops_linear_recurrence {

using namespace gradus::testing;

using Real = long double;

// Shapes (outer, n, inner) around the widths of vectors and of a thread's columns.
const std::vector<Shape> kShapes = {{1, 1, 1},   {3, 5, 1},    {2, 4, 7},   {1, 40, 33},
                                    {2, 3, 511}, {1, 2, 1025}, {40, 6, 64}, {2, 0, 3}};

struct Expected {
  std::vector<double> h, ga, gb;
};

// The definition and its derivative, column by column.
Expected defined(const Shape& shape, const Tensor& a, const Tensor& b, const Tensor& gh, bool reverse) {
  const auto wide = [](const Tensor& t) { return t.detach().to(DType::float64).to_vector<double>(); };
  const std::vector<double> as = wide(a), bs = wide(b), ghs = wide(gh);
  Expected e{as, as, as};
  const int64_t n = shape[1], inner = shape[2];
  for (int64_t o = 0; o < shape[0]; ++o)
    for (int64_t c = 0; c < inner; ++c) {
      const auto at = [&](int64_t t) {
        return static_cast<size_t>((o * n + (reverse ? n - 1 - t : t)) * inner + c);
      };
      std::vector<Real> h(static_cast<size_t>(n));
      for (int64_t t = 0; t < n; ++t) {
        h[t] = bs[at(t)] + (t > 0 ? as[at(t)] * h[t - 1] : 0);
        e.h[at(t)] = static_cast<double>(h[t]);
      }
      Real gb = 0;
      for (int64_t t = n - 1; t >= 0; --t) {
        gb = ghs[at(t)] + (t + 1 < n ? as[at(t + 1)] * gb : 0);
        e.gb[at(t)] = static_cast<double>(gb);
        e.ga[at(t)] = t > 0 ? static_cast<double>(gb * h[t - 1]) : 0;
      }
    }
  return e;
}

// h, ga and gb of the op.
std::vector<Tensor> computed(const Tensor& a, const Tensor& b, const Tensor& gh, bool reverse) {
  const Tensor x = a.detach().requires_grad_(), y = b.detach().requires_grad_();
  const Tensor h = linear_recurrence(x, y, 1, reverse);
  const std::vector<Tensor> grads = grad({h}, {x, y}, {.grad_outputs = {gh}});
  return {h.detach(), grads[0], grads[1]};
}

TEST_CASE("linear_recurrence and its gradients agree with the definition, at every level") {
  vectors::at_each_level([] {
    for (const DType dtype : {DType::float32, DType::float64})
      for (const bool reverse : {false, true})
        for (const Shape& shape : kShapes) {
          INFO(name(dtype) << ' ' << shape << (reverse ? " reversed" : ""));
          Generator g(1);
          const auto draw = [&] { return randn(shape, g, DType::float64).to(dtype); };
          const Tensor a = 0.6 * draw(), b = draw(), gh = draw();
          const std::vector<Tensor> got = computed(a, b, gh, reverse);
          const Expected want = defined(shape, a, b, gh, reverse);
          const double tolerance = dtype == DType::float32 ? 1e-5 : 1e-13;
          CHECK(difference(got[0], f64(want.h, shape).to(dtype), tolerance) == "");
          CHECK(difference(got[1], f64(want.ga, shape).to(dtype), tolerance) == "");
          CHECK(difference(got[2], f64(want.gb, shape).to(dtype), tolerance) == "");
        }
  });
}

TEST_CASE("the bits of linear_recurrence depend neither on threads nor on a column's neighbours") {
  for (const Shape& shape : kShapes) {
    if (shape.numel() == 0) continue;
    INFO(shape);
    Generator g(2);
    const Tensor a = randn(shape, g), b = randn(shape, g), gh = randn(shape, g);
    const auto bits = [&](int threads) {
      const vectors::Threads set(threads);
      std::vector<std::vector<float>> all;
      for (const Tensor& t : computed(a, b, gh, false)) all.push_back(t.to_vector<float>());
      return all;
    };
    const auto one = bits(1);
    CHECK(bits(2) == one);
    CHECK(bits(7) == one);
    const auto last = [](const Tensor& t) { return t.slice(2, t.shape()[2] - 1, t.shape()[2]).contiguous(); };
    const std::vector<Tensor> whole = computed(a, b, gh, false),
                              column = computed(last(a), last(b), last(gh), false);
    for (size_t i = 0; i < whole.size(); ++i) CHECK(difference(column[i], last(whole[i]), 0) == "");
  }
}

TEST_CASE("linear_recurrence along any dimension, of views, with values that are not finite") {
  Generator g(3);
  const Tensor a = randn({3, 4}, g), b = randn({3, 4}, g);
  CHECK(difference(linear_recurrence(a.mT(), b.mT(), 1), linear_recurrence(a, b, 0).mT(), 0) == "");
  CHECK(difference(linear_recurrence(a, b, -1), linear_recurrence(a.mT(), b.mT(), 0).mT(), 0) == "");
  CHECK(difference(linear_recurrence(ones({3, 4}), b, 1), cumsum(b, 1), 1e-6) == "");
  // The first factor has no effect, whatever it is.
  CHECK(difference(linear_recurrence(f32({kNan, 2, 0, kInf}), f32({1, 3, 4, 5}), 0), f32({1, 5, 4, kInf})) ==
        "");
  CHECK(difference(linear_recurrence(f32({2, 3, kInf}), f32({1, 1, 1}), 0, true), f32({9, 4, 1})) == "");
}

TEST_CASE("linear_recurrence refuses operands that do not fit") {
  CHECK_THROWS_WITH(
      linear_recurrence(ones({2, 3}), ones({3}), 0),
      "[linear_recurrence] a and b must be of one shape of at least one dimension, got (2, 3) and (3,).");
  CHECK_ERROR(linear_recurrence(ones({}), ones({}), 0), "at least one dimension");
  CHECK_ERROR(linear_recurrence(ones({2}), ones({2}), 1),
              "[linear_recurrence] dim must be in [-1, 0], got 1.");
  CHECK_ERROR(linear_recurrence(ones({2}), ones({2}, DType::float64), 0),
              "[linear_recurrence] operands must have one dtype");
  CHECK_ERROR(linear_recurrence(zeros({2}, DType::int64), zeros({2}, DType::int64), 0),
              "[linear_recurrence] needs float32 or float64");
}

}  // namespace gradus::test_ops_linear_recurrence
