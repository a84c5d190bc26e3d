// torch_string() is what PyTorch 1.13 prints for the same tensor, but for some names of ops in grad_fn;
// numpy_string() what NumPy 1.24 prints; operator<< has gradus's own format.
#include "autograd/compare.hpp"

namespace gradus::test_print {

using namespace gradus::testing;

Tensor steps(int64_t n) { return arange(0, static_cast<double>(n), 1, DType::float32); }

TEST_CASE("scalars") {
  CHECK(torch_string(full({}, 1.5)) == "tensor(1.5000)");
  CHECK(torch_string(full({}, 3)) == "tensor(3.)");
  CHECK(torch_string(full({}, 5, DType::int64)) == "tensor(5)");
  CHECK(torch_string(tensor(std::vector<bool>{true}, {})) == "tensor(True)");
  CHECK(torch_string(full({}, 2.5, DType::float64)) == "tensor(2.5000, dtype=torch.float64)");
  CHECK(torch_string(Tensor()) == "tensor(undefined)");
}

TEST_CASE("whole numbers, four digits, or powers of ten: one format for all") {
  CHECK(torch_string(f32({1, 2, 3})) == "tensor([1., 2., 3.])");
  CHECK(torch_string(f32({-1, 2})) == "tensor([-1.,  2.])");
  CHECK(torch_string(f32({1, 2.5, -3})) == "tensor([ 1.0000,  2.5000, -3.0000])");
  CHECK(torch_string(f32({0, 0})) == "tensor([0., 0.])");
  CHECK(torch_string(f32({1e-5F, 1})) == "tensor([1.0000e-05, 1.0000e+00])");
  CHECK(torch_string(f32({1e9F, 1e9F})) == "tensor([1.0000e+09, 1.0000e+09])");
  CHECK(torch_string(f32({123456789.F, 0.5F})) == "tensor([1.2346e+08, 5.0000e-01])");
  CHECK(torch_string(f32({1000, 1})) == "tensor([1000.,    1.])");
  CHECK(torch_string(f32({1001, 1})) == "tensor([1.0010e+03, 1.0000e+00])");
  CHECK(torch_string(f32({99999.5F, 100})) == "tensor([99999.5000,   100.0000])");
  CHECK(torch_string(f32({0.00012F, 0.05F})) == "tensor([0.0001, 0.0500])");
}

TEST_CASE("NaN and infinities do not change the format of the others") {
  CHECK(torch_string(f32({kNan, 1.5, kInf, -kInf})) == "tensor([   nan, 1.5000,    inf,   -inf])");
  CHECK(torch_string(f32({kInf, 1})) == "tensor([inf, 1.])");
  CHECK(torch_string(f32({kNan, kNan})) == "tensor([nan, nan])");
  CHECK(torch_string(f32({1e-8F, 2e3F, 0, kInf})) ==
        "tensor([1.0000e-08, 2.0000e+03, 0.0000e+00,        inf])");
}

TEST_CASE("integers, bools, and nothing") {
  CHECK(torch_string(i64({1, -20, 300})) == "tensor([  1, -20, 300])");
  CHECK(torch_string(i64({9007199254740993})) ==
        "tensor([9007199254740993])");  // more digits than a double has
  CHECK(torch_string(tensor(std::vector<bool>{true, false, false, true}, {2, 2})) ==
        "tensor([[ True, False],\n"
        "        [False,  True]])");
  CHECK(torch_string(zeros({0})) == "tensor([])");
  CHECK(torch_string(zeros({0, 3})) == "tensor([], size=(0, 3))");
  CHECK(torch_string(zeros({0}, DType::int64)) == "tensor([], dtype=torch.int64)");
  CHECK(torch_string(zeros({2, 0}, DType::float64)) == "tensor([], size=(2, 0), dtype=torch.float64)");
}

TEST_CASE("nested brackets and blank lines") {
  CHECK(torch_string(matrix({{1, 2.5, -3}, {100, 0, 0.001F}})) ==
        "tensor([[ 1.0000e+00,  2.5000e+00, -3.0000e+00],\n"
        "        [ 1.0000e+02,  0.0000e+00,  1.0000e-03]])");
  CHECK(torch_string(matrix({{1}, {2}})) == "tensor([[1.],\n        [2.]])");
  CHECK(torch_string(steps(24).reshape({2, 3, 4})) ==
        "tensor([[[ 0.,  1.,  2.,  3.],\n"
        "         [ 4.,  5.,  6.,  7.],\n"
        "         [ 8.,  9., 10., 11.]],\n"
        "\n"
        "        [[12., 13., 14., 15.],\n"
        "         [16., 17., 18., 19.],\n"
        "         [20., 21., 22., 23.]]])");
  CHECK(torch_string(full({2, 2, 1, 2}, 1.5)) ==
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
  CHECK(torch_string(steps(30) / 7) ==
        "tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,\n"
        "        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286,\n"
        "        2.5714, 2.7143, 2.8571, 3.0000, 3.1429, 3.2857, 3.4286, 3.5714, 3.7143,\n"
        "        3.8571, 4.0000, 4.1429])");
}

TEST_CASE("more than a thousand elements are summarised") {
  CHECK(torch_string(arange(0, 1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  CHECK(torch_string(ones({1002}).to(DType::boolean)) ==
        "tensor([True, True, True,  ..., True, True, True])");
  CHECK(torch_string(steps(2000).reshape({2000, 1})) ==
        "tensor([[0.0000e+00],\n"
        "        [1.0000e+00],\n"
        "        [2.0000e+00],\n"
        "        ...,\n"
        "        [1.9970e+03],\n"
        "        [1.9980e+03],\n"
        "        [1.9990e+03]])");
  CHECK(torch_string((steps(2000) / 8).reshape({1000, 2}).mT()) ==
        "tensor([[0.0000e+00, 2.5000e-01, 5.0000e-01,  ..., 2.4925e+02, 2.4950e+02,\n"
        "         2.4975e+02],\n"
        "        [1.2500e-01, 3.7500e-01, 6.2500e-01,  ..., 2.4938e+02, 2.4962e+02,\n"
        "         2.4988e+02]])");
}

TEST_CASE("what follows the numbers") {
  CHECK(torch_string(arange(0, 6, 1, DType::float64).reshape({2, 3}) / 4.0) ==
        "tensor([[0.0000, 0.2500, 0.5000],\n"
        "        [0.7500, 1.0000, 1.2500]], dtype=torch.float64)");
  CHECK(torch_string(arange(0, 18, 1, DType::float64) / 3.0) ==
        "tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333, 2.6667,\n"
        "        3.0000, 3.3333, 3.6667, 4.0000, 4.3333, 4.6667, 5.0000, 5.3333, 5.6667],\n"
        "       dtype=torch.float64)");
  CHECK(torch_string(f32({1, 2}).requires_grad_()) == "tensor([1., 2.], requires_grad=True)");
  CHECK(torch_string(leaf({1, 2}, {2})) == "tensor([1., 2.], dtype=torch.float64, requires_grad=True)");
  CHECK(torch_string(f32({1, 2}).requires_grad_() * 2.0) == "tensor([2., 4.], grad_fn=<MulBackward0>)");
  const Tensor row = f32({1, 2}).requires_grad_();
  CHECK(torch_string(row.select(0, 1)) == "tensor(2., grad_fn=<SelectBackward0>)");
  CHECK(torch_string(stack({row, row}, 0)) ==
        "tensor([[1., 2.],\n        [1., 2.]], grad_fn=<StackBackward0>)");
}

TEST_CASE("the place in the graph has PyTorch's name") {
  const auto place = [](const Tensor& x) {
    const std::string text = torch_string(x);
    const size_t start = text.find('<');
    return start == std::string::npos ? "" : text.substr(start + 1, text.find('>') - start - 1);
  };
  const Tensor x = f32({1, 2}).requires_grad_();
  CHECK(place(x * x) == "MulBackward0");
  const Tensor weight = ones({4, 3}).requires_grad_(), bias = ones({4}).requires_grad_();
  CHECK(place(linear(ones({2, 3}), weight, bias)) == "AddmmBackward0");
  CHECK(place(linear(ones({2, 3}), weight)) == "MmBackward0");
  CHECK(place(linear(ones({5, 2, 3}), weight, bias)) == "ViewBackward0");
  CHECK(place(linear(ones({5, 2, 3}), weight)) == "UnsafeViewBackward0");
  CHECK(place(x).empty());
  CHECK(place(f32({1, 2})).empty());
}

TEST_CASE("the own format has the values, the dtype, the shape and the place in the graph") {
  const auto own = [](const Tensor& x) { return concat(x); };
  CHECK(own(f32({1, 2.5})) == "[1.  2.5]  float32 (2,)");
  CHECK(own(full({}, 0.1, DType::float64)) == "0.1  float64 ()");
  CHECK(own(matrix({{1, -2}, {3, 4}})) == "[[ 1. -2.]\n [ 3.  4.]]  float32 (2, 2)");
  CHECK(own(i64({1, 20})) == "[ 1 20]  int64 (2,)");
  CHECK(own(zeros({0, 3})) == "[]  float32 (0, 3)");
  CHECK(own(f32({1, 2}).requires_grad_()) == "[1. 2.]  float32 (2,), requires grad");
  CHECK(own(f32({1, 2}).requires_grad_() * 2.0) == "[2. 4.]  float32 (2,), from mul");
  CHECK(own(f32({0.1}).reshape({1, 1}).to(DType::bfloat16)) == "[[0.10009766]]  bfloat16 (1, 1)");
  CHECK(own(Tensor()) == "undefined tensor");
}

TEST_CASE("bfloat16 prints its values, of any view") {
  const Tensor x = f32({1, 0.1, -2.5, 3}).reshape({2, 2}).to(DType::bfloat16);
  CHECK(torch_string(x) == "tensor([[ 1.0000,  0.1001],\n        [-2.5000,  3.0000]], dtype=torch.bfloat16)");
  CHECK(torch_string(x.mT()) ==
        "tensor([[ 1.0000, -2.5000],\n        [ 0.1001,  3.0000]], dtype=torch.bfloat16)");
  CHECK(torch_string(x.select(0, 1)) == "tensor([-2.5000,  3.0000], dtype=torch.bfloat16)");
  CHECK(torch_string(zeros({0}).to(DType::bfloat16)) == "tensor([], dtype=torch.bfloat16)");
}

TEST_CASE("numpy_string: shortest digits, eight at most, aligned at the point") {
  CHECK(numpy_string(
            f32({1, 0, 0, 0.551678, 0.44832197, 0, 0.37996718, 0.3097135, 0.31031924}).reshape({3, 3})) ==
        "[[1.         0.         0.        ]\n"
        " [0.551678   0.44832197 0.        ]\n"
        " [0.37996718 0.3097135  0.31031924]]");
  CHECK(numpy_string(f32({0.2899089, -kInf, 0.01864095, 0.018640945})) ==
        "[0.2899089        -inf 0.01864095 0.01864094]");
  CHECK(numpy_string(f64({kNan, -kInf, 1.25})) == "[ nan -inf 1.25]");
  CHECK(numpy_string(f64({1, 2, 3, -4}).reshape({2, 2})) == "[[ 1.  2.]\n [ 3. -4.]]");
  CHECK(numpy_string(f32({0, 0})) == "[0. 0.]");
}

TEST_CASE("numpy_string: exponents where a fixed point would hide digits") {
  CHECK(numpy_string(f32({1e-5, 1.5, -2})) == "[ 1.0e-05  1.5e+00 -2.0e+00]");
  CHECK(numpy_string(f32({12345678, 1})) == "[1.2345678e+07 1.0000000e+00]");
  CHECK(numpy_string(f32({1.2e8, -1.29736384e8})) == "[ 1.2000000e+08 -1.2973638e+08]");
}

TEST_CASE("numpy_string: lines of numbers are wrapped, long arrays summarised, planes set apart") {
  CHECK(numpy_string(arange(0, 12, 1, DType::float32) / 11.0) ==
        "[0.         0.09090909 0.18181819 0.27272728 0.36363637 0.45454547\n"
        " 0.54545456 0.6363636  0.72727275 0.8181818  0.90909094 1.        ]");
  CHECK(numpy_string(arange(0, 1200).reshape({1, 1200})) == "[[   0    1    2 ... 1197 1198 1199]]");
  CHECK(numpy_string(arange(0, 1200, 100).reshape({2, 2, 3})) ==
        "[[[   0  100  200]\n  [ 300  400  500]]\n\n [[ 600  700  800]\n  [ 900 1000 1100]]]");
}

TEST_CASE("numpy_string: bfloat16 prints as the float32 of its values") {
  const Tensor x = f32({1, 0.1, -2.5, 3}).reshape({2, 2}).to(DType::bfloat16);
  CHECK(numpy_string(x.mT()) == "[[ 1.         -2.5       ]\n [ 0.10009766  3.        ]]");
  CHECK(numpy_string(x.select(0, 0).select(0, 1)) == "0.100097656");
}

TEST_CASE("numpy_string: truth values, and arrays without dimensions") {
  CHECK(numpy_string(eq(f32({1, 0, 0, 0}).reshape({2, 2}), 1.0)) == "[[ True False]\n [False False]]");
  CHECK(numpy_string(f32({0.1}).reshape({})) == "0.1");
  CHECK(numpy_string(f32({87654320}).reshape({})) == "87654320.0");
  CHECK_THROWS_WITH(numpy_string(Tensor()), "[numpy_string] needs a tensor, got an undefined one.");
}

}  // namespace gradus::test_print
