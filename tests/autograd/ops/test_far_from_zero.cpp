// Gradients keep their digits however far from zero the inputs lie: in float32 a logarithm of a sum of
// exponentials, or a mean, is rounded as coarsely as they are.
#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"

namespace gradus::test_far_from_zero {

using namespace gradus::testing;

constexpr double kOffsets[] = {-1e7, -1e4, 0, 300, 1e4, 1e6, 1e7};
constexpr double kLogits[] = {0, 0, -1, -5};

std::vector<float> at_offset(double offset) {
  std::vector<float> x;
  for (const double logit : kLogits) x.push_back(static_cast<float>(offset + logit));
  return x;
}

/// softmax of kLogits.
std::vector<double> shares() {
  double total = 0;
  for (const double logit : kLogits) total += std::exp(logit);
  std::vector<double> p;
  for (const double logit : kLogits) p.push_back(std::exp(logit) / total);
  return p;
}

template <class F>
Tensor gradient(F f, const Tensor& x, bool create_graph = false) {
  const Tensor leaf = x.detach().requires_grad_();
  return grad({sum(f(leaf))}, {leaf}, {.create_graph = create_graph})[0].detach();
}

TEST_CASE("cross_entropy of a certain answer still has a gradient, to all its digits") {
  double others = 0;
  for (const double logit : {-20, 5, -5}) others += std::exp(logit - 20);
  vectors::at_each_level([&] {
    for (const double offset : {0.0, 1e4, 1e6}) {
      std::vector<float> x;
      for (const double logit : {20, -20, 5, -5}) x.push_back(static_cast<float>(offset + logit));
      const auto loss = [](const Tensor& logits) { return cross_entropy(logits, i64({0})) * 3.0; };
      const std::vector<float> gx = gradient(loss, tensor(x, {1, 4})).to_vector<float>();
      INFO("offset " << offset << ": " << gx[0]);
      CHECK(gx[0] / (-3 * others / (1 + others)) == Catch::Approx(1).epsilon(1e-6));
      CHECK(gx[2] / (3 * std::exp(-15.0) / (1 + others)) == Catch::Approx(1).epsilon(1e-6));
    }
  });
}

TEST_CASE("logsumexp, log_softmax and cross_entropy have the same gradient at every offset") {
  const Tensor p = f64(shares(), {1, 4}), one = eye(4, DType::float64);
  vectors::at_each_level([&] {
    for (const double offset : kOffsets)
      for (const bool create_graph : {false, true}) {
        INFO("offset " << offset << ", create_graph " << create_graph);
        const auto check = [&](const auto& f, const Tensor& want) {
          const Tensor gx = gradient(f, tensor(at_offset(offset), {1, 4}), create_graph);
          CHECK(difference(gx.to(DType::float64), want, 3e-7) == "");
        };
        check([](const Tensor& t) { return logsumexp(t, {1}); }, p);
        for (const int64_t at : {0, 1, 2, 3}) {
          check([at](const Tensor& t) { return log_softmax(t, 1).select(1, at); },
                one.slice(0, at, at + 1) - p);
          check([at](const Tensor& t) { return cross_entropy(t, i64({at})); }, p - one.slice(0, at, at + 1));
        }
      }
  });
}

TEST_CASE("attention has the same gradients at every offset of its scores") {
  const std::vector<double> p = shares();
  vectors::at_each_level([&] {
    for (const double offset : kOffsets)
      for (const int64_t queries : {1, 5}) {  // in both kinds of products
        INFO("offset " << offset << ", " << queries << " queries");
        // Scores offset * 1 + 1 * logit.
        Tensor q = zeros({1, 1, queries, 2}), k = zeros({1, 1, 4, 2});
        q.slice(3, 0, 1).copy_(full({}, offset));
        q.slice(3, 1, 2).copy_(full({}, 1.0));
        k.slice(3, 0, 1).copy_(full({}, 1.0));
        k.slice(3, 1, 2).copy_(tensor(at_offset(0), {1, 1, 4, 1}));
        const Tensor v = arange(0, 8).to(DType::float32).reshape({1, 1, 4, 2}).requires_grad_();
        q.requires_grad_();
        const Tensor y = scaled_dot_product_attention(q, k, v, {.scale = 1.0});
        const std::vector<Tensor> g = grad({sum(y)}, {q, v});
        double mean_v = 0, mean_logit = 0, mean_both = 0;
        for (size_t j = 0; j < 4; ++j) {
          const double gw = static_cast<double>(4 * j + 1);  // v[0] + v[1]
          mean_v += p[j] * gw;
          mean_logit += p[j] * kLogits[j];
          mean_both += p[j] * gw * kLogits[j];
        }
        for (int64_t row = 0; row < queries; ++row)
          CHECK(g[0].at({0, 0, row, 1}) == Catch::Approx(mean_both - mean_v * mean_logit).epsilon(1e-5));
        for (int64_t j = 0; j < 4; ++j)
          CHECK(g[1].at({0, 0, j, 0}) ==
                Catch::Approx(static_cast<double>(queries) * p[static_cast<size_t>(j)]).epsilon(1e-6));
      }
  });
}

TEST_CASE("layer_norm and var have the same gradients at every offset") {
  const std::vector<double> row = {0, 1, 3, -2, 5, 4, -6}, cotangent = {1, -2, 0.5, 3, 0, 2, -1};
  const auto gradients = [&](DType dtype, double offset, bool create_graph) {
    std::vector<double> x;
    for (const double value : row) x.push_back(offset + value);
    const Tensor in = f64(x, {1, 7}).to(dtype).requires_grad_(), w = ones({7}, dtype).requires_grad_();
    const Tensor gy = f64(cotangent, {1, 7}).to(dtype);
    std::vector<Tensor> all =
        grad({sum(layer_norm(in, {7}, w) * gy)}, {in, w}, {.create_graph = create_graph});
    all.push_back(grad({sum(var(in, {1}))}, {in}, {.create_graph = create_graph})[0]);
    all.push_back(var(in, {1}));
    return all;
  };
  const std::vector<Tensor> want = gradients(DType::float64, 0, false);
  vectors::at_each_level([&] {
    for (const double offset : {-1e6, 0.0, 1e4, 1e6})
      for (const bool create_graph : {false, true}) {
        const std::vector<Tensor> got = gradients(DType::float32, offset, create_graph);
        for (size_t i = 0; i < want.size(); ++i) {
          INFO("offset " << offset << ", gradient " << i << ", create_graph " << create_graph);
          CHECK(difference(got[i].detach().to(DType::float64), want[i].detach(), 1e-6) == "");
        }
      }
  });
}

}  // namespace gradus::test_far_from_zero
