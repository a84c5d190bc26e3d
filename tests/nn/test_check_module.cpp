// check_module finds each planted fault by the check that is for it.
#include "gradus/nn/check_module.hpp"

#include <sstream>

#include "autograd/compare.hpp"
#include "catch.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "nn/check_models.hpp"

namespace test_check_module {

using namespace gradus;
using namespace gradus::testing;
using Catch::Matchers::ContainsSubstring;

/// The message of a check that failed; fails the test if it did not.
template <class M, class F>
std::string failure(const char* check, M model, const CheckBatch& batch, F loss,
                    const ModuleCheckOptions& options = {}) {
  const ModuleReport report = check_module(model, batch, loss, options);
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
  CHECK_THAT(found("causal", Decoder::no_mask), ContainsSubstring("sees 5 positions ahead"));
  CHECK_THAT(found("causal", Decoder::off_by_one), ContainsSubstring("sees 1 position ahead: at (0, 0, 0)"));
  CHECK_THAT(found("causal", Decoder::earlier), ContainsSubstring("sees 1 position ahead"));
  CHECK_THAT(found("deterministic", Decoder::always_drops), ContainsSubstring("draws from the generator"));
  CHECK_THAT(found("dropout", Decoder::never_drops),
             ContainsSubstring("got the same without drop. Hint: the model must call"));
  CHECK_THAT(found("gradients", Decoder::detaches),
             ContainsSubstring("got no gradient for wpe.weight. Hint: look for a detach()"));
  CHECK_THAT(found("examples", Decoder::softmax_over_batch), ContainsSubstring(" alone and "));
  CHECK_THAT(found("examples", Decoder::normalizes_over_batch),
             ContainsSubstring("Hint: look for statistics or sums over dimension 0"));
  CHECK_THAT(found("examples", Decoder::mixes_batch_and_time),
             ContainsSubstring("when each row moved up by one"));
  CHECK_THAT(found("chance", Decoder::too_large),
             ContainsSubstring(" for 2.3979. Hint: if it is higher, scale"));
  CHECK_THAT(found("gradcheck", Decoder::casts), ContainsSubstring("numeric"));
  CHECK_THAT(found("tied", Decoder::copies_the_embedding),
             ContainsSubstring("got wte.weight and head, two tensors with equal values"));
  CHECK_THAT(found("tied", Decoder::hides_the_tie),
             ContainsSubstring("got another handle on wte.weight, a leaf float32 (11, 8) that linear uses"));
  CHECK_THAT(found("overfit", Decoder::ignores_x), ContainsSubstring("after 300 steps from 2."));
}

TEST_CASE("faults of parameters are found") {
  CHECK_THAT(
      failure("listed",
              Custom([](Custom& m, const Tensor& x) { return m.fc(x) * m.extra; }, weight({3}, 1.0), false),
              regression(), squares),
      ContainsSubstring("got another leaf float32 (3,) that mul uses. Hint: visit must list it"));
  Mlp model = mlp();
  model.b = drawn({3, 16});
  CHECK_THAT(failure("parameters", model, regression(), squares),
             ContainsSubstring("got b, which requires no gradient"));
  model.b = drawn({3, 16}).requires_grad_() * 0.1;
  CHECK_THAT(failure("parameters", model, regression(), squares),
             ContainsSubstring("got b, the result of an operation"));
  CHECK_THAT(failure("gradients", Mlp(weight({16, kC}, 0.0), weight({3, 16}, 0.0)), regression(), squares),
             ContainsSubstring("got only zeros for a, b, bias"));
  CHECK_THAT(
      failure("gradients", Mlp(weight({16, kC}, 0.1), weight({3, 16}, 0.1), -100.0), regression(), squares),
      ContainsSubstring("got only zeros for a, b, bias"));
  CHECK_THAT(failure("gradients", Custom([](Custom& m, const Tensor& x) { return sqrt(m.fc(x) * 0.0); }),
                     regression(), squares),
             ContainsSubstring("got NaN or infinity for fc.weight, fc.bias"));
  CHECK_THAT(failure("gradients", Mlp(ones({16, kC}).requires_grad_(), ones({3, 16}).requires_grad_()),
                     regression(), squares),
             ContainsSubstring("got equal rows in a"));
  struct DeepCopy : Mlp {
    DeepCopy() : Mlp(mlp()) {}
    DeepCopy(const DeepCopy& other) : Mlp(other) { a = weight(a.shape(), 0.4); }
  };
  CHECK_THAT(failure("tied", DeepCopy(), regression(), squares),
             ContainsSubstring("got a copy with another a"));
}

TEST_CASE("faults of calls are found") {
  const auto found = [](const char* check, Custom::F f, Tensor extra = {}, bool lists = true) {
    return failure(check, Custom(std::move(f), std::move(extra), lists), regression(), squares);
  };
  CHECK_THAT(found("inputs",
                   [](Custom& m, const Tensor& x) {
                     Tensor view = x.slice(0, 0, 1);
                     view.fill_(0.0);
                     return m.fc(x);
                   }),
             ContainsSubstring("got another x. Hint: look for copy_()"));
  CHECK_THAT(found("inputs",
                   [](Custom& m, const Tensor& x) {
                     m.fc.bias.fill_(0.0);
                     return m.fc(x);
                   }),
             ContainsSubstring("got another fc.bias"));
  // A state that is carried on, and not detached.
  CHECK_THAT(found(
                 "repeats", [](Custom& m, const Tensor& x) { return m.extra = m.fc(x) + m.extra * 0.5; },
                 zeros({3}), false),
             ContainsSubstring("Hint: look for state kept between calls"));
  // A running mean that visit does not list.
  const auto running = [](Custom& m, const Tensor& x) {
    if (m.training()) m.extra = m.extra * 0.9 + mean(x, {0}) * 0.1;
    return m.fc(m.training() ? x : x - m.extra);
  };
  CHECK_THAT(found("state", running, zeros({kC}), false), ContainsSubstring("a loss of "));
  CHECK_THAT(found("float64", [](Custom& m, const Tensor& x) { return m.fc(x + drawn({kC})); }),
             ContainsSubstring("the error \"[add]"));
  CHECK_THAT(found("float64", [](Custom& m, const Tensor& x) { return m.fc(x).to(DType::float32); }),
             ContainsSubstring("error"));
  const std::string wrong =
      found("gradcheck", [](Custom& m, const Tensor& x) { return doubled_wrongly(m.fc(x)); });
  CHECK_THAT(wrong, ContainsSubstring("got fc.weight at ("));
  CHECK_THAT(wrong, ContainsSubstring("likely cause: "));
  CHECK_THAT(failure("decode", Cached(true), sequences(), squares, {.causal = true}),
             ContainsSubstring("when x was fed one by one"));
}

TEST_CASE("faults of the loss are found") {
  const auto found = [](const char* check, auto loss) { return failure(check, mlp(), regression(), loss); };
  CHECK_THAT(found("mean", [](const Tensor& out, const Tensor& y) { return sum((out - y) * (out - y)); }),
             ContainsSubstring("Hint: it must be a mean over examples"));
  CHECK_THAT(found("repeats",
                   [](const Mlp& m, const Tensor& x, const Tensor& y) {
                     const Tensor loss = mse_loss(m(x), y);
                     if (loss.requires_grad()) loss.backward();
                     return mse_loss(m(x), y);
                   }),
             ContainsSubstring("got a gradient of a before backward()"));
  CHECK_THAT(found("repeats",
                   [](Mlp& m, const Tensor& x, const Tensor& y) {
                     m.zero_grad();
                     return mse_loss(m(x), y);
                   }),
             ContainsSubstring("got a gradient of a that is not twice the first one"));
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
  CHECK_THAT(
      printed.str(),
      ContainsSubstring("-     tied           options.skip names it\n"
                        "ok    inputs         a call must not overwrite the batch or the parameters\n"));
  CHECK(check_module(model, text(), classes, {.chance_loss = 9.0}).failed() == Names{"chance", "causal"});
  CHECK(check_module(model, text(), classes, {.chance_loss = 9.0, .chance_tolerance = 9.0, .causal = false})
            .failed()
            .empty());
  CHECK(error_of([&] { check_module(model, text(), classes, {.skip = {"casual"}}); }) ==
        "[check_module] skip must have names of checks, got casual.");
  CHECK(error_of([&] {
          check_module(model, text(), [](const Tensor& out, const Tensor&) { return out; });
        }) == "[check_module] the loss must be a scalar, got (4, 6, 11).");
  const PassesChecks matcher({text().x, text().y}, classes);
  CHECK_FALSE(matcher.match(model));
  CHECK_THAT(matcher.toString(),
             ContainsSubstring("must pass all checks, but:\n[causal] no output may depend"));
  // As a train::Recipe has it: the loss borrows the model.
  const CheckBatch batch = text();
  const auto borrowed = [&](const CheckBatch& b, Generator* dropout) {
    return classes(model(b.x, dropout), b.y);
  };
  CHECK(check_module(model, batch, borrowed).failed() == Names{"causal"});
}

}  // namespace test_check_module
