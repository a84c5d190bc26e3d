// Tensors of bfloat16, q8_0 and q4_0: what takes them, and what refuses.
#include "autograd/compare.hpp"

namespace gradus::test_stored_weights {

using namespace gradus::testing;

TEST_CASE("to(bfloat16) rounds, back is exact, and values are read through any view") {
  const Tensor x = f64({1, 1.00390625, -3, 0.1}, {2, 2});
  const auto numbers = [](const Tensor& t) { return t.to(DType::float64).to_vector<double>(); };
  CHECK(x.to(DType::bfloat16).dtype() == DType::bfloat16);
  CHECK(numbers(x.to(DType::bfloat16)) == std::vector<double>{1, 1, -3, 0.10009765625});
  CHECK(numbers(x.mT().to(DType::bfloat16)) == std::vector<double>{1, -3, 1, 0.10009765625});
  const Tensor stored = f64({1, 2, 3, 4, 5, 6}, {2, 3}).to(DType::bfloat16);
  CHECK(numbers(stored.mT()) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(numbers(stored.slice(1, 1, 3).contiguous()) == std::vector<double>{2, 3, 5, 6});
  CHECK(numbers(stored.select(0, 1).expand({2, 3})) == std::vector<double>{4, 5, 6, 4, 5, 6});
}

TEST_CASE("a stored weight's gradient of x has its bits wherever it is asked for, as the layer has") {
  Generator g(5);
  const Tensor x = randn({6, 64}, g).requires_grad_(), gy = randn({6, 16}, g);
  for (const DType stored : {DType::bfloat16, DType::q8_0, DType::q4_0}) {
    const Tensor w = randn({16, 64}, g).to(stored);
    const auto results = [&](DType made, DType asked) {
      const auto run = [&] {
        const Autocast autocast(made);
        return linear(x, w);
      };
      const Tensor y = run();
      const Autocast autocast(asked);
      return std::vector<Tensor>{y.detach(), grad({y}, {x}, {.grad_outputs = {gy}})[0]};
    };
    const std::vector<Tensor> plain = results(DType::float32, DType::float32);
    const Tensor exact = matmul(gy.to(DType::float64), w.to(DType::float64));
    CHECK(difference(plain[1].to(DType::float64), exact, 1e-5) == "");
    for (const DType made : {DType::float32, DType::bfloat16})
      for (size_t i = 0; i < plain.size(); ++i)
        CHECK(difference(results(made, DType::bfloat16)[i], plain[i], 0) == "");
  }
}

TEST_CASE("under Autocast, products with many rows and a stored weight are those of rounded numbers") {
  Generator g(6);
  const auto rounded = [](const Tensor& x) { return x.to(DType::bfloat16).to(DType::float64); };
  // More rows than are packed at a time, and sizes that are no multiples of a tile's.
  const auto [out, in] = GENERATE(std::pair<int64_t, int64_t>{37, 70}, std::pair<int64_t, int64_t>{8200, 33},
                                  std::pair<int64_t, int64_t>{20, 2100});
  const auto near = [](int64_t terms) { return 1e-5 * std::sqrt(static_cast<double>(terms)); };
  for (const DType stored : {DType::bfloat16, DType::q8_0, DType::q4_0}) {
    INFO(name(stored) << " " << out << " " << in);
    const Tensor w = randn({out, in}, g).to(stored), exact = rounded(w.to(DType::float32));
    const Tensor x = randn({2, 11, in}, g).requires_grad_(), gy = randn({2, 11, out}, g);
    const Tensor bias = randn({out}, g).requires_grad_();
    const auto run = [&] {
      const Autocast autocast(DType::bfloat16);
      return linear(x, w, bias);
    };
    const Tensor y = run();
    const Tensor expected = matmul(rounded(x.detach()), exact.mT()) + bias.detach().to(DType::float64);
    CHECK(difference(y.detach().to(DType::float64), expected, near(in)) == "");
    const std::vector<Tensor> gradients = grad({y}, {x, bias}, {.grad_outputs = {gy}});
    CHECK(difference(gradients[0].to(DType::float64), matmul(rounded(gy), exact), near(out)) == "");
    CHECK(difference(gradients[1], sum(gy, {0, 1}), 1e-4) == "");
    const Tensor again = grad({run()}, {x}, {.grad_outputs = {gy}, .create_graph = true})[0];
    CHECK(difference(again.detach(), gradients[0], near(out)) == "");
  }
}

TEST_CASE("everything else refuses bfloat16") {
  const Tensor w = ones({2, 2}).to(DType::bfloat16);
  CHECK_THROWS_WITH(
      w + w, "[add] needs float32, float64 or int64 values, got bfloat16. Hint: convert them with to().");
  CHECK(error_of([&] { matmul(w, w); }) != "");
  CHECK_THROWS_WITH(embedding(w, zeros({1}, DType::int64), 2),
                    "[embedding] padding_idx must be a row of the weight (2, 2), got 2.");
  CHECK(error_of([&] { embedding(w, full({1}, 2, DType::int64)); }) != "");
  CHECK_THROWS_WITH(Tensor(w).requires_grad_(), "[requires_grad_] needs floating values, got bfloat16.");
  CHECK_THROWS_WITH(w.at({0, 0}),
                    "[bfloat16] such values are only stored. Hint: convert them with to(DType::float32).");
  CHECK_THROWS_WITH(linear(ones({3}), w),
                    "[linear] needs x (..., in) and weight (out, in), got x (3,) and weight (2, 2).");
  CHECK_THROWS_WITH(linear(ones({2}), w.mT()),
                    "[linear] a bfloat16 weight must be packed, got strides (1, 2).");
}

TEST_CASE("to(q8_0) and to(q4_0) round rows of a matrix, and back is exact") {
  Generator g(5);
  const Tensor x = randn({19, 70}, g);
  for (const auto& [dtype, tolerance] : {std::pair{DType::q8_0, 0.02}, std::pair{DType::q4_0, 0.4}}) {
    const Tensor stored = x.to(dtype), wide = stored.to(DType::float32);
    CHECK(stored.dtype() == dtype);
    CHECK(difference(wide, x, tolerance) == "");
    CHECK(difference(x.mT().contiguous().mT().to(dtype).to(DType::float32), wide, 0) == "");
    CHECK(difference(wide.to(dtype).to(DType::float32), wide, dtype == DType::q8_0 ? 1e-3 : 0.1) == "");
    Tensor copy = zeros({19, 70});
    copy.copy_(stored);
    CHECK(difference(copy, wide, 0) == "");
    CHECK(difference(stored.detach().to(DType::float32), wide, 0) == "");
  }
}

TEST_CASE("linear and embedding take a stored weight as they take its values") {
  Generator g(3);
  for (const DType dtype : {DType::bfloat16, DType::q8_0, DType::q4_0}) {
    const Tensor w = randn({37, 70}, g).to(dtype), wide = w.to(DType::float32), bias = randn({37}, g);
    const Tensor few = randn({2, 70}, g).requires_grad_(), many = randn({3, 4, 70}, g);
    const auto sizes =
        linear(abs(few.detach()), abs(wide)) + 1.0;  // x is rounded to 1 in 254 of its block's largest
    const Tensor apart = abs(linear(few.detach(), w, bias) - linear(few.detach(), wide, bias)) / sizes;
    CHECK(max(apart).item() < (dtype == DType::bfloat16 ? 1e-6 : 0.02));
    CHECK((max(apart).item() > 1e-6) == (dtype != DType::bfloat16));
    CHECK(difference(linear(many, w, bias), linear(many, wide, bias), 1e-5) == "");
    CHECK(difference(linear(many.to(DType::float64), w, bias.to(DType::float64)),
                     linear(many.to(DType::float64), wide.to(DType::float64), bias.to(DType::float64))) ==
          "");
    sum(linear(few, w)).backward();
    CHECK(difference(few.grad(), matmul(ones({2, 37}), wide), 1e-5) == "");
    const Tensor index = i64({36, 0, 17, 36});
    CHECK(difference(embedding(w, index), embedding(wide, index), 0) == "");
  }
}

TEST_CASE("weights of 8 and 4 bits are whole matrices") {
  const Tensor w = ones({4, 40}).to(DType::q8_0);
  CHECK_THROWS_WITH(
      w.mT(),
      "[view] q8_0 values are kept whole, as (4, 40), and have no other view. Hint: convert them with "
      "to(DType::float32).");
  CHECK(error_of([&] { w.slice(0, 1, 2); }) != "");
  CHECK_THROWS_WITH(ones({4}).to(DType::q4_0), "[empty] q4_0 is for matrices, got (4,).");
  CHECK(error_of([&] { w + w; }).starts_with("[add] needs float32, float64 or int64 values, got q8_0."));
  CHECK(error_of([&] { w.item(); }) != "");
  CHECK(error_of([&] { w.at({0, 0}); }).starts_with("[q8_0] such values are only stored."));
}

}  // namespace gradus::test_stored_weights
