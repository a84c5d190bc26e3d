// Views show the right elements of shared storage.
#include "autograd/compare.hpp"
#include "gradus/autograd/graph/hooks.hpp"

namespace gradus::test_views {

using namespace gradus::testing;

// Calls that change nothing about a tensor (3, 2).
struct Same {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
};
const Same kViewsOfAll[] = {
    {"reshape", [](const Tensor& x) { return x.reshape(x.shape()); }},
    {"reshape with -1",
     [](const Tensor& x) {
       return x.reshape({3, -1});
     }},
    {"expand",
     [](const Tensor& x) {
       return x.expand({3, -1});
     }},
    {"squeeze(dim)", [](const Tensor& x) { return x.squeeze(1); }},
    {"squeeze", [](const Tensor& x) { return x.squeeze(); }},
    {"index({})", [](const Tensor& x) { return x.index({}); }},
    {"index({Ellipsis})", [](const Tensor& x) { return x.index({Ellipsis}); }},
    {"index({Slice()})", [](const Tensor& x) { return x.index(std::vector<TensorIndex>(2, Slice())); }},
    {"transpose", [](const Tensor& x) { return x.transpose(1, 1); }},
    {"permute",
     [](const Tensor& x) {
       return x.permute({0, 1});
     }},
    {"slice", [](const Tensor& x) { return x.slice(0, 0, 3); }},
    {"split", [](const Tensor& x) { return x.split(3, 0)[0]; }},
    {"chunk", [](const Tensor& x) { return x.chunk(1, 0)[0]; }},
    {"detach", [](const Tensor& x) { return x.detach(); }},
};

bool shares(const Tensor& a, const Tensor& b) { return a.impl()->storage == b.impl()->storage; }

TEST_CASE("transpose and permute") {
  const Tensor x = counted({2, 3, 4}), t = x.transpose(0, -1), p = x.permute({1, 2, 0});
  REQUIRE(t.shape() == Shape{4, 3, 2});
  REQUIRE(p.shape() == Shape{3, 4, 2});
  CHECK(t.at({3, 1, 0}) == x.at({0, 1, 3}));
  CHECK(p.at({2, 3, 1}) == x.at({1, 2, 3}));
  CHECK(x.mT().at({1, 3, 2}) == x.at({1, 2, 3}));
  CHECK(shares(t, x));
  CHECK(shares(p, x));
  CHECK_ERROR(x.permute({0, 1}), "[permute]");
  CHECK_ERROR(x.permute({0, 1, 1}), "got (0, 1, 1)");
  CHECK_ERROR(x.permute({0, 1, -1, 2}), "[permute]");
  CHECK_ERROR(x.transpose(0, 3), "[transpose]");
}

TEST_CASE("reshape is a view where strides allow it, else a copy; the values are the same") {
  const Tensor x = counted({4, 3, 2});
  struct Case {
    Tensor from;
    Shape to;
    bool view;
  };
  const std::vector<Case> cases = {
      {x, {12, 2}, true},
      {x, {2, 2, 3, 1, 2}, true},
      {x, {-1}, true},
      {x.transpose(0, 1), {3, 2, 2, 2}, true},
      {x.transpose(0, 1), {3, 8}, false},
      {x.transpose(0, 1), {12, 2}, false},
      {x.mT(), {24}, false},
      {x.slice(1, 0, 2), {4, 4}, true},
      {x.slice(1, 0, 2), {16}, false},
      {x.slice(0, 0, 4, 2), {2, 6}, true},
      {x.slice(0, 0, 4, 2), {12}, false},
      {x.slice(2, 0, 1), {4, 3}, true},
      {x.slice(2, 0, 1), {12}, true},
      {x.slice(2, 1, 2).mT(), {4, 1, 1, 3}, true},
      {counted({3, 1}).expand({3, 4}), {3, 2, 2}, true},
      {counted({3, 1}).expand({3, 4}), {12}, false},
      {counted({3}).expand({4, 3}), {2, 2, 3}, true},
      {counted({0, 3}).mT(), {0}, true},
      {counted({1, 1}), {}, true},
      {counted({}), {1, 1}, true},
  };
  for (const Case& c : cases) {
    INFO("from shape " << c.from.shape() << ", strides " << c.from.strides() << " to " << c.to);
    const Tensor y = c.from.reshape(c.to);
    CHECK(y.to_vector<double>() == c.from.to_vector<double>());
    CHECK(shares(y, c.from) == c.view);
  }
  CHECK_ERROR(x.reshape({5, -1}), "(4, 3, 2) holds 24 elements");
  CHECK_ERROR(x.reshape({-2, 12}), "[reshape]");
}

TEST_CASE("expand repeats without copying") {
  const Tensor x = counted({3, 1});
  const Tensor y = x.expand({2, -1, 4});
  CHECK(y.shape() == Shape{2, 3, 4});
  CHECK(y.at({1, 2, 3}) == 2);
  CHECK(shares(x, y));
  CHECK(y.strides() == Shape{0, 1, 0});
  CHECK(counted({1, 3}).expand({0, 3}).numel() == 0);
  CHECK_ERROR(x.expand({4, 2}), "got (3, 1) to (4, 2)");
  CHECK_ERROR(x.expand({3}), "[expand]");
  CHECK_ERROR(x.expand({-1, 3, 1}), "[expand]");
}

TEST_CASE("squeeze and unsqueeze") {
  const Tensor x = counted({1, 3, 1, 2});
  CHECK(x.squeeze(-2).shape() == Shape{1, 3, 2});
  CHECK(x.squeeze(1).shape() == x.shape());
  CHECK(counted({2}).unsqueeze(1).shape() == Shape{2, 1});
  CHECK(shares(x, x.squeeze()));
  CHECK_ERROR(x.squeeze(4), "[squeeze]");
  CHECK_ERROR(x.unsqueeze(5), "[unsqueeze]");
}

TEST_CASE("slice follows Python") {
  const Tensor x = counted({10});
  const auto sliced = [&](int64_t start, int64_t end, int64_t step) { return x.slice(0, start, end, step); };
  CHECK(difference(sliced(2, 5, 1), f64({2, 3, 4})) == "");
  CHECK(difference(sliced(0, 10, 3), f64({0, 3, 6, 9})) == "");
  CHECK(difference(sliced(-3, -1, 1), f64({7, 8})) == "");
  CHECK(difference(sliced(-99, 99, 4), f64({0, 4, 8})) == "");
  CHECK(difference(sliced(8, 99, 5), f64({8})) == "");
  CHECK(sliced(5, 5, 1).numel() == 0);
  CHECK(sliced(7, 3, 2).numel() == 0);
  CHECK(sliced(99, 120, 1).numel() == 0);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(difference(sliced(3, most, most), f64({3})) == "");
  CHECK(difference(x.index({Slice(0, 4, most)}), f64({0})) == "");
  CHECK(sliced(-most - 1, -most - 1, most).numel() == 0);
  CHECK(shares(x, sliced(2, 5, 1)));
  const Tensor y = counted({3, 4});
  CHECK(difference(y.slice(-1, 1, 4, 2), f64({1, 3, 5, 7, 9, 11}, {3, 2})) == "");
  CHECK_ERROR(x.slice(0, 0, 5, 0), "step must be at least 1, got 0");
  CHECK_ERROR(x.slice(1, 0, 5), "[slice]");
  CHECK_ERROR(counted({}).slice(0, 0, 1), "[slice]");
}

TEST_CASE("select, split and chunk") {
  const Tensor x = counted({3, 5});
  CHECK(difference(x.select(1, 2), f64({2, 7, 12})) == "");
  CHECK_ERROR(x.select(0, 3), "index must be in [-3, 2], got 3");
  const std::vector<Tensor> pieces = x.split(2, -1);
  REQUIRE(pieces.size() == 3);
  CHECK(difference(pieces[1], f64({2, 3, 7, 8, 12, 13}, {3, 2})) == "");
  CHECK(pieces[2].shape() == Shape{3, 1});
  CHECK(counted({0, 2}).split(3, 0).size() == 1);
  CHECK_ERROR(x.split({1, 1}, 0), "must add up to 3, got 2");
  CHECK_ERROR(x.split({4, -1}, 0), "[split]");
  CHECK_ERROR(x.split({1, std::numeric_limits<int64_t>::max()}, 0),
              "must add up to 3, got 9223372036854775807 after 1");
  CHECK_ERROR(x.split(0, 0), "[split]");
  const auto chunks = [](const Tensor& t, int64_t n, int64_t dim) { return t.chunk(n, dim).size(); };
  CHECK(difference(x.chunk(2, 1)[1], x.slice(1, 3, 5)) == "");
  CHECK(chunks(x, 4, 1) == 3);
  CHECK(chunks(x, 9, -2) == 3);
  CHECK(chunks(counted({0, 2}), 3, 0) == 3);
  CHECK_ERROR(x.chunk(0, 0), "[chunk]");
  CHECK_ERROR(x.chunk(1, 2), "dim must be in [-2, 1], got 2");
}

TEST_CASE("a view that changes nothing is another tensor, with a gradient of its own") {
  for (const auto& [name, view] : kViewsOfAll) {
    INFO(name);
    const Tensor plain = counted({3, 2});
    Tensor y = view(plain);
    CHECK(y.impl() != plain.impl());
    CHECK(shares(y, plain));
    CHECK(difference(y, plain, 0) == "");
    y.requires_grad_();
    CHECK_FALSE(plain.requires_grad());
    if (std::string_view(name) == "detach") continue;

    const Tensor x = counted({3, 2}).requires_grad_();
    const Tensor z = view(x);
    CHECK(difference(grad({sum(z * 3.0) + sum(x * 10.0)}, {z}, {.retain_graph = true})[0],
                     full({3, 2}, 3.0, DType::float64)) == "");
    z.register_hook([](const Tensor& g) { return g * 0.0; });
    (sum(z * 3.0) + sum(x * 10.0)).backward();
    CHECK(difference(x.grad(), full({3, 2}, 10.0, DType::float64)) == "");
  }
}

TEST_CASE("views of a scalar that change nothing are other tensors too") {
  const Tensor x = leaf({2}, {});
  for (const Tensor& y : {x.reshape({}), x.expand({}), x.squeeze(), x.squeeze(0), x.squeeze(-1), x.index({}),
                          x.permute({}), x.transpose(0, -1)})
    CHECK(difference(grad({y * 3.0 + x * 10.0}, {y})[0], f64({3}, {})) == "");
}

TEST_CASE("conversions that have nothing to do return the tensor itself, as in PyTorch") {
  Generator g(1);
  const Tensor x = counted({3, 2});
  CHECK(x.contiguous().impl() == x.impl());
  CHECK(x.to(DType::float64).impl() == x.impl());
  CHECK(dropout(x, 0.0, g).impl() == x.impl());
}

}  // namespace gradus::test_views
