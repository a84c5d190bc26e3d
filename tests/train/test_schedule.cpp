#include <numbers>

#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/schedule.hpp"

namespace gradus::train::test_schedule {

const Schedule kSchedule{.lr = 1e-3, .min_lr = 1e-4, .warmup = 100, .steps = 2000, .decay = Decay::cosine};
bool close(double a, double b) { return std::abs(a - b) <= 1e-15; }

TEST_CASE("the rate rises in equal steps and never is 0") {
  for (const Decay decay : {Decay::cosine, Decay::linear, Decay::constant, Decay::wsd}) {
    Schedule schedule = kSchedule;
    schedule.decay = decay;
    CHECK(close(schedule(0), 1e-3 / 101));
    CHECK(close(schedule(49), 1e-3 * 50 / 101));
    CHECK(close(schedule(99), 1e-3 * 100 / 101));
    CHECK(close(schedule(100), 1e-3));
  }
}

TEST_CASE("the rate falls along a cosine, a line, or not at all") {
  Schedule schedule = kSchedule;
  CHECK(close(schedule(1050), 5.5e-4));                                          // Half of the way.
  CHECK(close(schedule(575), 1e-4 + 9e-4 * (1 + std::numbers::sqrt2 / 2) / 2));  // A quarter.
  schedule.decay = Decay::linear;
  CHECK(close(schedule(1050), 5.5e-4));
  CHECK(close(schedule(575), 7.75e-4));
  for (const Decay decay : {Decay::cosine, Decay::linear}) {
    schedule.decay = decay;
    CHECK(schedule(1999) > 1e-4);
    CHECK(close(schedule(2000), 1e-4));
    CHECK(close(schedule(5000), 1e-4));
  }
  schedule.decay = Decay::constant;
  CHECK(schedule(1999) == 1e-3);
}

TEST_CASE("warm-up, stable, decay: falls in the last part only, steeply at first") {
  Schedule schedule = kSchedule;
  schedule.decay = Decay::wsd;
  schedule.cooldown = 0.25;  // from step 1500
  for (const int64_t step : {100, 800, 1500}) CHECK(schedule(step) == 1e-3);
  CHECK(close(schedule(1505), 1e-4 + 9e-4 * 0.9));  // 1 - sqrt(1 / 100)
  CHECK(close(schedule(1625), 1e-4 + 9e-4 * 0.5));
  CHECK(close(schedule(1905), 1e-4 + 9e-4 * 0.1));
  CHECK(close(schedule(2000), 1e-4));
  CHECK(close(schedule(3000), 1e-4));
}

TEST_CASE("a warm-up may be absent, or longer than the run") {
  Schedule schedule = kSchedule;
  schedule.warmup = 0;
  CHECK(schedule(0) == 1e-3);
  schedule.warmup = schedule.steps = 20;
  CHECK(close(schedule(19), 1e-3 * 20 / 21));
  CHECK(close(schedule(20), 1e-4));
}

TEST_CASE("steps that changed on the way leave the rates of before as they were") {
  for (const Decay decay : {Decay::cosine, Decay::linear, Decay::wsd}) {
    Schedule first = kSchedule, second = kSchedule, third = kSchedule;
    first.decay = second.decay = third.decay = decay;
    second.steps = 1500;
    third.steps = 3000;
    Schedule changed = third;
    changed.earlier_steps = {1200, 2000, 1400, 1500};
    for (const int64_t step : {0, 50, 600, 1199}) CHECK(changed(step) == first(step));
    for (const int64_t step : {1200, 1399}) CHECK(changed(step) == second(step));
    for (const int64_t step : {1400, 2999, 3000}) CHECK(changed(step) == third(step));
  }
}

TEST_CASE("schedules have names") {
  CHECK(decay_from("cosine") == Decay::cosine);
  CHECK(decay_from("linear") == Decay::linear);
  CHECK(decay_from("constant") == Decay::constant);
  CHECK(decay_from("wsd") == Decay::wsd);
  CHECK_THROWS_WITH(decay_from("step"),
                    "[schedule] decay must be cosine, linear, constant or wsd, got 'step'.");
}

TEST_CASE("the norm is that of all gradients together") {
  Tensor a = zeros({2}).requires_grad_(), b = zeros({2, 1}, DType::float64).requires_grad_();
  const Tensor none = zeros({3}).requires_grad_();
  a.set_grad(tensor(std::vector<float>{1, -2}, {2}));
  b.set_grad(tensor(std::vector<double>{2, 4}, {2, 1}));
  CHECK(close(grad_norm({a, none, b}), 5));
  CHECK(grad_norm({none}) == 0);
  b.set_grad(tensor(std::vector<double>{NAN, 4}, {2, 1}));
  CHECK(std::isnan(grad_norm({a, b})));
}

TEST_CASE("clipping shortens what is too long, and only that") {
  CHECK(clip_scale(0.5, 1.0) == 1);
  CHECK(clip_scale(0, 1.0) == 1);
  CHECK(std::abs(clip_scale(5, 1.0) * 5 - 1) < 1e-6);
  CHECK(clip_scale(5, 1.0) * 5 < 1);
  CHECK(clip_scale(5, 1.0) == 1.0 / (5 + 1e-6));  // as in torch.nn.utils.clip_grad_norm_
  CHECK(clip_scale(1e-6, 1e-6) == 0.5);
  CHECK(clip_scale(1e9, 0) == 1);  // 0: no clipping.
}

}  // namespace gradus::train::test_schedule
