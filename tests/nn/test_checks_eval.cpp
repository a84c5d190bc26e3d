// check_eval_deterministic, and the modes that every check leaves as they were.
#include "autograd/compare.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/checks.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/sequential.hpp"

namespace gradus::nn::test_checks_eval {

using namespace testing;

Tensor values(const Shape& shape) {
  Generator g(1);
  return randn(shape, g);
}

MultiHeadAttention attention() {
  Generator g(2);
  return {8, 2, g, {.dropout = 0.5}};
}

/// Drops, and forgets to list the layer that does: eval() does not reach it.
class Unlisted : public Module {
 public:
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const { return drop(x, dropout); }
  void visit(Visitor&) override {}
  Dropout drop{0.5};
};

/// Draws a number whatever the mode, and does not use it.
class Draws : public Module {
 public:
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const {
    if (dropout) dropout->next();
    return x;
  }
  void visit(Visitor&) override {}
};

/// Adds noise from a copy of the generator, which therefore stays where it is.
class DrawsFromCopy : public Module {
 public:
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const {
    Generator copy = *dropout;
    return x + randn(x.shape(), copy);
  }
  void visit(Visitor&) override {}
};

/// 1, and more with every call, in memory of its own, which the next call overwrites.
class Counts : public Module {
 public:
  explicit Counts(double step) : step_(step) {}
  Tensor operator()(const Tensor& x) {
    out_.fill_(1 + step_ * calls_++);
    return out_.expand(x.shape());
  }
  void visit(Visitor&) override {}

 private:
  Tensor out_ = zeros({1});
  double step_;
  int calls_ = 0;
};

class Throws : public Module {
 public:
  Tensor operator()(const Tensor&) const { fail("throws", "always."); }
  void visit(Visitor& v) override { v("drop", drop); }
  Dropout drop{0.5};
};

TEST_CASE("check_eval_deterministic passes layers that are still in evaluation") {
  CHECK(check_eval_deterministic(attention(), values({2, 3, 8})));
  Generator g(9);
  Sequential model{MLP(8, 16, g, {.dropout = 0.5}), Dropout(0.5), Linear(8, 2, g)};
  const CheckReport report = check_eval_deterministic(model, values({3, 8}));
  CHECK(report);
  CHECK(report.worst == 0.0);
  CHECK(check_eval_deterministic(Linear(8, 2, g), values({3, 8})));  // takes no generator
}

TEST_CASE("check_eval_deterministic names dropout that is left on") {
  const CheckReport report = check_eval_deterministic(Unlisted(), ones({8, 8}));
  CHECK_FALSE(report);
  CHECK(report.worst == 2.0);
  CHECK_HAS(report.message, "must give the same bits and draw nothing, got ");
  CHECK_HAS(report.message,
            "worst change 2, and draws from the generator. Hint: look for dropout "
            "that eval() does not reach");
}

TEST_CASE("check_eval_deterministic sees draws that change nothing, copies of a generator, and state") {
  const CheckReport draws = check_eval_deterministic(Draws(), ones({4}));
  CHECK_FALSE(draws);
  CHECK(draws.worst == 0.0);
  CHECK_HAS(draws.message, "got the same bits, and draws from the generator.");

  const CheckReport copy = check_eval_deterministic(DrawsFromCopy(), ones({4}));
  CHECK_FALSE(copy);
  CHECK(copy.worst > 0.0);
  CHECK(copy.message.find("draws from the generator") == std::string::npos);

  const CheckReport state = check_eval_deterministic(Counts(1), ones({4}));
  CHECK_FALSE(state);
  CHECK_HAS(state.message, "got 1 and then 2 at (0,), worst change 1. Hint:");
  CHECK_FALSE(check_eval_deterministic(Counts(0x1p-23), ones({4})));  // a single bit
}

TEST_CASE("checks give every module its own mode back") {
  MultiHeadAttention m = attention();
  const Tensor x = values({2, 4, 8});
  m.drop.eval();  // frozen by the user, below a module that trains
  const auto modes = [&] { return std::vector<bool>{m.training(), m.c_attn.training(), m.drop.training()}; };
  const std::vector<bool> before = {true, true, false};
  REQUIRE(modes() == before);
  CHECK(check_causal(m, x));
  CHECK(modes() == before);
  CHECK(check_batch_invariant(m, x));
  CHECK(modes() == before);
  CHECK(check_eval_deterministic(m, x));
  CHECK(modes() == before);
  CHECK(check_kv_cache(m, x));
  CHECK(modes() == before);
  m.eval();
  CHECK(check_eval_deterministic(m, x));
  CHECK_FALSE(m.training());

  Throws thrower;
  CHECK_THROWS_WITH(check_eval_deterministic(thrower, x), "[throws] always.");
  CHECK((thrower.training() && thrower.drop.training()));
}

}  // namespace gradus::nn::test_checks_eval
