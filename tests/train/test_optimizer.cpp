
#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/optimizers/lion.hpp"
#include "gradus/train/optimizers/muon.hpp"
#include "gradus/train/optimizers/rmsprop.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "gradus/train/optimizers/weight_average.hpp"

namespace gradus::train::test_optimizer {

using Catch::Matchers::Contains;

struct Problem {
  Tensor w = tensor(std::vector<double>{0.5, -1.0, 2.0, 0.25}, {2, 2}).requires_grad_();
  Tensor b = tensor(std::vector<double>{0.1, -0.3}, {2}).requires_grad_();
  NamedParameters parameters() const { return {{"w", w}, {"b", b}}; }

  /// w^3 / 2 + 0.01 (k + 1) and 2 b - 0.1 (k + 1), times `scale`.
  void set_gradients(int k, double scale = 1) {
    w.set_grad((pow(w.detach(), 3.0) * 0.5 + 0.01 * (k + 1)) * scale);
    b.set_grad((b.detach() * 2.0 - 0.1 * (k + 1)) * scale);
  }
};

struct Values {
  std::vector<double> w, b;
};

void check_close(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) <= 1e-13);
}

/// Five steps at rate 0.1 / step against what PyTorch 1.13 gives, decay 0.1 on w and 0 on b.
void check_steps(Optimizer& optimizer, Problem& problem, const std::vector<Values>& expected,
                 double scale = 1) {
  for (int k = 0; k < static_cast<int>(expected.size()); ++k) {
    problem.set_gradients(k, scale);
    optimizer.step(0.1 / (k + 1), 1 / scale);
    check_close(problem.w.to_vector<double>(), expected[static_cast<size_t>(k)].w);
    check_close(problem.b.to_vector<double>(), expected[static_cast<size_t>(k)].b);
  }
}

const std::vector<Values> kAdamW{
    {{0.39500001379310157, -0.89000000204081631, 1.8800000002493764, 0.14750005614031936},
     {9.9999990094135072e-09, -0.20000000142857138}},
    {{0.34419452963355268, -0.83689223915165945, 1.8210204435287196, 0.096764303183681566},
     {0.018280392653984245, -0.15033002022597808}},
    {{0.31062076950437001, -0.80249989737958782, 1.7821276579392453, 0.063374762100664644},
     {0.040570886595623107, -0.11724973468837814}},
    {{0.28540436781219652, -0.77741701441515054, 1.7532075600302823, 0.038569877122847131},
     {0.06044878240697462, -0.092385020823310487}},
    {{0.26512223251032752, -0.75791680148224438, 1.7302401515697237, 0.018804072822672352},
     {0.077722336245670376, -0.072413077799712483}},
};
const AdamWOptions kAdamWOptions{.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1};

TEST_CASE("step() takes the rate of the options") {
  const auto moved = [](auto make) {
    Problem with_rate, with_argument;
    const auto one = make(with_rate.parameters(), 0.02),
               other = make(with_argument.parameters(), std::nullopt);
    with_rate.set_gradients(0);
    with_argument.set_gradients(0);
    one->step();
    other->step(0.02);
    CHECK(with_rate.w.to_vector<double>() == with_argument.w.to_vector<double>());
    CHECK_ERROR(other->step(), "step() needs the option lr, got none.");
  };
  using Rate = std::optional<double>;
  moved([](auto p, Rate lr) { return std::make_unique<AdamW>(p, AdamWOptions{.lr = lr}); });
  moved([](auto p, Rate lr) { return std::make_unique<Muon>(p, MuonOptions{.lr = lr}); });
  moved([](auto p, Rate lr) { return std::make_unique<SGD>(p, SGDOptions{.lr = lr}); });
  moved([](auto p, Rate lr) { return std::make_unique<Lion>(p, LionOptions{.lr = lr}); });
  moved([](auto p, Rate lr) { return std::make_unique<RMSprop>(p, RMSpropOptions{.lr = lr}); });
  CHECK_ERROR(Muon(Problem().parameters(), {.adamw = {.lr = 0.1}}), "adamw.lr must be left out, got 0.1.");
}

TEST_CASE("AdamW takes PyTorch's steps, and decays matrices only") {
  for (const double scale : {1.0, 4.0}) {  // of the gradients
    Problem problem;
    AdamW optimizer(problem.parameters(), kAdamWOptions);
    check_steps(optimizer, problem, kAdamW, scale);
    CHECK(optimizer.steps() == 5);
  }
}

TEST_CASE("SGD with momentum takes PyTorch's steps") {
  Problem problem;
  SGD optimizer(problem.parameters(), {.momentum = 0.9, .weight_decay = 0.1});
  check_steps(optimizer, problem,
              {{{0.48775, -0.941, 1.579, 0.24571875}, {0.09, -0.23}},
               {{0.47589785611289065, -0.88991405947499991, 1.2822343115249999, 0.24119269540050733},
                {0.0865, -0.1655}},
               {{0.46440389757962047, -0.84555003497425285, 1.0637648962514168, 0.23643923492817817},
                {0.088633333333333342, -0.10576666666666665}},
               {{0.453232485278873, -0.80693381699545164, 0.89759173069635945, 0.23147432872749849},
                {0.09564166666666668, -0.050158333333333319}},
               {{0.44235157470497222, -0.77326198592914819, 0.76792023252552977, 0.22631262281566505},
                {0.10686200000000001, 0.0018860000000000148}}});
}

TEST_CASE("a state that does not fit is refused whole") {
  Problem problem;
  AdamW optimizer(problem.parameters());
  nn::StateDict state = optimizer.state_dict();
  REQUIRE(state.size() == 5);

  nn::StateDict missing = state;
  missing.erase("v.b");
  CHECK_THROWS_WITH(optimizer.load_state_dict(missing),
                    Contains("[optimizer] names and shapes must be those of the module, got missing: v.b."));
  nn::StateDict unexpected = state;
  unexpected["m.c"] = zeros({1});
  CHECK_THROWS_WITH(optimizer.load_state_dict(unexpected), Contains("got unexpected: m.c."));
  nn::StateDict misshaped = state;
  misshaped["m.w"] = zeros({4}, DType::float64);
  misshaped["steps"] = full({}, 9, DType::int64);
  CHECK_THROWS_WITH(optimizer.load_state_dict(misshaped), Contains("got misshaped: m.w (4,) for (2, 2)."));
  nn::StateDict converted = state;
  converted["m.w"] = zeros({2, 2});
  CHECK_THROWS_WITH(optimizer.load_state_dict(converted), "[optimizer] m.w must be float64, got float32.");
  CHECK(optimizer.steps() == 0);
}

TEST_CASE("a parameter that is not packed is refused") {
  const Tensor w = zeros({2, 3}).mT().requires_grad_();
  CHECK_THROWS_WITH(AdamW({{"w", w}}),
                    "[optimizer] w must be packed, row-major, got a view of other strides; contiguous() is.");
}

TEST_CASE("optimizers refuse senseless options") {
  const Problem problem;
  CHECK_THROWS_WITH(AdamW(problem.parameters(), {.beta1 = 1}),
                    "[adamw] betas must be in [0, 1), got 1 and 0.999.");
  CHECK_THROWS_AS(AdamW(problem.parameters(), {.beta2 = std::nan("")}), Error);
  CHECK_THROWS_AS(AdamW(problem.parameters(), {.eps = 0}), Error);
  CHECK_THROWS_AS(AdamW(problem.parameters(), {.weight_decay = -1}), Error);
  CHECK_THROWS_AS(SGD(problem.parameters(), {.momentum = 1}), Error);
  CHECK_THROWS_WITH(SGD(problem.parameters(), {.nesterov = true}),
                    "[sgd] momentum must be above 0 for nesterov, got 0.");
}

TEST_CASE("each parameter counts its own steps, and a state keeps them") {
  for (const bool muon : {false, true}) {
    Problem one, two;
    const NamedParameters parameters[] = {one.parameters(), two.parameters()};
    std::unique_ptr<Optimizer> both[2];
    for (int i = 0; i < 2; ++i)
      both[i] = muon ? std::unique_ptr<Optimizer>(std::make_unique<Muon>(parameters[i]))
                     : std::make_unique<AdamW>(parameters[i]);
    for (int k = 0; k < 999; ++k) {
      one.w.set_grad(ones({2, 2}, DType::float64));
      both[0]->step(0.001);
    }
    const std::vector<double> start = one.b.to_vector<double>();
    two.w.copy_(one.w.detach());
    both[1]->load_state_dict(both[0]->state_dict());
    for (Problem* problem : {&one, &two}) problem->set_gradients(0);
    for (const auto& optimizer : both) optimizer->step(0.001);
    // The first step of a parameter is lr * sign(g), but for eps.
    CHECK(std::abs(std::abs(one.b.at({0}) - start[0]) - 0.001) < 1e-9);
    CHECK(one.b.to_vector<double>() == two.b.to_vector<double>());
    CHECK(both[0]->state_dict().at("skipped.b").item() == 999);
  }
}

TEST_CASE("a state of 0.3, which counts all steps for each parameter, goes on as it did") {
  Problem one;
  AdamW optimizer(one.parameters(), kAdamWOptions);
  nn::StateDict state = optimizer.state_dict();
  CHECK(state.size() == 5);
  state["steps"] = full({}, 1000, DType::int64);
  state["m.b"] = tensor(std::vector<double>{0.1, 0.1}, {2});
  state["v.b"] = tensor(std::vector<double>{0.01, 0.01}, {2});
  optimizer.load_state_dict(state);
  one.b.set_grad(tensor(std::vector<double>{1, 1}, {2}));
  optimizer.step(0.1);
  const double m = 0.9 * 0.1 + 0.1, v = 0.99 * 0.01 + 0.01;
  const double expected =
      0.1 - 0.1 * (m / (1 - std::pow(0.9, 1001)) / (std::sqrt(v / (1 - std::pow(0.99, 1001))) + 1e-8));
  CHECK(std::abs(one.b.at({0}) - expected) < 1e-13);
}

TEST_CASE("a parameter that is unfrozen is trained, and frozen again it stays") {
  Problem problem;
  problem.w.requires_grad_(false);
  AdamW optimizer(problem.parameters());
  CHECK(optimizer.state_dict().size() == 3);
  optimizer.step(0.1);
  problem.w.requires_grad_();
  const double before = problem.w.at({0, 0});
  problem.set_gradients(0);
  optimizer.step(0.1);
  CHECK(std::abs(std::abs(problem.w.at({0, 0}) - before * (1 - 0.1 * 0.01)) - 0.1) < 1e-6);
  CHECK(optimizer.state_dict().size() == 7);  // with skipped.w, skipped.b
  problem.w.requires_grad_(false);
  const std::vector<double> frozen = problem.w.to_vector<double>();
  optimizer.step(0.1);
  CHECK(problem.w.to_vector<double>() == frozen);
}

TEST_CASE("an optimizer says that it holds what the model does not, and what is listed twice") {
  Generator g(1);
  nn::Linear a(2, 2, g), b(2, 2, g), c(2, 2, g);
  SGD of_a(a.named_parameters()), of_c(c.named_parameters());
  const NamedParameters kept = b.named_parameters();
  SGD of_b(kept);
  a.to(DType::float64);
  b.to(DType::float64);
  c.weight = zeros({2, 2}).requires_grad_();
  sum(c(ones({1, 2}))).backward();
  for (SGD* optimizer : {&of_a, &of_b, &of_c})
    CHECK_ERROR(optimizer->step(0.1), "which the model no longer has. Hint: make the optimizer after");

  const Problem p;
  CHECK_THROWS_WITH(AdamW({{"w", p.w}, {"x", p.w}}),
                    "[optimizer] each parameter must be listed once, under a name of its own, got x, which "
                    "shares elements with w.");
  CHECK_THROWS_WITH(AdamW({{"w", p.w}, {"w", p.b}}), Contains("got w twice."));
  CHECK_THROWS_WITH(SGD({{"w", p.w * 2.0}}), Contains("w must be a leaf, got the result of mul"));
  CHECK_THROWS_WITH(WeightAverage({{"w", p.w}, {"x", p.w}}, 0.9),
                    Contains("got x, which shares elements with w."));
  // Views of one buffer: the halves may be trained, but not two that share an element, in any order.
  const Tensor buffer = arange(0, 8).to(DType::float32);
  const auto piece = [&](int64_t begin, int64_t end) { return buffer.slice(0, begin, end).requires_grad_(); };
  CHECK_NOTHROW(SGD({{"left", piece(0, 4)}, {"right", piece(4, 8)}, {"none", piece(2, 2)}}));
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{1, 5}, {0, 2}, {2, 3}, {3, 4}, {0, 8}})
    for (const bool first : {true, false}) {
      const Tensor other = piece(begin, end), base = piece(0, 4);
      CHECK_THROWS_WITH(first ? SGD({{"x", other}, {"base", base}}) : SGD({{"base", base}, {"x", other}}),
                        Contains("which shares elements with "));
    }

  nn::Linear layer(2, 2, g);
  AdamW before(layer.named_parameters());
  nn::add_lora(layer, {.rank = 1, .on = {"*"}}, g);
  sum(layer(ones({1, 2}))).backward();
  CHECK_ERROR(before.step(0.1), "got none that does. Hint: make the optimizer after add_lora()");
  CHECK(before.steps() == 0);

  nn::Linear d(2, 2, g);
  WeightAverage average(d.named_parameters(), 0.9);
  const Tensor y = sum(d(ones({1, 2})));
  average.update();  // reads the parameters only
  y.backward();
  d.to(DType::float64);
  CHECK_THROWS_WITH(average.update(), Contains("which the model no longer has"));
}

TEST_CASE("nothing is changed by a step that is not finite") {
  Problem problem;
  AdamW optimizer(problem.parameters());
  problem.set_gradients(0);
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> before = problem.w.to_vector<double>();
  CHECK_THROWS_WITH(optimizer.step(0.1, clip_scale(nan, 1.0)),
                    "[clip] the norm of the gradients must be finite, got nan.");
  for (const double bad : {nan, infinity}) {
    CHECK_THROWS_AS(clip_scale(bad, 0), Error);
    CHECK_THROWS_AS(clip_scale(1, -bad), Error);
    CHECK_THROWS_AS(optimizer.step(bad), Error);
    CHECK_THROWS_AS(optimizer.step(0.1, bad), Error);
  }
  CHECK(problem.w.to_vector<double>() == before);
  CHECK(optimizer.steps() == 0);
  nn::StateDict state = optimizer.state_dict();
  state["skipped.w"] = full({}, 1, DType::int64);
  CHECK_THROWS_WITH(optimizer.load_state_dict(state), Contains("got 0 and 1."));
  for (const double size : {1e200, 1e-200})
    CHECK(std::abs(norm({full({9}, size, DType::float64), full({16}, size, DType::float64)}) / size - 5) <
          1e-14);
}

TEST_CASE("buffers belong to whole names: b is not the end of a.b") {
  Tensor trained = zeros({2}).requires_grad_(), frozen = zeros({2});
  AdamW one({{"a.b", trained}, {"b", frozen}}), two({{"a.b", trained}, {"b", frozen}});
  trained.set_grad(ones({2}));
  one.step(0.1);
  two.load_state_dict(one.state_dict());
  CHECK(two.steps() == 1);
}

}  // namespace gradus::train::test_optimizer
