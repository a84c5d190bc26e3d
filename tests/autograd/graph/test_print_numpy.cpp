// numpy_string against what NumPy 1.24 prints for the same arrays.

#include "autograd/compare.hpp"

namespace gradus::test_print_numpy {

using namespace gradus::testing;

TEST_CASE("shortest digits, eight at most, aligned at the point") {
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

TEST_CASE("exponents where a fixed point would hide digits") {
  CHECK(numpy_string(f32({1e-5, 1.5, -2})) == "[ 1.0e-05  1.5e+00 -2.0e+00]");
  CHECK(numpy_string(f32({12345678, 1})) == "[1.2345678e+07 1.0000000e+00]");
  CHECK(numpy_string(f32({1.2e8, -1.29736384e8})) == "[ 1.2000000e+08 -1.2973638e+08]");
}

TEST_CASE("lines of numbers are wrapped, long arrays summarised, planes set apart") {
  CHECK(numpy_string(arange(0, 12, 1, DType::float32) / 11.0) ==
        "[0.         0.09090909 0.18181819 0.27272728 0.36363637 0.45454547\n"
        " 0.54545456 0.6363636  0.72727275 0.8181818  0.90909094 1.        ]");
  CHECK(numpy_string(arange(0, 1200).reshape({1, 1200})) == "[[   0    1    2 ... 1197 1198 1199]]");
  CHECK(numpy_string(arange(0, 1200, 100).reshape({2, 2, 3})) ==
        "[[[   0  100  200]\n  [ 300  400  500]]\n\n [[ 600  700  800]\n  [ 900 1000 1100]]]");
}

TEST_CASE("bfloat16 prints as the float32 of its values") {
  const Tensor x = f32({1, 0.1, -2.5, 3}).reshape({2, 2}).to(DType::bfloat16);
  CHECK(numpy_string(x.mT()) == "[[ 1.         -2.5       ]\n [ 0.10009766  3.        ]]");
  CHECK(numpy_string(x.select(0, 0).select(0, 1)) == "0.100097656");
}

TEST_CASE("truth values, and arrays without dimensions") {
  CHECK(numpy_string(eq(f32({1, 0, 0, 0}).reshape({2, 2}), 1.0)) == "[[ True False]\n [False False]]");
  CHECK(numpy_string(f32({0.1}).reshape({})) == "0.1");
  CHECK(numpy_string(f32({87654320}).reshape({})) == "87654320.0");
  CHECK_THROWS_WITH(numpy_string(Tensor()), "[numpy_string] needs a tensor, got an undefined one.");
}

}  // namespace gradus::test_print_numpy
