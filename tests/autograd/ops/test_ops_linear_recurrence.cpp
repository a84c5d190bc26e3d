// linear_recurrence against its definition.
#include "autograd/by_definition.hpp"
#include "autograd/kernels/vectors.hpp"

namespace gradus::test_ops_linear_recurrence {

using namespace gradus::testing;

// Shapes (outer, n, inner) around the widths of vectors and of a thread's columns.
const std::vector<Shape> kShapes = {{1, 1, 1},   {3, 5, 1},    {2, 4, 7},   {1, 40, 33},
                                    {2, 3, 511}, {1, 2, 1025}, {40, 6, 64}, {2, 0, 3}};

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
          const auto f = [reverse](const std::vector<Tensor>& in) {
            return linear_recurrence(in[0], in[1], 1, reverse);
          };
          CHECK(check_by_definition(f, {0.6 * draw(), draw()}) == 1);
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
