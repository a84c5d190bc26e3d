// Gathering and scattering by index, and triangles, against loops.
#include "gradus/autograd/kernels/elementwise/index.hpp"
#include "vectors.hpp"

namespace gradus::kernels::test_index_loops {

using namespace vectors;

std::vector<int64_t> indices(int64_t n, int64_t below) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) all[i] = i * i * 7 % below;
  return all;
}

struct Shape3 {
  int64_t outer, n, inner, count;
};
constexpr Shape3 kShapes[] = {{1, 5, 1, 9},      {3, 4, 7, 6}, {2, 9, 65, 4},
                              {1, 65, 130, 200}, {4, 3, 1, 8}, {2, 3, 4, 0}};

TEMPLATE_TEST_CASE("index_select and gather, index_add and scatter_add", "[index]", float, double, int64_t) {
  for (const bool is_shared : {true, false})  // one index for all, or one for each element
    for (const auto [outer, n, inner, count] : kShapes) {
      const auto index = indices(is_shared ? count : outer * count * inner, n);
      const auto x = values<TestType>(outer * n * inner, 9),
                 src = values<TestType>(outer * count * inner, 9, 2);
      std::vector<TestType> out(src.size()), sum = x, want = x;
      (is_shared ? index_select<TestType> : gather<TestType>)(outer, n, inner, count, out.data(), x.data(),
                                                              index.data());
      (is_shared ? index_add<TestType> : scatter_add<TestType>)(outer, n, inner, count, sum.data(),
                                                                index.data(), src.data());
      for (int64_t at = 0; at < outer * count * inner; ++at) {
        const int64_t k = at / inner % count, place = index[is_shared ? k : at];
        const int64_t from = (at / inner / count * n + place) * inner + at % inner;
        CHECK(out[at] == x[from]);
        want[from] += src[at];  // in the order of the index
      }
      CHECK(same_bits(sum, want));
    }
}

TEST_CASE("index_select and gather of bools", "[index]") {
  const bool x[] = {true, false, true};
  const int64_t index[] = {2, 1, 1, 0};
  bool out[4], gathered[4];
  index_select(1, 3, 1, 4, out, x, index);
  gather(1, 3, 1, 4, gathered, x, index);
  for (int i = 0; i < 4; ++i) {
    CHECK(out[i] == x[index[i]]);
    CHECK(gathered[i] == x[index[i]]);
  }
}

TEST_CASE("index_add gives the same bits for any number of threads", "[index]") {
  const int64_t n = 65, inner = 384, count = 2000;
  const auto index = indices(count, n);
  const auto src = values<float>(count * inner);
  const auto run = [&](int threads) {
    const Threads guard(threads);
    std::vector<float> out(n * inner);
    index_add(1, n, inner, count, out.data(), index.data(), src.data());
    return out;
  };
  CHECK(same_bits(run(1), run(2)));
  CHECK(same_bits(run(1), run(5)));
}

TEMPLATE_TEST_CASE("triangle keeps one side of a diagonal", "[index]", float, double, int64_t) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{5, 5}, {3, 8}, {8, 3}, {1, 1}})
    for (const bool lower : {true, false})
      for (int64_t diagonal = -9; diagonal <= 9; ++diagonal) {
        auto x = values<TestType>(2 * rows * cols, 9);
        for (auto& v : x) v = v == 0 ? 1 : v;
        std::vector<TestType> out(x.size());
        triangle(lower, 2, rows, cols, out.data(), x.data(), diagonal);
        for (int64_t i = 0; i < 2 * rows * cols; ++i) {
          const int64_t r = i / cols % rows, c = i % cols;
          const bool kept = lower ? c - r <= diagonal : c - r >= diagonal;
          CHECK(out[i] == (kept ? x[i] : TestType{0}));
        }
        triangle(lower, 2, rows, cols, x.data(), x.data(), diagonal);
        CHECK(same_bits(x, out));
      }
}

}  // namespace gradus::kernels::test_index_loops
