// Gradients keep their digits far from zero, where a logarithm of a sum of exponentials is rounded coarsely.
#include "autograd/against_float64.hpp"
#include "autograd/kernels/vectors.hpp"

namespace gradus::test_far_from_zero {

using namespace gradus::testing;

const std::vector<double> kOffsets = {-1e7, -1e4, 0, 300, 1e4, 1e6, 1e7}, kLogits = {0, 0, -1, -5};

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

/// Compares with float64 at each offset of a row, which there are `rows` times.
template <size_t n>
void check_at(const std::vector<double>& offsets, const std::vector<double>& row, int64_t rows,
              const NamedOp (&ops)[n], double tolerance) {
  const Tensor x = f64(row).expand({rows, static_cast<int64_t>(row.size())});
  vectors::at_each_level([&] {
    for (const double offset : offsets)
      for (const bool create_graph : {false, true})
        for (const NamedOp& op : ops) {
          INFO("offset " << offset);
          check_against_float64(op, (x + offset).to(DType::float32), tolerance, create_graph);
        }
  });
}

TEST_CASE("cross_entropy of a certain answer still has a gradient, to all its digits") {
  double others = 0;
  for (const double logit : {-20, 5, -5}) others += std::exp(logit - 20);
  vectors::at_each_level([&] {
    for (const double offset : {0.0, 1e4, 1e6}) {
      std::vector<float> x;
      for (const double logit : {20, -20, 5, -5}) x.push_back(static_cast<float>(offset + logit));
      const auto loss = [](const Tensor& logits) { return cross_entropy(logits, i64({0})) * 3.0; };
      const Tensor in = tensor(x, {1, 4}).requires_grad_();
      const std::vector<float> gx = grad({loss(in)}, {in})[0].to_vector<float>();
      INFO("offset " << offset << ": " << gx[0]);
      CHECK(gx[0] / (-3 * others / (1 + others)) == Catch::Approx(1).epsilon(1e-6));
      CHECK(gx[2] / (3 * std::exp(-15.0) / (1 + others)) == Catch::Approx(1).epsilon(1e-6));
    }
  });
}

TEST_CASE("logsumexp, log_softmax and cross_entropy have the same gradient at every offset") {
  const NamedOp ops[] = {
      {"logsumexp", [](const Tensor& x) { return logsumexp(x, {1}); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x, 1); }},
      {"cross_entropy",
       [](const Tensor& x) {
         return cross_entropy(x, i64({0, 1, 2, 3}), -100, Reduction::none);
       }},
  };
  check_at(kOffsets, kLogits, 4, ops, 4e-7);
}

TEST_CASE("layer_norm and var have the same gradients at every offset") {
  const NamedOp ops[] = {
      {"layer_norm", [](const Tensor& x) { return layer_norm(x, {7}); }},
      {"layer_norm's weight",
       [](const Tensor& x) {
         const Tensor row = x.select(0, 0);
         return layer_norm(x.detach(), {7}, row - row.detach() + 1.0);
       }},
      {"var", [](const Tensor& x) { return var(x, {1}); }},
  };
  check_at({-1e6, 0.0, 1e4, 1e6}, {0, 1, 3, -2, 5, 4, -6}, 2, ops, 2e-6);
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

}  // namespace gradus::test_far_from_zero
