#include "gradus/autograd/graph/profile.hpp"

#include "autograd/compare.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_profile {

using namespace gradus::testing;

// "+matmul (2, 2)" forward, "-matmul (2, 2)" backward, "work name", "group name", one after another.
std::string text_of(const Profile& profile) {
  std::string text;
  for (const ProfileEvent& e : profile.events()) {
    const char* phase[] = {"+", "-", "work ", "group "};
    text += concat(text.empty() ? "" : ", ", phase[static_cast<int>(e.phase)], e.name);
    if (e.phase == ProfileEvent::Phase::forward || e.phase == ProfileEvent::Phase::backward)
      text += concat(" ", e.shape);
  }
  return text;
}

// A clock that goes on by a second whenever it is read, so that times are known on any machine.
int64_t counted_seconds() {
  static int64_t readings = 0;
  return ++readings * 1'000'000'000;
}

TEST_CASE("a profile lists ops forward and backward, with the shapes of their results") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  Profile profile;
  {
    const Profiling on(&profile);
    sum(softmax(matmul(x, x), -1)).backward();  // the rules are made of ops too, which do not show
    const NoGrad no_grad;
    exp(x);
  }
  exp(x);
  CHECK(text_of(profile) ==
        "+matmul (2, 2), +softmax (2, 2), +sum (), -sum (), -softmax (2, 2), -matmul (2, 2), +exp (2, 2)");
}

TEST_CASE("events follow one another, and groups enclose them") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  Profile profile(counted_seconds);
  {
    const Profiling on(&profile);
    const ProfileSpan step("step", ProfileEvent::Phase::group);
    {
      const ProfileSpan batch("batch"), inside("inside");
      exp(x);
    }
    sum(matmul(x, x)).backward();
  }
  // The clock is read when the profile is made (0 s), switched on, at a span's beginning, and at the end.
  std::string times;
  for (const ProfileEvent& e : profile.events())
    times += concat(times.empty() ? "" : ", ", e.name, " ", e.start, " to ", e.end);
  CHECK(times == "batch 3 to 5, matmul 5 to 6, sum 6 to 7, sum 8 to 9, matmul 10 to 11, step 2 to 12");
  CHECK(text_of(profile) == "work batch, +matmul (2, 2), +sum (), -sum (), -matmul (2, 2), group step");
  CHECK(profile.events().back().seconds() == 10);
}

TEST_CASE("functions of several results, repeated gradients and checkpoints show") {
  const Tensor x = leaf({1, 2}, {2});
  Profile profile;
  const Profiling on(&profile);
  SECTION("several results") {
    const auto outs =
        record_many(OpName::custom("both"), {exp(x.detach()), x.detach()}, {x},
                    [](auto& g, auto& out, Needs) { return std::vector{g[0] * out[0] + g[1]}; });
    sum(outs[0]).backward();
    CHECK(text_of(profile) == "+exp (2,), +both (2,), +sum (), -sum (), -both (2,)");
  }
  SECTION("a gradient that is there already") {
    sum(x).backward();
    sum(x).backward();
    CHECK(text_of(profile) == "+sum (), -sum (), +sum (), -sum (), -accumulate (2,)");
  }
  SECTION("a checkpoint") {
    sum(checkpoint([](const Tensor& t) { return exp(t); }, x)).backward();
    CHECK(text_of(profile) == "+exp (2,), +sum (), -sum (), +exp (2,), -exp (2,)");
  }
}

TEST_CASE("each thread reports to its own profile, or to none") {
  const Tensor x = leaf({1, 2}, {2});
  Profile profile, inner;
  const Profiling on(&profile);
  std::thread([&] { exp(x.detach()); }).join();
  {
    const Profiling off(nullptr);
    exp(x);
  }
  {
    const Profiling other(&inner);
    log(x);
  }
  sin(x);
  CHECK(text_of(profile) == "+sin (2,)");
  CHECK(text_of(inner) == "+log (2,)");
}

}  // namespace gradus::test_profile
