// rotary_embedding against its definition, and what it is there for.
#include "autograd/by_definition.hpp"
#include "autograd/kernels/vectors.hpp"

namespace gradus::test_ops_rotary_embedding {

using namespace gradus::testing;
using vectors::at_each_level;

TEST_CASE("rotary_embedding agrees with its definition in any layout and at every level") {
  Generator g(3);
  at_each_level([&] {
    for (const int64_t hs : {2, 6, 32, 74})
      for (const int64_t offset : {0, 1, 1000}) {
        INFO("hs " << hs << ", offset " << offset);
        const Tensor x = randn({2, 3, 5, hs}, g, DType::float64);
        for (const Tensor& one : {x, x.transpose(1, 2).contiguous().transpose(1, 2), x.select(0, 0),
                                  x.select(0, 0).select(0, 0), x.unsqueeze(0), x.slice(2, 0, 5, 2),
                                  x.slice(3, 0, hs, hs > 2 ? hs / 2 : 1), x.transpose(0, 1)}) {
          const auto f = [offset](const std::vector<Tensor>& in) {
            return rotary_embedding(in[0], offset, 500.0);
          };
          CHECK(check_by_definition(f, {one}) >= 1);
          CHECK(check_by_definition(f, {one.to(DType::float32)}) >= 1);
        }
      }
  });
}

TEST_CASE("angles that were computed before are used for the same positions only") {
  Generator g(6);
  struct Case {
    int64_t T, hs, offset, base;
  };
  const Case cases[] = {{3, 8, 0, 500}, {7, 8, 0, 500}, {2, 8, 0, 500}, {7, 8, 1, 500},
                        {7, 8, 1, 50},  {7, 6, 1, 50},  {9, 6, 1, 50}};
  for (const auto& c : cases) {
    const auto base = static_cast<double>(c.base);
    INFO("T " << c.T << ", hs " << c.hs << ", offset " << c.offset << ", base " << base);
    const Tensor x = randn({2, c.T, c.hs}, g, DType::float64);
    const Tensor frequencies = rotary_frequencies(c.hs, base);
    const std::vector<Tensor> in{x};
    using In = const std::vector<Tensor>&;
    check_by_definition([&](In v) { return rotary_embedding(v[0], c.offset, base); }, in);
    check_by_definition([&](In v) { return rotary_embedding(v[0], c.offset, frequencies, 0.5); }, in);
    CHECK(check_by_definition([&](In v) { return rotary_embedding(v[0], c.offset, frequencies); }, in) == 1);
  }
}

TEST_CASE("a row has the same bits from any offset, and the input's layout") {
  Generator g(6);
  const Tensor x = randn({2, 9, 3, 8}, g).transpose(1, 2);  // heads inside positions
  const Tensor all = rotary_embedding(x);
  CHECK(all.strides() == x.strides());
  CHECK(rotary_embedding(x.contiguous()).is_contiguous());
  for (const int64_t t : {0, 1, 8})
    CHECK(difference(rotary_embedding(x.slice(2, t, t + 1), t), all.slice(2, t, t + 1), 0) == "");
}

TEST_CASE("rotary_embedding refuses what has no pairs, and angles that are none") {
  for (const Shape& shape : {Shape{2, 3}, Shape{2}, Shape{2, 0}})
    CHECK_THROWS_WITH(rotary_embedding(ones(shape)),
                      concat("[rotary_embedding] needs x (..., T, hs) with an even hs, got ", shape, "."));
  CHECK_THROWS_WITH(rotary_embedding(ones({2, 2}), -1), "[rotary_embedding] offset must be >= 0, got -1.");
  for (const double base : {0.0, -1.0, kInf, kNan})
    CHECK_THROWS_WITH(rotary_embedding(ones({2, 2}), 0, base),
                      concat("[rotary_embedding] base must be a finite number above 0, got ", base, "."));
  CHECK_ERROR(rotary_embedding(zeros({2, 2}, DType::int64)), "needs float32 or float64");
}

}  // namespace gradus::test_ops_rotary_embedding
