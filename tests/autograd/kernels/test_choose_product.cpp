// choose_product(), row by row, on both sides of each limit.
#include "gradus/autograd/kernels/blas/choose_product.hpp"

#include "catch.hpp"
#include "vectors.hpp"

namespace gradus::kernels::test_choose_product {

ProductCode in_attention(int64_t queries, bool a_transposed = false) {
  return choose_product(
      {.m = queries, .n = 256, .k = 64, .a_transposed = a_transposed, .place = ProductPlace::attention});
}

TEST_CASE("a stored weight comes before Autocast for few rows, and Autocast before the sizes",
          "[choose_product]") {
  using enum ProductCode;
  ProductTraits p{.m = 1, .n = 1, .k = 1, .rounded = true, .weight = WeightFormat::tiles};
  CHECK(choose_product(p) == quantized_linear);
  p.weight = WeightFormat::bfloat16;
  CHECK(choose_product(p) == linear_few_rows);
  p.m = 8;
  CHECK(choose_product(p) == linear_few_rows);
  p.m = 9;
  CHECK(choose_product(p) == multiply_bf16);
  p.weight = WeightFormat::tiles;
  CHECK(choose_product(p) == multiply_bf16);
  p.rounded = false;
  CHECK(choose_product(p) == quantized_linear);
  p.rounded = true;
  p.weight = WeightFormat::as_x;
  p.place = ProductPlace::attention;
  CHECK(choose_product(p) == multiply_bf16);
}

TEST_CASE("attention takes loops from four queries on, and wherever scores are transposed",
          "[choose_product]") {
  using enum ProductCode;
  CHECK(in_attention(4) == attention_loops);
  CHECK(in_attention(3) == gemm);
  CHECK(in_attention(1) == gemv);
  CHECK(in_attention(1, true) == attention_loops);
}

TEST_CASE("tiny products are plain dots, one row or column is gemv's, and few rows belong to linear layers",
          "[choose_product]") {
  using enum ProductCode;
  CHECK(choose_product({.m = 1, .n = 100, .k = 100}) == gemv);
  CHECK(choose_product({.m = 100, .n = 1, .k = 100}) == gemv);
  CHECK(choose_product({.m = 2, .n = 2, .k = 100}) == gemm);
  CHECK(choose_product({.m = 3, .n = 7, .k = 19}) == plain_dots);
  CHECK(choose_product({.m = 4, .n = 10, .k = 10}) == gemm);
  CHECK(choose_product({.m = 1, .n = 400, .k = 1}) == gemv);
  CHECK(choose_product({.m = 2, .n = 2, .k = 0}) == plain_dots);
  CHECK(choose_product({.m = 1, .n = 3, .k = 5, .place = ProductPlace::linear}) == plain_dots);
  CHECK(choose_product({.m = 8, .n = 100, .k = 1 << 15, .place = ProductPlace::linear}) == linear_few_rows);
  CHECK(choose_product({.m = 8, .n = 100, .k = (1 << 15) + 1, .place = ProductPlace::linear}) == gemm);
  CHECK(choose_product({.m = 9, .n = 100, .k = 100, .place = ProductPlace::linear}) == gemm);
}

TEST_CASE("large products leave BLAS with AVX-512 only", "[choose_product][needs.fast]") {
  using enum ProductCode;
  vectors::at_each_level([] {
    const ProductCode large = isa_name(isa_in_use()) == "v4" ? multiply_floats : gemm;
    CHECK(choose_product({.m = 64, .n = 64, .k = 128}) == large);
    CHECK(choose_product({.m = 64, .n = 64, .k = 127}) == gemm);
    CHECK(choose_product({.m = 15, .n = 512, .k = 512}) == gemm);
    CHECK(choose_product({.m = 512, .n = 15, .k = 512}) == gemm);
    CHECK(choose_product({.m = 512, .n = 512, .k = 15}) == gemm);
    CHECK(choose_product({.m = 128, .n = 64, .k = 128, .b_transposed = true}) == large);
    CHECK(choose_product({.m = 127, .n = 64, .k = 128, .b_transposed = true}) == gemm);
    CHECK(choose_product({.m = 512, .n = 32, .k = 128, .a_transposed = true}) == large);
    CHECK(choose_product({.m = 512, .n = 31, .k = 128, .a_transposed = true}) == gemm);
  });
}

}  // namespace gradus::kernels::test_choose_product
