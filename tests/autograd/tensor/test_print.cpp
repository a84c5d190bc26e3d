// What operator<< writes is what PyTorch 1.13 prints for the same tensor, but for some names of ops in
// grad_fn.
#include <sstream>

#include "autograd/compare.hpp"
#include "catch.hpp"

using namespace gradus;
using namespace gradus::testing;

namespace {

std::string printed(const Tensor& t) {
  std::ostringstream text;
  text << t;
  return text.str();
}

Tensor steps(int64_t n) { return arange(0, static_cast<double>(n), 1, DType::float32); }

}  // namespace

TEST_CASE("scalars") {
  CHECK(printed(full({}, 1.5)) == "tensor(1.5000)");
  CHECK(printed(full({}, 3)) == "tensor(3.)");
  CHECK(printed(full({}, 5, DType::int64)) == "tensor(5)");
  CHECK(printed(tensor(std::vector<bool>{true}, {})) == "tensor(True)");
  CHECK(printed(full({}, 2.5, DType::float64)) == "tensor(2.5000, dtype=torch.float64)");
  CHECK(printed(Tensor()) == "tensor(undefined)");
}

TEST_CASE("whole numbers, four digits, or powers of ten: one format for all") {
  CHECK(printed(f32({1, 2, 3})) == "tensor([1., 2., 3.])");
  CHECK(printed(f32({-1, 2})) == "tensor([-1.,  2.])");
  CHECK(printed(f32({1, 2.5, -3})) == "tensor([ 1.0000,  2.5000, -3.0000])");
  CHECK(printed(f32({0, 0})) == "tensor([0., 0.])");
  CHECK(printed(f32({1e-5F, 1})) == "tensor([1.0000e-05, 1.0000e+00])");
  CHECK(printed(f32({1e9F, 1e9F})) == "tensor([1.0000e+09, 1.0000e+09])");
  CHECK(printed(f32({123456789.F, 0.5F})) == "tensor([1.2346e+08, 5.0000e-01])");
  CHECK(printed(f32({1000, 1})) == "tensor([1000.,    1.])");
  CHECK(printed(f32({1001, 1})) == "tensor([1.0010e+03, 1.0000e+00])");
  CHECK(printed(f32({99999.5F, 100})) == "tensor([99999.5000,   100.0000])");
  CHECK(printed(f32({0.00012F, 0.05F})) == "tensor([0.0001, 0.0500])");
}

TEST_CASE("NaN and infinities do not change the format of the others") {
  CHECK(printed(f32({kNan, 1.5, kInf, -kInf})) == "tensor([   nan, 1.5000,    inf,   -inf])");
  CHECK(printed(f32({kInf, 1})) == "tensor([inf, 1.])");
  CHECK(printed(f32({kNan, kNan})) == "tensor([nan, nan])");
  CHECK(printed(f32({1e-8F, 2e3F, 0, kInf})) == "tensor([1.0000e-08, 2.0000e+03, 0.0000e+00,        inf])");
}

TEST_CASE("integers and bools") {
  CHECK(printed(i64({1, -20, 300})) == "tensor([  1, -20, 300])");
  CHECK(printed(i64({9007199254740993})) == "tensor([9007199254740993])");  // more digits than a double has
  CHECK(printed(tensor(std::vector<bool>{true, false, false, true}, {2, 2})) ==
        "tensor([[ True, False],\n"
        "        [False,  True]])");
}

TEST_CASE("nothing") {
  CHECK(printed(zeros({0})) == "tensor([])");
  CHECK(printed(zeros({0, 3})) == "tensor([], size=(0, 3))");
  CHECK(printed(zeros({0}, DType::int64)) == "tensor([], dtype=torch.int64)");
  CHECK(printed(zeros({2, 0}, DType::float64)) == "tensor([], size=(2, 0), dtype=torch.float64)");
}

TEST_CASE("nested brackets and blank lines") {
  CHECK(printed(matrix({{1, 2.5, -3}, {100, 0, 0.001F}})) ==
        "tensor([[ 1.0000e+00,  2.5000e+00, -3.0000e+00],\n"
        "        [ 1.0000e+02,  0.0000e+00,  1.0000e-03]])");
  CHECK(printed(matrix({{1}, {2}})) == "tensor([[1.],\n        [2.]])");
  CHECK(printed(steps(24).reshape({2, 3, 4})) ==
        "tensor([[[ 0.,  1.,  2.,  3.],\n"
        "         [ 4.,  5.,  6.,  7.],\n"
        "         [ 8.,  9., 10., 11.]],\n"
        "\n"
        "        [[12., 13., 14., 15.],\n"
        "         [16., 17., 18., 19.],\n"
        "         [20., 21., 22., 23.]]])");
  CHECK(printed(full({2, 2, 1, 2}, 1.5)) ==
        "tensor([[[[1.5000, 1.5000]],\n"
        "\n"
        "         [[1.5000, 1.5000]]],\n"
        "\n"
        "\n"
        "        [[[1.5000, 1.5000]],\n"
        "\n"
        "         [[1.5000, 1.5000]]]])");
}

TEST_CASE("long rows are broken at 80 columns") {
  CHECK(printed(steps(30) / 7) ==
        "tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,\n"
        "        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286,\n"
        "        2.5714, 2.7143, 2.8571, 3.0000, 3.1429, 3.2857, 3.4286, 3.5714, 3.7143,\n"
        "        3.8571, 4.0000, 4.1429])");
}

TEST_CASE("more than a thousand elements are summarised") {
  CHECK(printed(arange(0, 1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  CHECK(printed(ones({1002}).to(DType::boolean)) == "tensor([True, True, True,  ..., True, True, True])");
  CHECK(printed(steps(2000).reshape({2000, 1})) ==
        "tensor([[0.0000e+00],\n"
        "        [1.0000e+00],\n"
        "        [2.0000e+00],\n"
        "        ...,\n"
        "        [1.9970e+03],\n"
        "        [1.9980e+03],\n"
        "        [1.9990e+03]])");
  CHECK(printed((steps(2000) / 8).reshape({1000, 2}).mT()) ==
        "tensor([[0.0000e+00, 2.5000e-01, 5.0000e-01,  ..., 2.4925e+02, 2.4950e+02,\n"
        "         2.4975e+02],\n"
        "        [1.2500e-01, 3.7500e-01, 6.2500e-01,  ..., 2.4938e+02, 2.4962e+02,\n"
        "         2.4988e+02]])");
}

TEST_CASE("what follows the numbers") {
  CHECK(printed(arange(0, 6, 1, DType::float64).reshape({2, 3}) / 4.0) ==
        "tensor([[0.0000, 0.2500, 0.5000],\n"
        "        [0.7500, 1.0000, 1.2500]], dtype=torch.float64)");
  CHECK(printed(arange(0, 18, 1, DType::float64) / 3.0) ==
        "tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333, 2.6667,\n"
        "        3.0000, 3.3333, 3.6667, 4.0000, 4.3333, 4.6667, 5.0000, 5.3333, 5.6667],\n"
        "       dtype=torch.float64)");
  CHECK(printed(f32({1, 2}).requires_grad_()) == "tensor([1., 2.], requires_grad=True)");
  CHECK(printed(leaf({1, 2}, {2})) == "tensor([1., 2.], dtype=torch.float64, requires_grad=True)");
  CHECK(printed(f32({1, 2}).requires_grad_() * 2.0) == "tensor([2., 4.], grad_fn=<MulBackward0>)");
  const Tensor row = f32({1, 2}).requires_grad_();
  CHECK(printed(row.select(0, 1)) == "tensor(2., grad_fn=<SelectBackward0>)");
  CHECK(printed(stack({row, row}, 0)) == "tensor([[1., 2.],\n        [1., 2.]], grad_fn=<StackBackward0>)");
}

TEST_CASE("the place in the graph has PyTorch's name") {
  const Tensor x = f32({1, 2}).requires_grad_();
  CHECK((x * x).grad_fn_name() == "MulBackward0");
  const Tensor weight = ones({4, 3}).requires_grad_(), bias = ones({4}).requires_grad_();
  CHECK(linear(ones({2, 3}), weight, bias).grad_fn_name() == "AddmmBackward0");
  CHECK(linear(ones({2, 3}), weight).grad_fn_name() == "MmBackward0");
  CHECK(linear(ones({5, 2, 3}), weight, bias).grad_fn_name() == "ViewBackward0");
  CHECK(linear(ones({5, 2, 3}), weight).grad_fn_name() == "UnsafeViewBackward0");
  CHECK(x.grad_fn_name().empty());
  CHECK(f32({1, 2}).grad_fn_name().empty());
}

TEST_CASE("bfloat16 prints its values, of any view") {
  const Tensor x = f32({1, 0.1, -2.5, 3}).reshape({2, 2}).to(DType::bfloat16);
  CHECK(printed(x) == "tensor([[ 1.0000,  0.1001],\n        [-2.5000,  3.0000]], dtype=torch.bfloat16)");
  CHECK(printed(x.mT()) == "tensor([[ 1.0000, -2.5000],\n        [ 0.1001,  3.0000]], dtype=torch.bfloat16)");
  CHECK(printed(x.select(0, 1)) == "tensor([-2.5000,  3.0000], dtype=torch.bfloat16)");
  CHECK(printed(zeros({0}).to(DType::bfloat16)) == "tensor([], dtype=torch.bfloat16)");
}

TEST_CASE("views print what they see") {
  const Tensor x = steps(12).reshape({3, 4});
  CHECK(printed(x.mT().slice(0, 1, 4, 2)) == "tensor([[ 1.,  5.,  9.],\n        [ 3.,  7., 11.]])");
  CHECK(printed(x.select(1, 2).unsqueeze(0).expand({2, 3})) ==
        "tensor([[ 2.,  6., 10.],\n        [ 2.,  6., 10.]])");
}
