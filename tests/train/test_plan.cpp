// What a plan decides, from times that are given.
#include "gradus/train/plan.hpp"

#include "catch.hpp"
#include "gradus/models/architecture.hpp"

namespace gradus::train::test_plan {

constexpr OtherWork kOther{.eval_targets = 100'000, .sample_tokens = 300};
bool keeps_nothing(const std::string&) { return false; }

TEST_CASE("a plan fills the time, evaluations, sample and all") {
  for (const double seconds : {10.0, 60.0, 600.0, 1800.0})
    for (const double step : {0.004, 0.03, 0.5}) {
      INFO(seconds << " s, " << step << " s a step");
      const TrainConfig asked = preset("nano");
      const Pace pace{step, step / 768 / 3};
      const TrainConfig plan = planned(asked, seconds, kOther, pace, keeps_nothing);
      const double taken = planned_seconds(plan, kOther, pace);
      CHECK(taken <= seconds * 1.0001);
      const double evaluation = pace.eval_token * static_cast<double>(plan.eval_tokens);
      CHECK(taken + 2 * step + evaluation >= seconds);  // one step more may be one evaluation more
      CHECK(plan.eval_every == std::max<int64_t>(1, plan.steps / 10));
      CHECK(plan.warmup <= plan.steps / 20);
      const double evaluating = pace.eval_token * static_cast<double>(10 * plan.eval_tokens);
      CHECK(evaluating <= std::max(0.011 * seconds, 10 * 64 * pace.eval_token));
    }
}

TEST_CASE("a longer text gets a larger vocabulary") {
  CHECK(planned_vocab(0) == 257);
  CHECK(planned_vocab(100e3) == 257);
  CHECK(planned_vocab(1'115'394) == 1089);
  CHECK(planned_vocab(4'137'850) == 4040);
  CHECK(planned_vocab(1e12) == 4096);
}

TEST_CASE("the more often a text is read, the more dropout, later for a small model") {
  const std::tuple<double, double, double> cases[] = {
      {0, 10, 0},       {2.5, 10, 0},   {8, 10, 0.1},
      {22, 10, 0.2},    {1e9, 10, 0.2}, {6, 5, 0.1},      // from 6 epochs
      {5.99, 5, 0},     {20, 5, 0.2},   {19.99, 5, 0.1},  // and 20 on
      {8, 1.9, 0.1},    {8, 1.8, 0},    {17.9, 0.6, 0},
      {18.1, 0.6, 0.1}, {22, 0.8, 0.1}, {1e9, 0.8, 0.2}};
  for (const auto& [epochs, per_token, dropout] : cases) CHECK(planned_dropout(epochs, per_token) == dropout);
}

TEST_CASE("teachers make about five epochs each, in two fifths of the time, and taught ones sixteen") {
  const std::tuple<double, int64_t, int64_t, int64_t, double> cases[] = {
      {6.9, 1, 2, 0, 0},      {7, 1, 2, 1, 0.4},     {16.9, 1, 2, 1, 0.284}, {17, 1, 2, 2, 0.4},
      {24, 1, 2, 2, 0.4},     {48, 1, 2, 4, 0.4},    {20, 1, 1, 2, 0.4},     {30, 1, 8, 2, 0.32},
      {40, 1, 8, 4, 0.4},     {6, 1, 32, 0, 0},      {61, 1, 2, 6, 0.4},     {62, 1, 2, 2, 0.65},
      {90, 1, 2, 2, 0.65},    {300, 1, 2, 10, 0.85}, {1e9, 1, 1, 16, 0.85},  {1e9, 1, 5, 15, 0.85},
      {1e9, 1, 32, 16, 0.85}, {23, 2, 2, 0, 0},      {40, 2, 2, 4, 0.4},     {95, 8, 2, 0, 0},
      {195, 8, 2, 8, 0.197}};
  for (const auto& [epochs, members, slots, teachers, share] : cases) {
    INFO(epochs << " epochs, " << members << " members, " << slots << " at once");
    const Teaching plan = planned_teaching(epochs, members, slots);
    CHECK(plan.teachers == teachers);
    CHECK(plan.share == Approx(share).margin(1e-3));
  }
}

// What --minutes chooses for a text of so many megabytes with 2.5 bytes a token, on cores each of which makes
// so many of the matrix products' operations a second.
std::string choice(double cores, double gflops, double minutes, double megabytes) {
  const double tokens = 1e6 * megabytes / 2.5;
  const auto pace = [&](const TrainConfig& config) {
    return Pace{6 * tokens_per_step(config) * static_cast<double>(config.model.num_parameters()) /
                (1e9 * gflops * cores)};
  };
  std::vector<Choice> choices;
  for (const models::Preset& one : models::architecture("llama").presets) {
    choices.push_back({preset(one.name), *one.least_tokens});
    choices.back().config.model.vocab_size = planned_vocab(1e6 * megabytes);
  }
  choices[0].pace = pace(choices[0].config);
  const Teaching teaching = planned_teaching(choices, 60 * minutes, tokens, 1, static_cast<int64_t>(cores));
  if (teaching.teachers > 0)
    return concat(choices[0].config.preset, " with ", teaching.teachers,
                  teaching.share > 0.4 ? " taught" : "");
  const auto seconds = [&] { return 60 * minutes; };
  return planned_choice(choices, seconds, pace).config.preset;
}

TEST_CASE("--minutes chooses by the cores, their speed, the time and the text") {
  constexpr double kAvx2 = 40, kAmx = 190;  // measured: 1e9 operations a second of a core
  const std::tuple<double, double, double, double, const char*> cases[] = {
      {2, kAvx2, 1, 1.1, "mini"},
      {2, kAvx2, 3, 1.1, "mini"},
      {2, kAvx2, 10, 1.1, "mini with 2"},
      {2, kAvx2, 30, 1.1, "mini with 4"},
      {2, kAmx, 1, 1.1, "mini with 1"},
      {2, kAmx, 3, 1.1, "mini with 2"},
      {2, kAmx, 10, 1.1, "mini with 2 taught"},
      {2, kAmx, 30, 1.1, "mini with 8 taught"},
      {8, kAvx2, 1, 1.1, "mini with 1"},
      {8, kAvx2, 10, 1.1, "mini with 2 taught"},
      {8, kAmx, 1, 1.1, "mini with 4"},
      {32, kAmx, 1, 1.1, "mini with 4 taught"},
      {2, kAvx2, 1, 4.1, "mini"},
      {2, kAmx, 1, 4.1, "mini"},
      {2, kAvx2, 10, 40, "mini"},
      {2, kAmx, 10, 40, "midi"},
      {8, kAmx, 10, 40, "midi"},
      {8, kAmx, 30, 40, "maxi"},
      {32, kAmx, 10, 40, "maxi"},
  };
  for (const auto& [cores, gflops, minutes, megabytes, want] : cases) {
    INFO(cores << " cores of " << gflops << " GFLOP/s, " << minutes << " minutes, " << megabytes << " MB");
    CHECK(choice(cores, gflops, minutes, megabytes) == want);
  }
}

TEST_CASE("a sample costs a window a token where the window slides, and little before") {
  const TrainConfig config = preset("nano");  // windows of 64
  const Pace pace{0.01, 1e-5};
  const auto sampled = [&](int64_t tokens) {
    return planned_seconds(config, {.sample_tokens = tokens}, pace) - planned_seconds(config, {}, pace);
  };
  CHECK(sampled(64) == Approx(64 * 10 * pace.eval_token));
  CHECK(sampled(300) == Approx((300 * 10 + 236 * 64) * pace.eval_token));
}

TEST_CASE("where every evaluation is of the whole part, the last one is no other") {
  TrainConfig config = preset("nano");
  config.steps = 100;
  config.eval_every = 50;
  const Pace pace{0.01, 1e-4};
  const auto evaluating = [&](int64_t tokens) {
    config.eval_tokens = tokens;
    return planned_seconds(config, {.eval_targets = 5'000}, pace) - planned_seconds(config, {}, pace);
  };
  CHECK(evaluating(0) == Approx(2 * 0.5));
  CHECK(evaluating(5'000) == Approx(2 * 0.5));
  CHECK(evaluating(4'999) == Approx(2 * 0.4999 + 0.5));
}

TEST_CASE("a plan keeps what was asked for") {
  TrainConfig asked = preset("nano");
  asked.eval_every = 7;
  asked.eval_tokens = 0;
  asked.warmup = 33;
  const Pace pace{0.01, 1e-6};
  const TrainConfig plan = planned(asked, 60, kOther, pace, [](const std::string& flag) {
    return flag == "eval-every" || flag == "eval-tokens" || flag == "warmup";
  });
  CHECK(plan.eval_every == 7);
  CHECK(plan.eval_tokens == 0);
  CHECK(plan.warmup == 33);
  CHECK(std::abs(planned_seconds(plan, kOther, pace) - 60) < 0.3);  // an evaluation takes a tenth
  CHECK(planned(asked, 1e-9, kOther, pace, keeps_nothing).steps == 1);
}

/// A run by a plan on a machine whose clock is a number.
struct Simulated {
  double seconds = 0;     ///< that it took, all told
  int64_t steps = 0;      ///< that it made
  int64_t corrected = 0;  ///< times
};

/// Steps take `step` seconds, and `slowing` more at the end, evaluations a third of `step` a token; stands
/// still for `still` seconds in the first step after `stop` seconds.
Simulated simulate(double minutes, double planned_step, double step, double stop, double still,
                   double slowing = 0) {
  TrainConfig asked = preset("mini");
  asked.minutes = minutes;
  const Pace hoped{planned_step, planned_step / 3 / tokens_per_step(asked)},
      true_pace{step, step / 3 / tokens_per_step(asked)};
  double now = 1;  // measured and planned in the first second
  const double start = now;
  TimeBudget budget(planned(asked, 60 * minutes - now, kOther, hoped, keeps_nothing), kOther,
                    [&] { return now; });
  Simulated run;
  StepReport report;
  bool stood = false;
  while (report.step < budget.plan().steps) {
    now += step + slowing * now / (60 * minutes);
    if (!stood && now > stop) {
      now += still;
      stood = true;
    }
    ++report.step;
    report.elapsed = now - start;
    const int64_t before = budget.plan().steps;
    CHECK(budget.steps(report) == budget.plan().steps);
    run.corrected += budget.plan().steps != before ? 1 : 0;
    const TrainConfig& plan = budget.plan();
    if (report.step % plan.eval_every != 0 && report.step != plan.steps) continue;
    const double seconds = true_pace.eval_token * static_cast<double>(plan.eval_tokens);
    now += seconds;
    report.eval_seconds += seconds;
    report.eval_tokens += plan.eval_tokens;
  }
  run.steps = report.step;
  TrainConfig rest = budget.plan();  // What is done after the steps, without those.
  const double steps = static_cast<double>(rest.steps) * step;
  rest.eval_every = 1 << 30;
  run.seconds = now + planned_seconds(rest, kOther, true_pace) - steps;
  return run;
}

TEST_CASE("a run that stood still ends in its time, and makes the steps that the rest of it allows") {
  for (const double step : {0.001, 0.01, 0.1})
    for (const double stop : {2.0, 5.0, 8.0}) {
      const Simulated run = simulate(0.5, step, step, stop, 20), straight = simulate(0.5, step, step, 1e9, 0);
      INFO(step << " s a step, stopped at " << stop << " s: " << run.steps << " steps in " << run.seconds
                << " s, " << straight.steps << " in " << straight.seconds << " s without");
      CHECK(straight.seconds < 30.5);
      CHECK(straight.seconds > 28);
      CHECK(run.seconds < 30.5);
      CHECK(run.seconds > 28);
      CHECK(static_cast<double>(run.steps) * step > 7);  // of the ten seconds that it ran
    }
}

TEST_CASE("a run that wakes when its time is over ends at once") {
  for (const double stop : {11.0, 25.0, 29.3}) {
    const Simulated run = simulate(0.5, 0.001, 0.001, stop, 20);
    INFO(run.seconds << " s");
    CHECK(run.seconds > stop + 20);
    CHECK(run.seconds < stop + 20.5);
  }
}

TEST_CASE("a plan by a pace that was wrong ten times over is corrected, and ends in its time") {
  for (const double wrong : {0.1, 0.5, 2.0, 10.0})
    for (const double slowing : {0.0, 0.005}) {
      const Simulated run = simulate(0.5, 0.01 * wrong, 0.01, 1e9, 0, slowing);
      INFO(wrong << ", " << slowing << ": " << run.seconds << " s, " << run.corrected << " corrections");
      CHECK(run.seconds < 30.5);
      CHECK(run.seconds > 28);
      CHECK(run.corrected >= (slowing > 0 ? 4 : 1));  // often if the pace changes
      CHECK(run.corrected <= 40);
    }
}

TEST_CASE("a plan that is corrected counts the evaluations that are still to come, and no other") {
  TrainConfig config = preset("nano");
  config.eval_every = 10;
  config.eval_tokens = 1000;
  const OtherWork other{.eval_targets = 1000};  // The last one is no other.
  const Pace pace{0.01, 1e-3};                  // An evaluation takes a second, as a hundred steps do.
  const auto seconds_from = [&](int64_t done, int64_t steps) {
    double seconds = 0.3;  // at the end
    for (int64_t step = done + 1; step <= steps; ++step)
      seconds += pace.step + (step % config.eval_every == 0 || step == steps ? 1 : 0);
    return seconds;
  };
  CHECK(replanned(config, 100, -5, other, pace).steps == 100);
  CHECK(replanned(config, 100, 1e9, {.most_steps = 150}, pace).steps == 150);
  CHECK(planned(config, 1e9, {.most_steps = 150}, pace, [](const std::string&) { return true; }).steps ==
        150);
  CHECK(most_taught_steps(config, 76'800) == 2500);  // 768 tokens a step
  for (const int64_t done : {1, 9, 10, 11, 95, 100})
    for (const int64_t steps : {done + 1, done + 4, done + 33, int64_t{500}}) {
      INFO(done << " of " << steps << " steps done");
      config.steps = 120;
      CHECK(replanned(config, done, seconds_from(done, steps) + 0.005, other, pace).steps == steps);
    }
}

TEST_CASE("the last evaluation costs at most a 25th of the steps, and reads no more than there is") {
  TrainConfig config = preset("nano");  // 2000 steps of 12 windows of 64
  CHECK(last_eval_tokens(config, 1'000'000'000) == 2000LL * 12 * 64 * 3 / 25);
  CHECK(last_eval_tokens(config, 1000) == 1000);
  config.steps = 1;
  CHECK(last_eval_tokens(config, 1'000'000'000) == config.eval_tokens);
}

TEST_CASE("presets to plan with are there, the smallest first") {
  for (const models::Architecture* row : models::architectures()) {
    CHECK(preset(usual_preset(row->name)).model.arch == row->name);
    double least = -1;
    int64_t before = 0;
    for (const models::Preset& choice : row->presets) {
      if (!choice.least_tokens) continue;
      CHECK(*choice.least_tokens > least);
      least = *choice.least_tokens;
      models::DecoderConfig model = preset(choice.name).model;
      CHECK(model.arch == row->name);
      model.vocab_size = 65;
      CHECK(model.num_parameters() > before);
      before = model.num_parameters();
    }
  }
}

}  // namespace gradus::train::test_plan
