// Tensor's own values: making, reading, writing, converting.
#include "autograd/compare.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/graph/hooks.hpp"

namespace gradus::test_tensor {

using namespace gradus::testing;

TEST_CASE("an element of a shape has an index") {
  CHECK(Shape{2, 3}.index_of(5) == Shape{1, 2});
  CHECK(Shape{2, 3, 4}.index_of(13) == Shape{1, 0, 1});
  CHECK(Shape{}.index_of(0) == Shape{});
}

TEST_CASE("a shape has at most 2^56 elements, with sizes of 0 counted as 1") {
  const int64_t most = kMaxElements;
  const Tensor x = zeros({0, most / 4, 4});
  CHECK(x.numel() == 0);
  CHECK(x.is_contiguous());
  CHECK(x.transpose(0, 2).shape() == Shape{4, most / 4, 0});
  CHECK(x.reshape({most, 0}).shape() == Shape{most, 0});
  const Tensor one = full({1}, 7), most_of_all = one.expand({most});
  CHECK(most_of_all.numel() == most);
  CHECK(most_of_all.reshape({most / 2, 2}).slice(0, most / 2 - 1, most).to_vector<float>() ==
        std::vector<float>{7, 7});

  const std::string told =
      "a tensor must have at most 2^56 elements, with sizes of 0 counted as 1, got shape (";
  for (const Shape& shape : {Shape{most / 4, 5, 0}, Shape{0, most + 1}, Shape{most * 64, 4}, Shape{most, 256},
                             Shape{most * 64 + 1, 4}}) {  // the last two have 0 and 4 elements in 64 bits
    INFO(shape);
    CHECK_ERROR(empty(shape), "[empty] " + told);
    CHECK_ERROR(x.reshape(shape), "[reshape] " + told);
    CHECK_ERROR(ones({4}).reshape(shape), "[reshape] " + told);
    CHECK_ERROR(ones({1, 1}).expand(Shape{1, 1, 1}).expand(shape), "[e");
  }
  CHECK_ERROR(one.expand({2, most}), "[expand] " + told);
  CHECK_ERROR(tensor(std::vector<float>{1, 2, 3, 4}, {most * 64 + 1, 4}), told);
  CHECK_ERROR(cat(std::vector<Tensor>(128, most_of_all), 0), "[cat] " + told);
  CHECK_ERROR(arange(0, 1e30), "[arange]");
}

TEST_CASE("makers give what they say") {
  CHECK(difference(zeros({2, 2}), matrix({{0, 0}, {0, 0}})) == "");
  CHECK(difference(ones({2}, DType::int64), i64({1, 1})) == "");
  CHECK(difference(full({2}, 2.5, DType::float64), f64({2.5, 2.5})) == "");
  CHECK(difference(eye(3), matrix({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})) == "");
  CHECK(difference(arange(2, 5), i64({2, 3, 4})) == "");
  CHECK(difference(arange(1, 0, -0.25, DType::float64), f64({1, 0.75, 0.5, 0.25})) == "");
  CHECK(arange(3, 3).numel() == 0);
  CHECK(difference(matrix({{1, 2, 3}, {4, 5, 6}}), tensor(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3})) ==
        "");
  CHECK(empty({3, 4}).shape() == Shape{3, 4});
  CHECK(empty({}).numel() == 1);
  CHECK(empty({2, 0, 3}).numel() == 0);
}

TEST_CASE("makers refuse what cannot be") {
  CHECK_ERROR(tensor(std::vector<double>{1, 2, 3}, {2, 2}), "[tensor] shape (2, 2) holds 4 values, got 3");
  CHECK_ERROR(matrix({{1, 2}, {3}}), "[matrix]");
  CHECK_ERROR(empty({2, -1}), "must not be negative, got (2, -1)");
  CHECK_ERROR(empty({int64_t{1} << 40, int64_t{1} << 40}), "at most 2^56 elements");
  CHECK_ERROR(arange(0, 1, -1), "[arange]");
  CHECK_ERROR(arange(0, 1, 0), "[arange]");
  CHECK_ERROR(arange(0, 1, 0.25), "int64 numbers need a whole start and step, got 0 and 0.25");
  CHECK(arange(0, 2.5).numel() == 3);
  CHECK_ERROR(Shape(std::vector<int64_t>(9, 1)), "9");
}

TEST_CASE("size, numel, strides, and the alignment of storage") {
  const Tensor x = zeros({2, 3, 4});
  CHECK(x.dim() == 3);
  CHECK(x.size(0) == 2);
  CHECK(x.size(-1) == 4);
  CHECK(x.numel() == 24);
  CHECK(x.strides() == Shape{12, 4, 1});
  CHECK(x.is_contiguous());
  CHECK_FALSE(x.mT().is_contiguous());
  CHECK_ERROR(x.size(3), "3");
  CHECK_ERROR(x.size(-4), "-4");
  CHECK_ERROR(full({}, 1).size(0), "[size]");
  CHECK_ERROR(Tensor().shape(), "defined tensor");
  for (const int64_t n : {1, 3, 100, 1000, 1 << 20})
    CHECK(reinterpret_cast<uintptr_t>(empty({n}).raw_data()) % 64 == 0);
}

TEST_CASE("item and at read single elements") {
  const Tensor x = matrix({{1, 2, 3}, {4, 5, 6}});
  CHECK(x.at({1, 2}) == 6);
  CHECK(x.at({-1, 0}) == 4);
  CHECK(x.mT().at({2, 0}) == 3);
  CHECK(full({1, 1}, 7, DType::int64).item() == 7);
  CHECK(tensor(std::vector<bool>{true}, {}).item() == 1);
  CHECK_ERROR(x.item(), "needs a tensor of one element, got shape (2, 3)");
  CHECK_ERROR(x.at({0, 3}), "outside shape (2, 3)");
  CHECK_ERROR(x.at({0}), "needs 2 indices");
}

TEST_CASE("data and to_vector insist on the dtype") {
  const Tensor x = matrix({{1, 2}, {3, 4}});
  CHECK(x.data<float>()[3] == 4);
  CHECK(x.mT().to_vector<float>() == std::vector<float>{1, 3, 2, 4});
  CHECK(tensor(std::vector<bool>{true, false}, {2}).to_vector<bool>() == std::vector<bool>{true, false});
  CHECK_ERROR(x.data<double>(), "the tensor holds float32, asked for float64");
  CHECK_ERROR(x.to_vector<int64_t>(), "asked for int64");
}

TEST_CASE("handles share values, contiguous copies do not") {
  Tensor x = matrix({{1, 2}, {3, 4}});
  Tensor same = x, row = x.select(0, 1), copy = x.mT().contiguous();
  same.mutable_data<float>()[0] = 10;
  row.fill_(7);
  CHECK(difference(x, matrix({{10, 2}, {7, 7}})) == "");
  CHECK(difference(copy, matrix({{1, 3}, {2, 4}})) == "");
  CHECK(x.contiguous().raw_data() == x.raw_data());
}

TEST_CASE("copy_ broadcasts and converts") {
  Tensor x = zeros({2, 3});
  x.copy_(f64({1, 2, 3}));
  CHECK(difference(x, matrix({{1, 2, 3}, {1, 2, 3}})) == "");
  Tensor column = x.slice(1, 1, 2);
  column.copy_(i64({8}));
  CHECK(difference(x, matrix({{1, 8, 3}, {1, 8, 3}})) == "");
  CHECK_ERROR(x.copy_(zeros({4})), "[copy_]");
  CHECK_ERROR(x.copy_(zeros({2, 2, 3})), "[copy_]");
}

TEST_CASE("to converts as C++ does, bool by comparing with 0") {
  const Tensor x = f64({-1.7, 0, 2.9});
  CHECK(difference(x.to(DType::int64), i64({-1, 0, 2})) == "");
  CHECK(difference(x.to(DType::boolean), tensor(std::vector<bool>{true, false, true}, {3})) == "");
  CHECK(difference(x.to(DType::boolean).to(DType::float64), f64({1, 0, 1})) == "");
  CHECK(x.to(DType::float32).dtype() == DType::float32);
  CHECK(x.to(DType::float64).raw_data() == x.raw_data());
}

TEST_CASE("only floating leaves can require gradients") {
  CHECK_ERROR(i64({1}).requires_grad_(), "needs floating values, got int64");
  const Tensor x = leaf({1, 2}, {2});
  CHECK(x.requires_grad());
  CHECK_FALSE(x.detach().requires_grad());
  Tensor y = x * 2.0;
  CHECK(y.requires_grad());
  CHECK_ERROR(y.requires_grad_(false), "needs a leaf, got the result of mul");
  Tensor z = leaf({1}, {1});
  z.requires_grad_(false);
  CHECK_FALSE(z.requires_grad());
}

TEST_CASE("copy_ reads all before it writes, and refuses elements that share memory") {
  Tensor x = f64({1, 2, 3, 4, 5});
  x.slice(0, 1, 5).copy_(x.slice(0, 0, 4));
  CHECK(difference(x, f64({1, 1, 2, 3, 4})) == "");
  Tensor m = f64({1, 2, 3, 4}, {2, 2});
  m.copy_(m.mT());
  CHECK(difference(m, f64({1, 3, 2, 4}, {2, 2})) == "");
  m.slice(1, 0, 1).expand({2, 2}).fill_(7);  // one value for all
  CHECK(difference(m, f64({7, 3, 7, 4}, {2, 2})) == "");
  Tensor expanded = zeros({1}, DType::float64).expand({2});
  CHECK_ERROR(expanded.copy_(ones({2}, DType::float64)),
              "[copy_] elements of the target must not share memory");
  Tensor windows = view_of(zeros({4}, DType::float64), {3, 2}, {1, 1}, 0);
  CHECK_THROWS_AS(windows.copy_(ones({3, 2})), Error);
  CHECK_ERROR(view_of(windows, {4}, {1}, 1), "must be within the 4 elements of its storage");
  CHECK_ERROR(view_of(windows, {2}, {1}, -1), "must be within");
}

TEST_CASE("values of recorded results are not overwritten, and gradients are not dropped") {
  Tensor x = leaf({1, 2}, {2}), y = x * 2.0;
  CHECK_ERROR(y.fill_(0), "[fill_] writes are not recorded, and this tensor is a recorded result");
  CHECK_ERROR(x.slice(0, 0, 1).copy_(f64({1})), "[copy_] writes are not recorded");
  CHECK_ERROR(f64({0, 0}).copy_(y), "and the source requires a gradient");
  x.copy_(y.detach());
  const NoGrad none;
  y.fill_(3);
  x.copy_(y);
  CHECK(difference(x.detach(), f64({3, 3})) == "");
}

TEST_CASE("a leaf keeps its gradient, hooks and graph while it is frozen") {
  Tensor x = leaf({1, 2}, {2});
  int calls = 0;
  x.register_hook([&](const Tensor&) { ++calls; });
  sum(x * 2.0).backward();
  const Tensor y = x * 3.0;
  x.requires_grad_(false);
  CHECK_FALSE(x.requires_grad());
  CHECK_FALSE((x * 2.0).requires_grad());
  CHECK_FALSE(checkpoint([](const Tensor& v) { return v * 2.0; }, x).requires_grad());
  CHECK(difference(x.grad(), f64({2, 2})) == "");
  x.requires_grad_();
  sum(y).backward();
  CHECK(difference(x.grad(), f64({5, 5})) == "");
  CHECK(calls == 2);
}

TEST_CASE("set_grad and zero_grad") {
  Tensor x = leaf({1, 2}, {2});
  CHECK_FALSE(x.grad().defined());
  x.set_grad(f64({3, 4}));
  CHECK(difference(x.grad(), f64({3, 4})) == "");
  CHECK_ERROR(x.set_grad(f64({3})), "needs float64 (2,), got float64 (1,)");
  CHECK_ERROR(x.set_grad(ones({2})), "got float32");
  x.set_grad(zeros({1}, DType::float64).expand({2}));
  Tensor y = leaf({0, 0}, {2});
  y.set_grad(x.grad());
  sum(x * f64({1, 2})).backward();
  CHECK(difference(x.grad(), f64({1, 2})) == "");
  CHECK(difference(y.grad(), f64({0, 0})) == "");
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
  CHECK_ERROR(f64({1}).set_grad(f64({1})), "leaf that requires a gradient");
}

}  // namespace gradus::test_tensor
