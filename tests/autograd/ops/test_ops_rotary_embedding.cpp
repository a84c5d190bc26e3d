// rotary_embedding against complex numbers, and what it is there for.
#include <complex>

#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"

namespace gradus::test_ops_rotary_embedding {

using namespace gradus::testing;
using vectors::at_each_level;

/// Features i and i + hs / 2 are a complex number, times e^(i angle). x: (..., T, hs), any layout.
Tensor by_definition(const Tensor& x, int64_t offset, double base) {
  const int64_t T = x.size(-2), hs = x.size(-1), half = hs / 2;
  std::vector<double> values = x.to(DType::float64).to_vector<double>();
  for (size_t row = 0; row * static_cast<size_t>(hs) < values.size(); ++row)
    for (int64_t i = 0; i < half; ++i) {
      const double position = static_cast<double>(offset + static_cast<int64_t>(row) % T);
      const double angle = position * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(hs));
      double& a = values[row * static_cast<size_t>(hs) + static_cast<size_t>(i)];
      double& b = values[row * static_cast<size_t>(hs) + static_cast<size_t>(i + half)];
      const std::complex<double> turned = std::complex<double>(a, b) * std::polar(1.0, angle);
      a = turned.real();
      b = turned.imag();
    }
  return tensor(values, x.shape());
}

TEST_CASE("rotary_embedding is a product of complex numbers, in any layout and at every level") {
  Generator g(3);
  at_each_level([&] {
    for (const int64_t hs : {2, 6, 32, 74})
      for (const int64_t offset : {0, 1, 1000}) {
        INFO("hs " << hs << ", offset " << offset);
        const Tensor x = randn({2, 3, 5, hs}, g, DType::float64);
        for (const Tensor& one : {x, x.transpose(1, 2).contiguous().transpose(1, 2), x.select(0, 0),
                                  x.select(0, 0).select(0, 0), x.unsqueeze(0), x.slice(2, 0, 5, 2),
                                  x.slice(3, 0, hs, hs > 2 ? hs / 2 : 1), x.transpose(0, 1)}) {
          const Tensor expected = by_definition(one, offset, 500.0);
          CHECK(difference(rotary_embedding(one, offset, 500.0), expected) == "");
          CHECK(difference(rotary_embedding(one.to(DType::float32), offset, 500.0).to(DType::float64),
                           expected, 1e-6) == "");
        }
      }
  });
}

TEST_CASE("angles that were computed before are used for the same positions only") {
  Generator g(6);
  for (const auto& [T, hs, offset, base] : {std::tuple<int64_t, int64_t, int64_t, double>{3, 8, 0, 500.0},
                                            {7, 8, 0, 500.0},
                                            {2, 8, 0, 500.0},
                                            {7, 8, 1, 500.0},
                                            {7, 8, 1, 50.0},
                                            {7, 6, 1, 50.0},
                                            {9, 6, 1, 50.0}}) {
    INFO("T " << T << ", hs " << hs << ", offset " << offset << ", base " << base);
    const Tensor x = randn({2, T, hs}, g, DType::float64);
    const Tensor expected = by_definition(x, offset, base), frequencies = rotary_frequencies(hs, base);
    CHECK(difference(rotary_embedding(x, offset, base), expected) == "");
    CHECK(difference(rotary_embedding(x, offset, frequencies, 0.5), expected * 0.5) == "");
    CHECK(difference(rotary_embedding(x, offset, frequencies), expected) == "");
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
