// Recipe::budget: the number of steps of a run is decided during the run.
#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/train/run.hpp"
#include "gradus/train/train_json.hpp"
#include "temporary_folder.hpp"

namespace gradus::train::test_budget {

/// Fits a line in that folder, with 12 steps unless the budget says otherwise.
RunReport fit_line(const std::filesystem::path& folder, const Budget& budget) {
  Generator g(1), unseen(2);
  nn::Linear line(3, 1, g);
  const auto points = [](int64_t n, Generator& stream) {
    const Tensor x = rand({n, 3}, stream);
    return data::Batch{x, sum(x, {1}, /*keepdim=*/true)};
  };
  Trainer trainer(line, {.loss = [&](const data::Batch& batch) { return mse_loss(line(batch.x), batch.y); },
                         .batches = points,
                         .budget = budget,
                         .loop = {.steps = 12, .batch = 6, .eval_every = 3, .save_every = 4}});
  return train::fit(trainer, folder, {points(8, unseen)});
}

TEST_CASE("a budget decides after each step how many steps a run has") {
  const testing::TemporaryFolder folder;
  const auto steps_with = [&](const char* name, const Budget& budget) {
    const RunReport report = fit_line(folder / name, budget);
    CHECK(report.finished);
    const std::string recipe = files::read(folder / name / "train.json");
    CHECK(loop_options_from_json(recipe, "train.json").steps == report.steps);
    CHECK(files::read(folder / name / "last/train.json") == recipe);
    return report.steps;
  };
  CHECK(steps_with("none", {}) == 12);
  CHECK(steps_with("shorter", [](const StepReport& r) { return r.step < 5 ? 12 : 7; }) == 7);
  CHECK(steps_with("longer", [](const StepReport&) { return 14; }) == 14);
  CHECK(steps_with("at once", [](const StepReport& r) { return r.step < 5 ? 12 : 0; }) == 5);
}

TEST_CASE("a budget is told what evaluations cost") {
  const testing::TemporaryFolder folder;
  std::vector<StepReport> reports;
  (void)fit_line(folder / "run", [&](const StepReport& r) {
    reports.push_back(r);
    return 4;
  });
  REQUIRE(reports.size() == 4);
  CHECK(reports[2].eval_tokens == 0);
  CHECK(reports[2].eval_seconds == 0);
  CHECK(reports[3].eval_tokens == 8);
  CHECK(reports[3].eval_seconds > 0);
  CHECK(reports[3].elapsed > reports[3].eval_seconds);
}

}  // namespace gradus::train::test_budget
