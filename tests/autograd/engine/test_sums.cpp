// Rules that add to the gradient that others have summed so far (Sums).
#include "autograd/compare.hpp"
#include "gradus/autograd/graph/anomaly_check.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"

namespace gradus::test_sums {

using namespace gradus::testing;

Tensor draw(const Shape& shape, uint64_t seed, DType dtype = DType::float64) {
  Generator g(seed);
  return randn(shape, g, dtype);
}

/// The gradient of x in sum(f(x) * weights), for a function of its own graph.
template <class F>
Tensor gradient_alone(const Tensor& x, const F& f, uint64_t seed) {
  const Tensor own = (x.detach() * 1.0).requires_grad_(), y = f(own);
  sum(y * draw(y.shape(), seed, y.dtype())).backward();
  return own.grad();
}

using Function = Tensor (*)(const Tensor& x);

/// The gradients of x in a graph with all functions, and the sum of those of each alone, are the same.
void check_sum(const Tensor& x, const std::vector<Function>& functions, double tolerance) {
  const Tensor leaf = (x.detach() * 1.0).requires_grad_(), a = leaf * 1.0;
  Tensor loss = zeros({}, x.dtype()), expected = zeros(x.shape(), x.dtype());
  for (size_t i = 0; i < functions.size(); ++i) {
    const Tensor y = functions[i](a);
    loss = loss + sum(y * draw(y.shape(), i, y.dtype()));
    expected = expected + gradient_alone(x, functions[i], i);
  }
  loss.backward();
  CHECK(difference(leaf.grad(), expected, tolerance) == "");
}

Tensor normalized(const Tensor& x) { return rms_norm(x, {x.size(-1)}); }
Tensor doubled(const Tensor& x) { return x + x; }
Tensor transposed(const Tensor& x) { return x.mT() * 2.0; }
Tensor projected(const Tensor& x) { return linear(x, draw({5, x.size(-1)}, 77, x.dtype())); }
Tensor widened(const Tensor& x) { return linear(x, draw({70, x.size(-1)}, 78, x.dtype())); }

TEST_CASE("gradients of several uses are summed in any order, by rules that add to the sum too") {
  const std::vector<Function> all{normalized, doubled, transposed, projected, widened};
  for (size_t first = 0; first < all.size(); ++first) {
    std::vector<Function> functions(all);
    std::rotate(functions.begin(), functions.begin() + static_cast<std::ptrdiff_t>(first), functions.end());
    check_sum(draw({6, 8}, 1), functions, 1e-12);
    check_sum(draw({6, 8}, 1), {functions[0], functions[1], functions[0]}, 1e-12);
    if (!kernels::fast_kernels().multiply_rounded) continue;  // GRADUS_FAST=OFF
    const Autocast autocast(DType::bfloat16);
    check_sum(draw({80, 64}, 2, DType::float32), functions, 1e-5);
    check_sum(draw({80, 64}, 2, DType::float32), {functions[0], functions[0], functions[1]}, 1e-5);
  }
}

TEST_CASE("a sum that is shared with another tensor's gradient is not overwritten") {
  const Tensor x = draw({4, 8}, 1).requires_grad_(), other = draw({4, 8}, 2).requires_grad_();
  const Tensor a = x * 1.0, y = rms_norm(a, {8});
  const Tensor together = a + other;  // it passes one gradient to both, before that of the norm is added
  const Tensor g = draw({4, 8}, 3);
  (sum(y * draw({4, 8}, 4)) + sum(together * g)).backward();
  CHECK(difference(other.grad(), g) == "");
  const Tensor of_norm = gradient_alone(
      x, [](const Tensor& t) { return rms_norm(t, {8}); }, 4);
  CHECK(difference(x.grad(), g + of_norm, 1e-12) == "");

  // Nor is the gradient that the caller gave, or that a hook kept.
  const Tensor leaf = (x.detach() * 1.0).requires_grad_(), b = leaf * 1.0, z = rms_norm(b, {8});
  const Tensor given = draw({4, 8}, 5), before = given * 1.0;
  backward({z, b}, {draw({4, 8}, 4), given});
  CHECK(difference(given, before) == "");
  CHECK(difference(leaf.grad(), given + of_norm, 1e-12) == "");
}

TEST_CASE("a rule takes the sum once, and only where gradients are not differentiated again") {
  std::vector<Tensor> taken;
  const auto twice = [&taken](const Tensor& x) {
    return record("mul", (x * 2.0).detach(), {x, x}, [&taken](const Tensor& gy, Needs, const Sums& sums) {
      for (const size_t i : {0, 1}) taken.push_back(sums.take(i));
      const Tensor& sum = taken[taken.size() - 2];
      return std::vector<Tensor>{sum.defined() ? sum + gy : gy, gy};
    });
  };
  const Tensor x = leaf({1, 2}, {2}), a = x * 1.0, y = twice(a), z = a * 5.0;
  const Tensor loss = sum(y + z);
  CHECK(difference(grad({loss}, {x}, {.retain_graph = true})[0], f64({7, 7})) == "");
  REQUIRE(taken.size() == 2);
  CHECK(difference(taken[0], f64({5, 5})) == "");
  CHECK_FALSE(taken[1].defined());
  CHECK(difference(grad({loss}, {x}, {.create_graph = true})[0], f64({7, 7})) == "");
  CHECK_FALSE(taken[2].defined());
  const AnomalyMode anomaly(true);
  CHECK(difference(grad({loss}, {x})[0], f64({7, 7})) == "");
  CHECK_FALSE(taken[4].defined());
}

}  // namespace gradus::test_sums
