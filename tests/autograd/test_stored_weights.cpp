// Tensors of bfloat16: what takes them, and what refuses.
#include "autograd/compare.hpp"
#include "catch.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/random.hpp"

using namespace gradus;
using namespace gradus::testing;

TEST_CASE("to(bfloat16) rounds, and back is exact") {
  const Tensor x = f64({1, 1.00390625, -3, 0.1}, {2, 2});
  const Tensor stored = x.to(DType::bfloat16);
  CHECK(stored.dtype() == DType::bfloat16);
  CHECK(difference(stored.to(DType::float64), f64({1, 1, -3, 0.10009765625}, {2, 2}), 0) == "");
  CHECK(difference(x.mT().to(DType::bfloat16).to(DType::float64), f64({1, -3, 1, 0.10009765625}, {2, 2}),
                   0) == "");
}

TEST_CASE("bfloat16 values are read through any view") {
  const Tensor stored = f64({1, 2, 3, 4, 5, 6}, {2, 3}).to(DType::bfloat16);
  CHECK(difference(stored.mT().to(DType::float64), f64({1, 4, 2, 5, 3, 6}, {3, 2}), 0) == "");
  CHECK(difference(stored.slice(1, 1, 3).contiguous().to(DType::float64), f64({2, 3, 5, 6}, {2, 2}), 0) ==
        "");
  CHECK(difference(stored.select(0, 1).expand({2, 3}).to(DType::float64), f64({4, 5, 6, 4, 5, 6}, {2, 3}),
                   0) == "");
}

TEST_CASE("linear and embedding take a bfloat16 weight as they take its values") {
  Generator g(3);
  const Tensor w = randn({5, 7}, g).to(DType::bfloat16), wide = w.to(DType::float32);
  const Tensor x = randn({2, 3, 7}, g).requires_grad_(), bias = randn({5}, g);
  const Tensor y = linear(x, w, bias);
  CHECK(difference(y.detach().to(DType::float64), linear(x.detach(), wide, bias).to(DType::float64), 1e-6) ==
        "");
  sum(y).backward();
  const Tensor expected = matmul(ones({6, 5}), wide).reshape({2, 3, 7});
  CHECK(difference(x.grad().to(DType::float64), expected.to(DType::float64), 1e-6) == "");
  const Tensor index = tensor(std::vector<int64_t>{4, 0, 4}, {3});
  CHECK(difference(embedding(w, index).to(DType::float64), embedding(wide, index).to(DType::float64), 0) ==
        "");
}

TEST_CASE("everything else refuses bfloat16") {
  const Tensor w = ones({2, 2}).to(DType::bfloat16);
  CHECK(error_of([&] { w + w; }) ==
        "[add] needs float32, float64 or int64 values, got bfloat16. Hint: convert them with to().");
  CHECK(error_of([&] { matmul(w, w); }) != "");
  CHECK(error_of([&] { embedding(w, zeros({1}, DType::int64), 2); }) ==
        "[embedding] padding_idx must be a row of the weight (2, 2), got 2.");
  CHECK(error_of([&] { embedding(w, full({1}, 2, DType::int64)); }) != "");
  CHECK(error_of([&] { Tensor(w).requires_grad_(); }) ==
        "[requires_grad_] needs floating values, got bfloat16.");
  CHECK(error_of([&] {
          w.at({0, 0});
        }) == "[bfloat16] such values are only stored. Hint: convert them with to(DType::float32).");
  CHECK(error_of([&] { linear(ones({3}), w); }) ==
        "[linear] needs x (..., in) and weight (out, in), got x (3,) and weight (2, 2).");
  CHECK(error_of([&] { linear(ones({2}), w.mT()); }) ==
        "[linear] a bfloat16 weight must be packed, got strides (1, 2).");
}
