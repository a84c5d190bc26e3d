// checkpoint(): the same gradients to the last bit, less memory, and an error where it cannot be right.
#include "gradus/autograd/engine/checkpoint.hpp"

#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"
#include "gradus/autograd/functional/functional.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/tensor/storage.hpp"

namespace gradus::test_checkpoint {

using namespace gradus::testing;

using List = std::vector<Tensor>;

Tensor random(const Shape& shape, uint64_t seed, DType dtype = DType::float32) {
  Generator g(seed);
  return randn(shape, g, dtype);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && vectors::same_bits(a.to_vector<float>(), b.to_vector<float>());
}

// Parameters of a small network with a residual stream, float32 so that every rounding shows.
struct Net {
  Tensor w1 = random({16, 16}, 1).requires_grad_(), w2 = random({16, 16}, 2).requires_grad_();
  Tensor gain = random({16}, 3).requires_grad_(), shared = random({16}, 4).requires_grad_();
  List all() const { return {w1, w2, gain, shared}; }

  Tensor block(const Tensor& x, Generator* dropout) const {
    Tensor h = layer_norm(x, {16}, gain, shared);  // shared is used three times in here, and outside
    h = gelu(linear(h, w1, shared), Gelu::tanh);
    if (dropout) h = gradus::dropout(h, 0.3, *dropout);
    return x + linear(h, w2) * shared;
  }
};

struct Outcome {
  Tensor loss;
  List gradients;
};

// Loss and gradients of three blocks; `run` calls a block, with or without a checkpoint.
template <class Run>
Outcome outcome_of(const Net& net, const Run& run) {
  const Tensor input = random({5, 16}, 5).requires_grad_();
  Generator g(6);
  Tensor h = input * net.shared;
  for (int i = 0; i < 3; ++i) h = run(h, g);
  const Tensor loss = sum(softmax(h + net.shared, -1) * random({5, 16}, 7)) + mean(h * h);
  List inputs = net.all();
  inputs.push_back(input);
  const List gradients = grad({loss}, inputs);
  return {loss.detach(), gradients};
}

void check_same(const Outcome& a, const Outcome& b) {
  CHECK(same_bits(a.loss, b.loss));
  REQUIRE(a.gradients.size() == b.gradients.size());
  for (size_t i = 0; i < a.gradients.size(); ++i) {
    INFO("gradient " << i);
    CHECK(same_bits(a.gradients[i], b.gradients[i]));
  }
}

TEST_CASE(
    "checkpoint: gradients have the bits of the graph without it, shared parameters and dropout included") {
  const Net net;
  for (const bool drop : {false, true}) {
    const Outcome plain =
        outcome_of(net, [&](const Tensor& h, Generator& g) { return net.block(h, drop ? &g : nullptr); });
    const Outcome again = outcome_of(net, [&](const Tensor& h, Generator& g) {
      return checkpoint([&net, &g, drop](const Tensor& x) { return net.block(x, drop ? &g : nullptr); }, h,
                        {&g});
    });
    check_same(plain, again);
  }
}

TEST_CASE("checkpoint: nested ones give the same bits") {
  const Net net;
  const Outcome plain =
      outcome_of(net, [&](const Tensor& h, Generator& g) { return net.block(net.block(h, &g), &g); });
  const Outcome nested = outcome_of(net, [&](const Tensor& h, Generator& g) {
    const auto inner = [&net, &g](const Tensor& x) { return net.block(x, &g); };
    const auto outer = [inner, &g](const Tensor& x) {
      return checkpoint(inner, checkpoint(inner, x, {&g}), {&g});
    };
    return checkpoint(outer, h, {&g});
  });
  check_same(plain, nested);
}

TEST_CASE("checkpoint: several outputs, used, unused, returned twice, handed through") {
  const Tensor w = random({4}, 1), constant = f64({1, 2, 3, 4}).to(DType::float32);
  const auto f = [&](const List& in) {
    const Tensor a = exp(in[0] * in[1]), b = a * in[0], c = tanh(in[1]);
    return List{a, b, c, a, in[0], constant};
  };
  const auto run = [&](bool with) {
    const Tensor x = random({4}, 2).requires_grad_(), y = random({4}, 3).requires_grad_();
    const List out = with ? checkpoint(f, {x, y}) : f({x, y});
    REQUIRE(out.size() == 6);
    CHECK_FALSE(out[5].requires_grad());
    const Tensor loss = sum(out[0] * w + out[1] * out[3] + out[4] * out[0] + out[5] * out[3]);  // not out[2]
    return Outcome{loss.detach(), grad({loss}, {x, y})};
  };
  check_same(run(false), run(true));
}

TEST_CASE("checkpoint: the gradient of one result counts its uses outside, not the way through another") {
  const Tensor x = leaf({1, 2}, {2});
  const auto f = [](const List& in) {
    const Tensor h = in[0] * 2.0;
    return List{h, h * 3.0};
  };
  const List out = checkpoint(f, {x});
  const List g = grad({sum(out[0] * 5.0 + out[1])}, {out[0], out[1], x});
  CHECK(difference(g[0], f64({5, 5})) == "");
  CHECK(difference(g[1], f64({1, 1})) == "");
  CHECK(difference(g[2], f64({16, 16})) == "");
}

TEST_CASE("checkpoint: a tensor of the graph that the function only captures gets its gradient once") {
  const auto run = [](bool with) {
    const Tensor x = random({4}, 2).requires_grad_(), w = random({4}, 3).requires_grad_();
    const Tensor side = exp(w * x);  // captured, and made from a leaf that is used inside, too
    const auto f = [side, w](const Tensor& t) { return sin(t * side) * w; };
    const Tensor y = with ? checkpoint(f, x) : f(x);
    const Tensor loss = sum(y * side * w);
    return Outcome{loss.detach(), grad({loss}, {x, w, side})};
  };
  check_same(run(false), run(true));
}

TEST_CASE("checkpoint: parameters get gradients where no input needs one; nothing is recorded without") {
  const Tensor x = f64({1, 2}), w = leaf({3, 4}, {2});
  const auto square = [](const Tensor& t) { return t * t; };
  CHECK_FALSE(checkpoint(square, x).requires_grad());
  {
    const NoGrad off;
    CHECK_FALSE(checkpoint(square, w).requires_grad());
  }
  const Tensor y = sum(checkpoint([w](const Tensor& t) { return t * w * w; }, x));
  y.backward({}, /*retain_graph=*/true);
  CHECK(difference(w.grad(), f64({6, 16})) == "");
  y.backward();
  CHECK(difference(w.grad(), f64({12, 32})) == "");
  CHECK_ERROR(y.backward(), "the graph was freed by an earlier backward");
}

TEST_CASE("checkpoint: create_graph, second derivatives and gradcheck of order 2") {
  const Tensor w = random({3}, 1, DType::float64).requires_grad_();
  const auto f = [w](const Tensor& t) { return tanh(t * w) * sum(exp(t)); };
  const Tensor x = random({3}, 2, DType::float64);
  CHECK(difference(hessian([&](const Tensor& t) { return sum(checkpoint(f, t)); }, x),
                   hessian([&](const Tensor& t) { return sum(f(t)); }, x), 0) == "");
  const auto mixed = [&](bool with) {
    const Tensor t = x.detach().requires_grad_();
    const Tensor g = grad({sum(with ? checkpoint(f, t) : f(t))}, {t}, {.create_graph = true})[0];
    return grad({sum(g * g)}, {t, w});
  };
  const List plain = mixed(false), again = mixed(true);
  CHECK(difference(again[0], plain[0], 0) == "");
  CHECK(difference(again[1], plain[1], 0) == "");
  CHECK(gradcheck([&](const List& in) { return checkpoint(f, in[0]); }, {x}, {.order = 2}).message == "");
}

TEST_CASE("checkpoint: generators go on as if nothing had been replayed") {
  for (const bool torch : {false, true}) {
    Generator plain = torch ? Generator::torch(1) : Generator(1), replayed = plain;
    const Tensor x = random({40}, 2).requires_grad_();
    const auto drop = [](Generator& g) {
      return [&g](const Tensor& t) { return dropout(t, 0.5, g) * dropout(t, 0.5, g); };
    };
    const Tensor a = drop(plain)(x), b = checkpoint(drop(replayed), x, {&replayed});
    CHECK(plain == replayed);
    CHECK(same_bits(a, b));
    plain.next();
    replayed.next();
    const Tensor ga = grad({sum(a)}, {x})[0], gb = grad({sum(b)}, {x})[0];
    CHECK(same_bits(ga, gb));
    CHECK(plain == replayed);
  }
}

TEST_CASE("checkpoint: a generator that was not named is noticed") {
  Generator g(1);
  const Tensor x = random({40}, 2).requires_grad_();
  const Tensor y = checkpoint([&g](const Tensor& t) { return dropout(t, 0.5, g); }, x);
  CHECK_ERROR(sum(y).backward(),
              "[checkpoint] the function must give the same result 0, float32 (40,), when it "
              "runs again, got other values. Hint: name every generator");
  CHECK_ERROR(checkpoint([](const Tensor& t) { return t; }, x, {nullptr}),
              "[checkpoint] needs generators, got a null pointer.");
}

TEST_CASE("checkpoint: changed inputs, parameters and results of another kind are noticed") {
  Tensor w = leaf({3, 4}, {2});
  {
    Tensor x = leaf({1, 2}, {2});
    const Tensor y = checkpoint([w](const Tensor& t) { return t + w; }, x);
    x.fill_(5);
    CHECK_ERROR(sum(y).backward(), "that checkpoint needs has been overwritten");
  }
  const Tensor x = leaf({1, 2}, {2});
  {
    // Nothing in the graph keeps w, so the graph without a checkpoint would not care; it would be right, too.
    const Tensor y = checkpoint([w](const Tensor& t) { return exp(t + w); }, x);
    w.fill_(5);
    CHECK_ERROR(sum(y).backward(), "got other values");
  }
  for (const int kind : {1, 2, 3, 4}) {
    int runs = 0;
    const Tensor late = exp(leaf({1, 2}, {2}));
    const auto f = [&](const List& in) -> List {
      if (runs++ == 0) return {in[0] * 2.0};
      if (kind == 1) return {};
      if (kind == 2) return {in[0].detach() * 2.0};
      if (kind == 3) return {in[0].slice(0, 0, 1) * 2.0};
      return {in[0] * 2.0 + late * 0.0};
    };
    const Tensor y = checkpoint(f, List{x})[0];
    const std::string expected[] = {"got nothing", "got one that requires no gradient", "got float64 (1,)",
                                    "must use the same tensors when it runs again, got exp float64 (2,)"};
    CHECK_ERROR(sum(y).backward(), expected[kind - 1]);
  }
}

TEST_CASE("checkpoint: hooks inside run once, at their place") {
  const Tensor x = leaf({1, 2}, {2});
  int runs = 0;
  const Tensor y = checkpoint(
      [&runs](const Tensor& t) {
        const Tensor h = t * 3.0;
        if (h.requires_grad())
          h.register_hook([&runs](const Tensor& g) {
            ++runs;
            return g * 10.0;
          });
        return h * h;
      },
      x);
  y.register_hook([](const Tensor& g) { return g * 0.5; });
  sum(y).backward();
  CHECK(runs == 1);
  CHECK(difference(x.grad(), f64({90, 180})) == "");
}

TEST_CASE("checkpoint: it is not run again where no input of grad() is below it") {
  int runs = 0;
  const Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  const Tensor y = checkpoint(
      [&runs](const Tensor& t) {
        ++runs;
        return t * 2.0;
      },
      x);
  grad({sum(y * w)}, {w});
  CHECK(runs == 1);
}

TEST_CASE("checkpoint: the function is dropped with the results, or once backward has used it") {
  const auto token = std::make_shared<int>(0);
  const Tensor x = leaf({1, 2}, {2});
  const auto make = [&] { return checkpoint([token](const Tensor& t) { return exp(t); }, x); };
  { make(); }
  CHECK(token.use_count() == 1);
  const Tensor y = make();
  CHECK(token.use_count() == 2);
  sum(y).backward();
  CHECK(token.use_count() == 1);
  CHECK(x.impl()->node->use_count() == 3);  // x, its alias, and the freed graph's edge
}

TEST_CASE("checkpoint: memory is that of one segment, not of all") {
  // 32 segments of 8 values each, all of which the plain graph keeps for backward.
  constexpr int64_t kElements = 4096, kBytes = 4 * kElements;
  const auto segment = [](const Tensor& t) {
    Tensor h = t;
    for (int i = 0; i < 8; ++i) h = tanh(h);
    return h;
  };
  struct Use {
    int64_t held, peak;
  };
  const auto use_of = [&](bool with) {
    const Tensor x = random({kElements}, 1).requires_grad_();
    const int64_t before = memory_use().bytes;
    reset_peak_memory();
    Tensor h = x;
    for (int i = 0; i < 32; ++i) h = with ? checkpoint(segment, h) : segment(h);
    const Tensor loss = sum(h);
    const int64_t held = memory_use().bytes - before;
    loss.backward();
    return Use{held, memory_use().peak - before};
  };
  const Use plain = use_of(false), with = use_of(true);
  CHECK(plain.held >= 256 * kBytes);
  CHECK(with.held <= 33 * kBytes);
  CHECK(plain.peak >= 256 * kBytes);
  CHECK(with.peak <= 50 * kBytes);
}

}  // namespace gradus::test_checkpoint
