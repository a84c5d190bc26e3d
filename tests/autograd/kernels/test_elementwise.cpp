// Elementwise kernels of two and more operands: values, strides, broadcasting, special numbers, threads.
#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/reference/table.hpp"
#include "gradus/autograd/tensor/raw.hpp"
#include "plain.hpp"

namespace test_elementwise {

namespace reference = gradus::reference;
using gradus::Shape;
using gradus::Tensor;
using gradus::kernels::Binary;
using gradus::kernels::Loop;
using gradus::kernels::Unary;
using namespace vectors;

// Each operation's definition, in the order of the enum; slopes times the gradient of the result.
using plain::Exact;
using plain::Real;
using plain::WithSlope;
template <plain::Dual (*f)(plain::Dual)>
Real gradient(Real a, Real b) {
  return a * plain::slope<f>(b);
}
Real (*const kFormulas[])(Real a, Real b) = {
    Exact::add,
    Exact::sub,
    Exact::mul,
    Exact::div,
    Exact::power,
    Exact::maximum,
    Exact::minimum,
    gradient<WithSlope::relu>,
    gradient<WithSlope::gelu>,
    gradient<WithSlope::gelu_tanh>,
    gradient<WithSlope::silu>,
    gradient<WithSlope::mish>,
    [](Real a, Real y) { return a * (1 - y * y); },  // tanh_grad
    [](Real a, Real y) { return a * y * (1 - y); },  // sigmoid_grad
};
static_assert(std::size(kFormulas) == static_cast<size_t>(Binary::count));

/// Pairs of operands: packed, one value, a row, a column, transposed, every third element.
std::vector<std::pair<Tensor, Tensor>> operands(gradus::DType dtype) {
  gradus::Generator g(1);
  const auto draw = [&](const Shape& shape) {
    return gradus::uniform(shape, -4, 4, g, gradus::DType::float64).to(dtype);
  };
  std::vector<std::pair<Tensor, Tensor>> all = {
      {draw({}), draw({})},
      {draw({0}), draw({})},
      {draw({3, 0, 2}), draw({3, 0, 2})},
      {draw({9, 33}), draw({33})},
      {draw({9, 1}), draw({9, 33})},
      {draw({33, 9}).mT(), draw({9, 33})},
      {draw({9, 33}), draw({33, 9}).mT()},
      {draw({5, 3, 4}).permute({1, 2, 0}), draw({4, 5})},
      {draw({2, 2, 2, 2, 2, 2, 2, 2}).permute({7, 6, 5, 4, 3, 2, 1, 0}), draw({2, 1, 2, 1, 2, 1, 2})}};
  for (const int64_t n : kSizes) {
    const Tensor x = draw({n}), one = draw({1}), apart = draw({3 * n}).slice(0, 0, 3 * n, 3);
    for (const auto& [left, right] : {std::pair{x, apart}, {apart, x}, {one, x}, {x, one}, {x, x}})
      all.emplace_back(left, right);
  }
  return all;
}

reference::Array<Real> exact(const Tensor& x) {
  const auto values = reference::array_of<double>(x);
  reference::Array<Real> all(values.shape);
  std::copy(values.data.begin(), values.data.end(), all.data.begin());
  return all;
}

TEMPLATE_TEST_CASE("binary kernels agree with their definitions for any strides", "[elementwise]", float,
                   double) {
  at_each_level([&] {
    for (int op = 0; op < static_cast<int>(Binary::count); ++op)
      for (const auto& [a, b] : operands(gradus::dtype_of<TestType>)) {
        INFO("op " << op << ", " << a.shape() << " " << a.strides() << " and " << b.shape());
        const auto want = each(exact(a), exact(b), kFormulas[op]);
        const auto at = [&](int64_t i) { return static_cast<TestType>(want[i]); };
        check_near(gradus::raw::binary(Binary{op}, a, b).template to_vector<TestType>(), at);
      }
  });
}

TEMPLATE_TEST_CASE("unary kernels give a strided element the bits of a packed one", "[elementwise]", float,
                   double) {
  at_each_level([&] {
    for (const auto& [x, other] : operands(gradus::dtype_of<TestType>)) {
      const auto f = [](const Tensor& t) {
        return gradus::raw::unary(Unary::gelu_tanh, t).template to_vector<TestType>();
      };
      CHECK(same_bits(f(x), f(x.contiguous())));
    }
  });
}

TEMPLATE_TEST_CASE("binary kernels at NaN, infinities and zeros", "[elementwise]", float, double) {
  const auto inf = static_cast<TestType>(kInf), nan = static_cast<TestType>(kNaN);
  const auto value = [](Binary op, TestType a, TestType b) {
    TestType out;
    gradus::kernels::binary(op, packed<3>(1), &out, &a, &b);
    return out;
  };
  at_each_level([&] {
    for (const Binary op : {Binary::maximum, Binary::minimum, Binary::add, Binary::mul, Binary::pow}) {
      CHECK(std::isnan(value(op, nan, 2)));
      CHECK(std::isnan(value(op, 2, nan)));
    }
    CHECK(value(Binary::maximum, -inf, 1) == 1);
    CHECK(value(Binary::minimum, -inf, 1) == -inf);
    CHECK(value(Binary::div, 1, 0) == inf);
    CHECK(value(Binary::pow, nan, 0) == 1);
    CHECK(value(Binary::relu_grad, 5, 0) == 0);
    CHECK(value(Binary::relu_grad, 5, inf) == 5);
    for (const Binary op : {Binary::gelu_grad, Binary::gelu_tanh_grad, Binary::silu_grad})
      CHECK(std::isnan(value(op, 3, nan)));
  });
}

TEST_CASE("binary kernels of integers wrap around", "[elementwise]") {
  const int64_t largest = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> a = {5, -7, largest, 1}, b = {3, 4, 1, -largest};
  const struct {
    Binary op;
    std::vector<int64_t> want;
  } cases[] = {{Binary::add, {8, -3, -largest - 1, 1 - largest}},
               {Binary::sub, {2, -11, largest - 1, -largest - 1}},
               {Binary::mul, {15, -28, largest, -largest}},
               {Binary::maximum, {5, 4, largest, 1}},
               {Binary::minimum, {3, -7, 1, -largest}}};
  for (const auto& c : cases) {
    std::vector<int64_t> out(4);
    gradus::kernels::binary(c.op, packed<3>(4), out.data(), a.data(), b.data());
    CHECK(out == c.want);
  }
}

TEMPLATE_TEST_CASE("where, masked_fill and clamp", "[elementwise]", float, double) {
  const auto nan = static_cast<TestType>(kNaN);
  const std::vector<TestType> a = {1, 2, 3, nan, 0}, b = {2, 2, 2, 2, static_cast<TestType>(-0.0)};
  const bool mask[] = {true, false, true, true, false};
  std::vector<TestType> out(5);
  gradus::kernels::where(packed<4>(5), out.data(), mask, a.data(), b.data());
  CHECK(same_bits(out, {1, 2, 3, nan, static_cast<TestType>(-0.0)}));
  gradus::kernels::masked_fill(packed<3>(5), out.data(), a.data(), mask, TestType{9});
  CHECK(same_bits(out, {9, 2, 9, 9, 0}));
  gradus::kernels::clamp(packed<2>(5), out.data(), a.data(), TestType{1.5}, TestType{2.5});
  CHECK(same_bits(out, {1.5, 2, 2.5, nan, 1.5}));
  gradus::kernels::clamp(packed<2>(5), out.data(), a.data(), TestType{4}, TestType{-4});
  CHECK(same_bits(out, {-4, -4, -4, nan, -4}));
}

TEST_CASE("convert between every pair of types", "[elementwise]") {
  const auto converted = []<class S, class T>(std::vector<S> x, std::vector<T> want) {
    std::vector<T> y(x.size());
    gradus::kernels::convert(packed<2>(static_cast<int64_t>(x.size())), y.data(), x.data());
    CHECK(same_bits(y, want));
  };
  const int64_t smallest = std::numeric_limits<int64_t>::min();
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  converted(std::vector<double>{0.1, -1e300}, std::vector<float>{0.1F, -inf});
  converted(std::vector<float>{0.1F}, std::vector<double>{0.1F});
  converted(std::vector<float>{1.9F, -1.9F, nan, inf, 1e30F},
            std::vector<int64_t>{1, -1, smallest, smallest, smallest});
  converted(std::vector<int64_t>{3, -4}, std::vector<float>{3, -4});
  converted(std::vector<int64_t>{3, -4}, std::vector<double>{3, -4});
  const float floats[] = {0, -0.0F, 0.5F, nan};
  bool bools[4];
  gradus::kernels::convert(packed<2>(4), bools, floats);
  CHECK((!bools[0] && !bools[1] && bools[2] && bools[3]));
  std::vector<int64_t> integers(4);
  gradus::kernels::convert(packed<2>(4), integers.data(), bools);
  CHECK(integers == std::vector<int64_t>{0, 0, 1, 1});

  // A transposed copy.
  Loop<2> loop;
  loop.dims = 2;
  loop.size[0] = 37, loop.size[1] = 70;
  loop.stride[0][0] = 70, loop.stride[0][1] = 1;
  loop.stride[1][0] = 1, loop.stride[1][1] = 37;
  const auto x = values<float>(37 * 70);
  std::vector<float> y(x.size());
  gradus::kernels::convert(loop, y.data(), x.data());
  check_near(
      y, [&](int64_t i) { return x[i % 70 * 37 + i / 70]; }, 0);
}

uint16_t bits_of(float x) {
  gradus::bfloat16 rounded{};
  gradus::kernels::to_bfloat16(1, &rounded, &x);
  return rounded.bits;
}

TEST_CASE("bfloat16 is the nearest of 16 bits, the even one at half") {
  CHECK(bits_of(1.0F) == 0x3F80);
  CHECK(bits_of(-2.5F) == 0xC020);
  CHECK(bits_of(1.0F + 0x1p-8F) == 0x3F80);             // half way: down to the even one
  CHECK(bits_of(1.0F + 0x3p-8F) == 0x3F82);             // half way: up to the even one
  CHECK(bits_of(1.0F + 0x1p-8F + 0x1p-20F) == 0x3F81);  // above half
  CHECK(bits_of(-0.0F) == 0x8000);
  CHECK(bits_of(0x1p-133F) == 0x0001);  // subnormal
  CHECK(bits_of(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(bits_of(std::numeric_limits<float>::infinity()) == 0x7F80);
  const uint32_t nan_that_would_round_to_infinity = 0x7F800001;
  CHECK(bits_of(std::bit_cast<float>(nan_that_would_round_to_infinity)) > 0x7F80);
}

TEST_CASE("every value of 16 bits comes back as it was") {
  std::vector<gradus::bfloat16> all(0x10000), back(all.size());
  std::vector<float> wide(all.size());
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<uint16_t>(i);
  gradus::kernels::from_bfloat16(static_cast<int64_t>(all.size()), wide.data(), all.data());
  gradus::kernels::to_bfloat16(static_cast<int64_t>(all.size()), back.data(), wide.data());
  int wrong = 0;
  for (size_t i = 0; i < all.size(); ++i)
    wrong += std::isnan(wide[i]) ? !std::isnan(plain::number(back[i])) : back[i].bits != all[i].bits;
  CHECK(wrong == 0);
}

TEST_CASE("loops coalesce what one stride can walk", "[elementwise]") {
  Loop<2> loop;
  loop.dims = 4;
  const int64_t size[] = {2, 1, 3, 4}, out[] = {12, 5, 4, 1}, x[] = {0, 7, 8, 2};
  for (int d = 0; d < 4; ++d) loop.size[d] = size[d], loop.stride[0][d] = out[d], loop.stride[1][d] = x[d];
  loop.coalesce();
  CHECK(loop.dims == 2);
  CHECK(std::vector<int64_t>(loop.size, loop.size + 2) == std::vector<int64_t>{2, 12});
  CHECK(std::vector<int64_t>(loop.stride[0], loop.stride[0] + 2) == std::vector<int64_t>{12, 1});
  CHECK(std::vector<int64_t>(loop.stride[1], loop.stride[1] + 2) == std::vector<int64_t>{0, 2});
  CHECK(loop.numel() == 24);
}

TEST_CASE("elementwise kernels give the same bits for any number of threads", "[elementwise]") {
  const int64_t n = 100'003;
  const auto a = values<float>(n, 3, 1), b = values<float>(n, 3, 2);
  const auto run = [&](int threads) {
    const Threads guard(threads);
    std::vector<float> all;
    for (const Binary op : {Binary::add, Binary::pow, Binary::gelu_tanh_grad}) {
      std::vector<float> out(n);
      gradus::kernels::binary(op, packed<3>(n), out.data(), a.data(), b.data());
      all.insert(all.end(), out.begin(), out.end());
    }
    return all;
  };
  at_each_level([&] { CHECK(same_bits(run(1), run(2))); });
}

}  // namespace test_elementwise
