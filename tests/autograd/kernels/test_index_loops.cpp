// Gathering and scattering by index, and triangles, against their definitions.
#include "autograd/by_definition.hpp"
#include "vectors.hpp"

namespace gradus::test_index_loops {

using namespace gradus::testing;
using In = const std::vector<Tensor>&;

Tensor indices(const Shape& shape, int64_t below) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < shape.numel(); ++i) all.push_back(i * i * 7 % below);
  return tensor(all, shape);
}

// Compares f of these inputs with the definition in each dtype, and in int64 with float64.
void check_all(Tensor (*f)(In in, const Tensor& index), const std::vector<Tensor>& inputs,
               const Tensor& index) {
  std::vector<Tensor> whole, wide;
  for (const DType dtype : {DType::float32, DType::float64}) {
    std::vector<Tensor> some;
    for (const Tensor& x : inputs) some.push_back(x.to(dtype));
    CHECK(check_by_definition([&](In in) { return f(in, index); }, some) > 0);
  }
  for (const Tensor& x : inputs) {
    whole.push_back((x * 9.0).to(DType::int64));
    wide.push_back(whole.back().to(DType::float64));
  }
  CHECK(difference(f(whole, index).to(DType::float64), f(wide, index), 0) == "");
}

TEST_CASE("index_select and gather, index_add and scatter_add", "[index]") {
  const int64_t shapes[][4] = {{1, 5, 1, 9},      {3, 4, 7, 6}, {2, 9, 65, 4},
                               {1, 65, 130, 200}, {4, 3, 1, 8}, {2, 3, 4, 0}};
  Draw draw;
  for (const auto& [outer, n, inner, count] : shapes) {
    INFO(outer << " " << n << " " << inner << " " << count);
    const Tensor x = draw({outer, n, inner}), source = draw({outer, count, inner});
    const Tensor shared = indices({count}, n), own = indices({outer, count, inner}, n);
    check_all([](In in, const Tensor& i) { return index_select(in[0], 1, i); }, {x}, shared);
    check_all([](In in, const Tensor& i) { return gather(in[0], 1, i); }, {x}, own);
    check_all([](In in, const Tensor& i) { return index_add(in[0], 1, i, in[1]); }, {x, source}, shared);
    check_all([](In in, const Tensor& i) { return scatter_add(in[0], 1, i, in[1]); }, {x, source}, own);
  }
  const Tensor x = bools({true, false, true}), i = i64({2, 1, 1, 0}),
               want = bools({true, false, false, true});
  CHECK(difference(index_select(x, 0, i), want) == "");
  CHECK(difference(gather(x, 0, i), want) == "");
}

TEST_CASE("index_add gives the same bits for any number of threads", "[index]") {
  Generator g(1);
  const Tensor index = indices({2000}, 65), source = randn({2000, 384}, g);
  const auto run = [&](int threads) {
    const vectors::Threads guard(threads);
    return index_add(zeros({65, 384}), 0, index, source);
  };
  CHECK(difference(run(1), run(2), 0) == "");
  CHECK(difference(run(1), run(5), 0) == "");
}

TEST_CASE("triangle keeps one side of a diagonal", "[index]") {
  Draw draw;
  for (const Shape& shape : {Shape{2, 5, 5}, Shape{2, 3, 8}, Shape{2, 8, 3}, Shape{2, 1, 1}})
    for (int64_t diagonal = -9; diagonal <= 9; ++diagonal)
      for (const auto f : {tril, triu}) {
        INFO(shape << ", diagonal " << diagonal);
        const Tensor x = draw(shape);
        for (const Tensor& one : {x, x.to(DType::float32)})
          CHECK(error_of_calls([&] { f(one, diagonal); }) == 0);
        const Tensor whole = (x * 99.0).to(DType::int64);
        CHECK(difference(f(whole, diagonal).to(DType::float64), f(whole.to(DType::float64), diagonal), 0) ==
              "");
      }
}

}  // namespace gradus::test_index_loops
