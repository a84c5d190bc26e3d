// Muon's steps against its formula, and what it does to singular values.
#include "gradus/train/optimizers/muon.hpp"

#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"
#include "gradus/train/optimizers/weight_average.hpp"

namespace gradus::train::test_muon {

using namespace testing;

/// The iteration in the order of its formula, on a matrix that is no taller than wide.
Tensor iterated(const Tensor& matrix) {
  Tensor x = matrix / (std::sqrt(sum(matrix * matrix).item()) + 1e-7);
  for (const auto& [a, b, c] : {std::array{8.3837, -24.7659, 18.3571},
                                {4.0083, -2.9277, 0.5428},
                                {3.4970, -2.5733, 0.5045},
                                {2.2643, -1.6502, 0.3839}}) {
    const Tensor squares = matmul(x, x.mT());
    x = a * x + matmul(b * squares + c * matmul(squares, squares), x);
  }
  return x;
}

Tensor orthogonal(const Tensor& x) { return x.size(0) > x.size(1) ? iterated(x.mT()).mT() : iterated(x); }

Tensor draw(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, generator, DType::float64);
}

TEST_CASE("orthogonalized() is the iteration, for wide, tall and stacked matrices") {
  for (const Shape& shape : {Shape{3, 5}, Shape{5, 3}, Shape{4, 4}, Shape{1, 6}, Shape{6, 1}}) {
    const Tensor x = draw(shape, 1);
    CHECK(difference(orthogonalized(x), orthogonal(x)) == "");
  }
  const Tensor both = draw({2, 3, 4}, 2);
  CHECK(difference(orthogonalized(both).select(0, 1), orthogonalized(both.select(0, 1))) == "");
  CHECK(difference(orthogonalized(zeros({2, 3}, DType::float64)), zeros({2, 3}, DType::float64)) == "");
  for (const Shape& none : {Shape{0, 3}, Shape{3, 0}, Shape{0, 2, 2}})
    CHECK(orthogonalized(zeros(none, DType::float64)).shape() == none);
}

TEST_CASE("orthogonalized() brings all directions to about one length", "[needs.fast]") {
  // Singular values from 1 to a hundredth.
  Tensor x = draw({16, 16}, 3);
  const Tensor q = orthogonalized(orthogonalized(x)), squares = matmul(q, q.mT());
  for (int64_t i = 0; i < 16; ++i) {
    CHECK(squares.at({i, i}) > 0.4);
    CHECK(squares.at({i, i}) < 1.5);
  }
  const Autocast autocast(DType::bfloat16);
  const Tensor rounded = orthogonalized(x.to(DType::float32)).to(DType::float64);
  const Tensor exact = orthogonalized(x);
  CHECK(sum(rounded * exact).item() / std::sqrt(sum(rounded * rounded).item() * sum(exact * exact).item()) >
        0.99);
}

TEST_CASE("five steps of Muon are those of its formula; vectors and embeddings get AdamW's") {
  const double momentum = 0.9, decay = 0.1;
  Tensor qkv = draw({6, 4}, 4).requires_grad_(), wide = draw({3, 5}, 5).requires_grad_(),
         wte = draw({7, 4}, 6).requires_grad_(), gain = draw({4}, 7).requires_grad_();
  Tensor wte2 = draw({7, 4}, 6).requires_grad_(), gain2 = draw({4}, 7).requires_grad_();
  const AdamWOptions adamw{.beta1 = 0.8, .beta2 = 0.95, .weight_decay = decay};
  Muon muon({{"qkv", qkv, nn::Role::fused(3)},
             {"fc.weight", wide},
             {"wte.weight", wte, nn::Role::embedding},
             {"gain", gain}},
            {.momentum = momentum, .adamw = adamw}, {{.pattern = "fc.*", .weight_decay = 0.3}});
  AdamW reference({{"wte.weight", wte2}, {"gain", gain2}}, adamw);

  struct Expected {
    Tensor p, u;
    int64_t parts;
    double decay;
  };
  std::vector<Expected> all{{qkv.detach() * 1.0, zeros({6, 4}, DType::float64), 3, decay},
                            {wide.detach() * 1.0, zeros({3, 5}, DType::float64), 1, 0.3}};  // of fc's group
  for (int step = 0; step < 5; ++step) {
    const double lr = 0.1 / (step + 1), scale = 0.5;
    const std::vector<Tensor> grads{draw({6, 4}, 10 + step), draw({3, 5}, 20 + step)};
    qkv.set_grad(grads[0]);
    wide.set_grad(grads[1]);
    for (auto* p : {&wte, &wte2}) p->set_grad(draw({7, 4}, 30 + step));
    for (auto* p : {&gain, &gain2}) p->set_grad(draw({4}, 40 + step));
    muon.step(lr, scale);
    reference.step(lr, scale);
    for (size_t i = 0; i < all.size(); ++i) {
      auto& [p, u, parts, own_decay] = all[i];
      const Tensor g = grads[i] * scale;
      u = momentum * u + g;
      std::vector<Tensor> updates;
      for (const Tensor& part : (g + momentum * u).chunk(parts, 0)) {
        const double size = 0.2 * std::sqrt(static_cast<double>(std::max(part.size(0), part.size(1))));
        updates.push_back(size * orthogonal(part));
      }
      p = p - lr * (own_decay * p + cat(updates, 0));
    }
  }
  CHECK(difference(qkv.detach(), all[0].p, 1e-10) == "");
  CHECK(difference(wide.detach(), all[1].p, 1e-10) == "");
  CHECK(difference(wte.detach(), wte2.detach()) == "");
  CHECK(difference(gain.detach(), gain2.detach()) == "");

  const nn::StateDict state = muon.state_dict();
  CHECK(state.size() == 1 + 2 + 4);
  CHECK(state.contains("momentum.fc.weight"));
  CHECK(state.contains("v.wte.weight"));
}

TEST_CASE("Muon has the same bits on any number of threads, in the precision of the thread that asks",
          "[needs.fast]") {
  const auto moved = [](int threads, DType products) {
    const vectors::Threads guard(threads);
    const Autocast autocast(products);
    std::vector<Tensor> weights;
    NamedParameters named;
    for (int i = 0; i < 6; ++i) {
      weights.push_back(draw({40, 24 + 8 * i}, 50 + i).to(DType::float32).requires_grad_());
      named.emplace_back(concat("fc", i), weights.back());
    }
    Muon muon(named);
    for (int step = 0; step < 2; ++step) {
      for (int i = 0; i < 6; ++i) weights[i].set_grad(draw({40, 24 + 8 * i}, 60 + i).to(DType::float32));
      muon.step(0.1);
    }
    std::vector<float> all;
    for (const Tensor& w : weights)
      for (const float value : w.to_vector<float>()) all.push_back(value);
    return all;
  };
  for (const DType products : {DType::float32, DType::bfloat16}) {
    CHECK(vectors::same_bits(moved(1, products), moved(3, products)));
    CHECK(vectors::same_bits(moved(1, products), moved(8, products)));
  }
  CHECK_FALSE(vectors::same_bits(moved(3, DType::float32), moved(3, DType::bfloat16)));
}

TEST_CASE("Muon's NaN is found on whichever thread it arises") {
  for (const int threads : {1, 5}) {
    const vectors::Threads guard(threads);
    for (int bad = 0; bad < 8; ++bad) {
      NamedParameters named;
      for (int i = 0; i < 8; ++i) {
        named.emplace_back(concat("fc", i), draw({16, 16}, i).requires_grad_());
        named.back().second.set_grad(full({16, 16}, i == bad ? vectors::kNaN : 1.0, DType::float64));
      }
      Muon muon(named);
      const AnomalyMode on;
      CHECK_ERROR(muon.step(0.1), "[anomaly] ");
    }
  }
}

TEST_CASE("Muon refuses what it cannot use") {
  Tensor w = draw({4, 3}, 1).requires_grad_();
  CHECK_ERROR(Muon({{"w", w}}, {.momentum = 1}), "[muon] momentum must be in [0, 1), got 1");
  CHECK_ERROR(Muon({{"w", w}}, {.adamw = {.beta1 = 2}}), "[muon] betas must be in [0, 1), got 2");
  CHECK_ERROR(orthogonalized(w.select(0, 0)), "[muon] needs float32 or float64 matrices, got float64 (3,)");
  Muon stacked({{"c_attn", w, nn::Role::fused(3)}});
  w.set_grad(ones({4, 3}, DType::float64));
  CHECK_ERROR(stacked.step(0.1), "[muon] c_attn must have rows for 3 matrices, got (4, 3)");
}

TEST_CASE("means of weights are exponential, and change places with them") {
  Tensor w = f64({1, 2}, {2}).requires_grad_();
  WeightAverage average({{"w", w}}, 0.15);
  double mean[2] = {1, 2};
  for (int t = 1; t <= 4; ++t) {
    w.copy_(f64({1.0 + t, 2.0 - 3 * t}));
    average.update();
    const double kept = std::min(0.15, t / (t + 10.0));
    mean[0] = kept * mean[0] + (1 - kept) * (1.0 + t);
    mean[1] = kept * mean[1] + (1 - kept) * (2.0 - 3 * t);
  }
  {
    const AveragedWeights averaged(&average);
    CHECK(difference(w.detach(), f64({mean[0], mean[1]})) == "");
  }
  CHECK(difference(w.detach(), f64({5, -10})) == "");

  Tensor other = f64({0, 0}, {2}).requires_grad_();
  WeightAverage restored({{"w", other}}, 0.15);
  nn::StateDict state = average.state_dict();
  state["m.w"] = w.detach();
  const nn::StateDict taken = WeightAverage::take_from(state);
  CHECK(state.size() == 1);
  restored.load_state_dict(taken);
  for (const auto& [name, value] : average.state_dict())
    CHECK(difference(restored.state_dict().at(name), value) == "");
  CHECK_ERROR(restored.load_state_dict({}),
              "[weight_average] names and shapes must be those of the module, got missing: average");
  CHECK_THROWS_WITH(WeightAverage({{"w", w}}, 1.0), "[weight_average] decay must be in [0, 1), got 1.");
}

}  // namespace gradus::train::test_muon
