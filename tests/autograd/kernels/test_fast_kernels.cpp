// What a build without the annex fast refuses.
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"

#include "catch.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::test_fast_kernels {

TEST_CASE("a kernel that the build lacks is refused by the name of the option") {
  int64_t (*missing)() = nullptr;
  CHECK_ERROR(kernels::needed(missing, "linear", "q8_0"),
              "[linear] q8_0 needs a build with GRADUS_FAST=ON, got one with GRADUS_FAST=OFF.");
  missing = [] { return int64_t{3}; };
  CHECK(kernels::needed(missing, "linear", "q8_0")() == 3);
}

TEST_CASE("without the annex, bfloat16 and weights that are only stored are refused") {
  const bool is_there = kernels::fast_kernels().stored_linear;
  const Tensor x = ones({2, 32});
  const auto check = [&](auto f) {
    if (is_there)
      CHECK_NOTHROW(f());
    else
      CHECK_ERROR(f(), "GRADUS_FAST=ON");
  };
  check([] { const Autocast on(DType::bfloat16); });
  check([&] { x.to(DType::q8_0); });
  check([&] { x.to(DType::q4_0); });
  check([&] { linear(x, x.to(DType::bfloat16)); });
  CHECK(linear(x, x).at({1, 1}) == 32);
}

}  // namespace gradus::test_fast_kernels
