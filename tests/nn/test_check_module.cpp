// check_module finds each planted fault by the check that is for it.
#include "gradus/nn/check_module.hpp"

#include "autograd/compare.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "nn/check_models.hpp"

namespace gradus::test_check_module {

using namespace gradus::testing;

/// The message of a check that failed; fails the test if it did not.
template <class M, class F>
std::string failure(const char* check, M model, const CheckBatch& batch, F loss,
                    const ModuleCheckOptions& options = {}) {
  ModuleCheckOptions only = options;
  only.only = {check};
  const ModuleReport report = check_module(model, batch, loss, only);
  std::ostringstream all;
  all << report;
  UNSCOPED_INFO(check << " must fail in\n" << all.str());
  for (const CheckFinding& finding : report.findings)
    if (finding.name == check && finding.outcome == CheckFinding::failed) return finding.message;
  FAIL_CHECK();
  return "";
}

Tensor doubled_wrongly(const Tensor& x) {  // its rule forgets the factor
  return record(OpName::custom("doubled"), x.detach() * 2.0, {{x, [](const Tensor& gy) { return gy; }}});
}

TEST_CASE("faults of a decoder are found") {
  const auto found = [](const char* check, Decoder::Fault fault) {
    return failure(check, Decoder(fault), text(), classes);
  };
  CHECK_HAS(found("causal", Decoder::no_mask), "sees 5 positions ahead");
  CHECK_HAS(found("causal", Decoder::off_by_one), "sees 1 position ahead: ", " at (0, 0, 0)");
  CHECK_HAS(found("causal", Decoder::earlier), "sees 1 position ahead");
  CHECK_HAS(found("deterministic", Decoder::always_drops), "draws from the generator");
  CHECK_HAS(found("dropout", Decoder::never_drops), "got the same without drop. Hint: the model must call");
  CHECK_HAS(found("gradients", Decoder::detaches),
            "got no gradient for wpe.weight. Hint: look for a detach()");
  CHECK_HAS(found("examples", Decoder::softmax_over_batch), " alone. Hint:");
  CHECK_HAS(found("examples", Decoder::normalizes_over_batch),
            "Hint: look for statistics or sums over dimension 0");
  CHECK_HAS(found("examples", Decoder::mixes_batch_and_time), "when each row moved up by one");
  CHECK_HAS(found("chance", Decoder::too_large), " for 2.3979. Hint: if it is higher, scale");
  CHECK_HAS(found("gradcheck", Decoder::casts), "numeric");
  CHECK_HAS(found("tied", Decoder::copies_the_embedding),
            "got wte.weight and head, two tensors with equal values");
  CHECK_HAS(found("tied", Decoder::hides_the_tie),
            "got another handle on wte.weight, a leaf float32 (11, 8) that linear uses");
  CHECK_HAS(found("overfit", Decoder::ignores_x), "after 300 steps from 2.");
}

TEST_CASE("faults of parameters are found") {
  CHECK_HAS(
      failure("listed",
              Custom([](Custom& m, const Tensor& x) { return m.fc(x) * m.extra; }, weight({3}, 1.0), false),
              regression(), squares),
      "got another leaf float32 (3,) that mul uses. Hint: visit must list it");
  Mlp model = mlp();
  model.b = drawn({3, 16});
  CHECK_HAS(failure("parameters", model, regression(), squares), "got b, which requires no gradient");
  model.b = drawn({3, 16}).requires_grad_() * 0.1;
  CHECK_HAS(failure("parameters", model, regression(), squares), "got b, the result of an operation");
  CHECK_HAS(failure("gradients", Mlp(weight({16, kC}, 0.0), weight({3, 16}, 0.0)), regression(), squares),
            "got only zeros for a, b, bias");
  CHECK_HAS(
      failure("gradients", Mlp(weight({16, kC}, 0.1), weight({3, 16}, 0.1), -100.0), regression(), squares),
      "got only zeros for a, b, bias");
  CHECK_HAS(failure("gradients", Custom([](Custom& m, const Tensor& x) { return sqrt(m.fc(x) * 0.0); }),
                    regression(), squares),
            "got NaN or infinity for fc.weight, fc.bias");
  CHECK_HAS(failure("gradients", Mlp(ones({16, kC}).requires_grad_(), ones({3, 16}).requires_grad_()),
                    regression(), squares),
            "got equal rows in a");
  struct DeepCopy : Mlp {
    DeepCopy() : Mlp(mlp()) {}
    DeepCopy(const DeepCopy& other) : Mlp(other) { a = weight(a.shape(), 0.4); }
  };
  CHECK_HAS(failure("tied", DeepCopy(), regression(), squares), "got a copy with another a");
}

TEST_CASE("faults of calls are found") {
  const auto found = [](const char* check, Custom::F f, Tensor extra = {}, bool lists = true) {
    return failure(check, Custom(std::move(f), std::move(extra), lists), regression(), squares);
  };
  CHECK_HAS(found("inputs",
                  [](Custom& m, const Tensor& x) {
                    Tensor view = x.slice(0, 0, 1);
                    view.fill_(0.0);
                    return m.fc(x);
                  }),
            "got another x. Hint: look for copy_()");
  CHECK_HAS(found("inputs",
                  [](Custom& m, const Tensor& x) {
                    m.fc.bias.fill_(0.0);
                    return m.fc(x);
                  }),
            "got another fc.bias");
  // A state that is carried on, and not detached.
  CHECK_HAS(found(
                "repeats", [](Custom& m, const Tensor& x) { return m.extra = m.fc(x) + m.extra * 0.5; },
                zeros({3}), false),
            "Hint: look for state kept between calls");
  CHECK_HAS(
      found("deterministic",
            [](Custom& m, const Tensor& x) { return dropout(m.fc(x), 0.5, m.g); }),  // which eval() misses
      "must give the same bits twice, and draw nothing, got ", ". Hint: look for dropout that eval()");
  for (const double step : {1.0, 0x1p-23})  // a single bit
    CHECK_HAS(found(
                  "deterministic",
                  [step, calls = 0](Custom& m, const Tensor& x) mutable {  // in memory of its own
                    m.extra.fill_(1 + step * calls++);
                    return m.extra.expand({x.size(0), 3}) + m.fc(x) * 0.0;
                  },
                  zeros({1}), false),
              "must give the same bits twice, and draw nothing, got ");
  const auto indexed = [](Custom& m, const Tensor& x) {
    return m.fc(x) + cumsum(ones({x.size(0), 1}, x.dtype()), 0);
  };
  CHECK_HAS(found("examples", indexed), " at (0, 0) when each row moved up by one.");
  CHECK_HAS(found("examples", [](Custom& m, const Tensor& x) { return m.fc(x + x.slice(0, 0, 1)); }),
            "moved up");
  CHECK_HAS(found("examples", [](Custom& m, const Tensor& x) { return m.fc(x) + 1e-3 * mean(x); }), " alone");
  // A running mean that visit does not list.
  const auto running = [](Custom& m, const Tensor& x) {
    if (m.training()) m.extra = m.extra * 0.9 + mean(x, {0}) * 0.1;
    return m.fc(m.training() ? x : x - m.extra);
  };
  CHECK_HAS(found("state", running, zeros({kC}), false), "a loss of ");
  CHECK_HAS(found("float64", [](Custom& m, const Tensor& x) { return m.fc(x + drawn({kC})); }),
            "the error \"[add]");
  CHECK_HAS(found("float64", [](Custom& m, const Tensor& x) { return m.fc(x).to(DType::float32); }), "error");
  const std::string wrong =
      found("gradcheck", [](Custom& m, const Tensor& x) { return doubled_wrongly(m.fc(x)); });
  CHECK_HAS(wrong, "got fc.weight at (", "likely cause: ");
  CHECK_HAS(failure("decode", Cached(true), sequences(), squares, {.causal = true}),
            "when x was fed one by one");
}

TEST_CASE("draws in evaluation are found, whatever they change") {
  struct Draws : Module {  // and does not use it, or draws from a copy, which leaves the generator alone
    explicit Draws(bool copies) : copies_(copies) {}
    void visit(Visitor& v) override { v("fc", fc); }
    Tensor operator()(const Tensor& x, Generator* dropout) const {
      if (!copies_) dropout->next();
      Generator copy = *dropout;
      return copies_ ? fc(x) + randn({x.size(0), 3}, copy) : fc(x);
    }
    bool copies_;
    Generator g{3};
    Linear fc{kC, 3, g};
  };
  CHECK_HAS(failure("deterministic", Draws(false), regression(), squares), "got draws from the generator.");
  CHECK_HAS(failure("deterministic", Draws(true), regression(), squares), " became ");
}

TEST_CASE("faults of the loss are found") {
  const auto found = [](const char* check, auto loss) { return failure(check, mlp(), regression(), loss); };
  CHECK_HAS(found("mean", [](const Tensor& out, const Tensor& y) { return sum((out - y) * (out - y)); }),
            "Hint: it must be a mean over examples");
  CHECK_HAS(found("repeats",
                  [](const Mlp& m, const Tensor& x, const Tensor& y) {
                    const Tensor loss = mse_loss(m(x), y);
                    if (loss.requires_grad()) loss.backward();
                    return mse_loss(m(x), y);
                  }),
            "got a gradient of a before backward()");
  CHECK_HAS(found("repeats",
                  [](Mlp& m, const Tensor& x, const Tensor& y) {
                    m.zero_grad();
                    return mse_loss(m(x), y);
                  }),
            "got a gradient of a that is not twice the first one");
}

TEST_CASE("the model is left as it was found") {
  Decoder model(Decoder::none);
  classes(model(text().x, &model.g), text().y).backward();
  model.ln.eval();
  std::vector<std::pair<Tensor, Tensor>> before;  // handle and gradient
  StateDict state;
  for (const auto& [name, p] : model.named_parameters()) {
    before.emplace_back(p, p.grad());
    state.emplace(name, p.detach() * 1.0);
  }
  check_module(model, text(), classes);
  CHECK_THROWS_AS(check_module(model, text(),
                               [](Decoder& m, const Tensor&, const Tensor&) -> Tensor {
                                 m.eval();
                                 fail("loss", "always.");
                               }),
                  Error);
  const NamedParameters after = model.named_parameters();
  for (size_t i = 0; i < after.size(); ++i) {
    CHECK(after[i].second.impl() == before[i].first.impl());
    CHECK(after[i].second.grad().impl() == before[i].second.impl());
    CHECK(after[i].second.to_vector<float>() == state.at(after[i].first).to_vector<float>());
  }
  CHECK(model.training());
  CHECK_FALSE(model.ln.training());
  CHECK(model.drop.p() == 0.1);
}

TEST_CASE("options and the report of check_module") {
  Decoder model(Decoder::no_mask);
  const ModuleReport report = check_module(model, text(), classes, {.skip = {"tied"}, .causal = false});
  CHECK(report);
  CHECK(report.findings.at(2).outcome == CheckFinding::left_out);
  std::ostringstream printed;
  printed << report;
  CHECK_HAS(printed.str(),
            "-     tied           options.skip names it\n"
            "ok    inputs         a call must not overwrite the batch or the parameters\n");
  CHECK(check_module(model, text(), classes, {.chance_loss = 9.0}).failed() == Names{"chance", "causal"});
  CHECK(check_module(model, text(), classes, {.chance_loss = 9.0, .chance_tolerance = 9.0, .causal = false})
            .failed()
            .empty());
  CHECK_THROWS_WITH(check_module(model, text(), classes, {.skip = {"casual"}}),
                    "[check_module] skip and only must have names of checks, got casual.");
  CHECK_THROWS_WITH(check_module(model, text(), [](const Tensor& out, const Tensor&) { return out; }),
                    "[check_module] the loss must be a scalar, got (4, 6, 11).");
  // As a train::Recipe has it: the loss borrows the model.
  const CheckBatch batch = text();
  const auto borrowed = [&](const CheckBatch& b, Generator* dropout) {
    return classes(model(b.x, dropout), b.y);
  };
  CHECK(check_module(model, batch, borrowed).failed() == Names{"causal"});
}

}  // namespace gradus::test_check_module
