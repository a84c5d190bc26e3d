// What shares memory or a vertex: results that are inputs, gradients that a rule writes into, and cycles.
#include "autograd/compare.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/tensor/storage.hpp"

namespace gradus::test_aliases {

using namespace gradus::testing;

TEST_CASE("a gradient with a graph is freed with its leaf") {
  const int64_t before = memory_use().bytes;
  for (const bool other : {false, true}) {
    Tensor x = leaf({1, 2}, {2}), y = leaf({3, 4}, {2});
    const Tensor w = other ? y : x;
    sum(exp(x * w) * layer_norm(x, {2}, w)).backward({}, false, /*create_graph=*/true);
    sum(x.grad() * x.grad()).backward({}, false, /*create_graph=*/true);
    CHECK(x.grad().requires_grad());
  }
  CHECK(memory_use().bytes == before);
}

TEST_CASE("a result that is an input becomes an alias of it, and the input stays what it was") {
  Tensor x = leaf({1, 2}, {2});
  const Tensor w = leaf({3, 4}, {2}), plain = f64({5, 6}), h = x * 2.0;
  const auto times = [](double k) { return [k](const Tensor& gy) { return gy * k; }; };
  const OpName op = OpName::custom("same");
  const Tensor same[] = {record(op, x, {{x, times(3)}}), record(op, x.contiguous(), {{x, times(3)}}),
                         record(op, x.to(DType::float64), {x},
                                [](const Tensor& gy, Needs) { return std::vector<Tensor>{gy * 3.0}; }),
                         record_many(op, {x}, {x}, [](const auto& gys, const auto&, Needs) {
                           return std::vector<Tensor>{gys[0] * 3.0};
                         })[0]};
  for (const Tensor& y : same) {
    x.zero_grad();
    sum(y + x).backward();
    CHECK(difference(x.grad(), f64({4, 4})) == "");
  }
  const Tensor of_plain = record(op, plain, {{w, times(1)}}), of_h = record(op, h, {{w, times(1)}});
  CHECK_FALSE(plain.requires_grad());
  CHECK(of_plain.requires_grad());
  x.zero_grad();
  sum(h).backward();
  CHECK(difference(x.grad(), f64({2, 2})) == "");
  CHECK_HAS(error_of([&] { record(op, Tensor(), {{x, times(1)}}); }), "[same]");
}

TEST_CASE("a rule or a hook that writes into the gradient it is given is refused") {
  const auto write = [](const Tensor& gy) {
    Tensor g = gy;
    g.fill_(2);
    return g;
  };
  const auto bad = [&](const Tensor& x) {
    return record(OpName::custom("bad"), x.detach() * 2.0, {{x, write}});
  };
  const Tensor x = leaf({1, 2}, {2});
  const auto many =
      record_many(OpName::custom("bad"), {x.detach() * 1.0}, {x},
                  [&](const auto& g, const auto&, Needs) { return std::vector<Tensor>{write(g[0])}; });
  for (const Tensor& y : {bad(x), many[0]})
    CHECK_ERROR(y.backward(ones({2}, DType::float64)),
                "[bad] its rule must not write into the gradient that it is given");
  CHECK_FALSE(gradcheck([&](const std::vector<Tensor>& in) { return bad(in[0]); }, {f64({1, 2})}).passed);
  x.register_hook([](const Tensor& g) { Tensor(g).fill_(0); });
  CHECK_ERROR(sum(x * 1.0).backward(), "must not write");
}

}  // namespace gradus::test_aliases
