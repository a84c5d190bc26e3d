// The model of a step on several machines: times that were computed by hand.
#include "gradus/annexes/bench/step_model.hpp"

#include "catch.hpp"
#include "gradus/files/error.hpp"

namespace test_step_model {

using namespace gradus::plan;
using Catch::Approx;

constexpr Network kThousandBytes{.bandwidth = 1000, .latency = 0.5};

/// Two parameters of 100 and one of 50 values; on two machines the first owns 100, the other 150.
Work work_of(int64_t machines) {
  return {.machines = machines,
          .compute = 8,
          .update = 3,
          .parts = {{.values = 100, .cost = 9}, {.values = 100, .cost = 5}, {.values = 50, .cost = 4}}};
}

TEST_CASE("one machine sends nothing, and a network without limits leaves compute and update") {
  const StepTime time = step_time(work_of(1), kThousandBytes);
  CHECK(time.total() == 11);
  CHECK(time.compute == 8);
  CHECK(time.update == 3);
  CHECK(time.received == 0);
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  CHECK(step_time(work_of(4), {.bandwidth = kUnlimited, .latency = 0}).total() == 11);
}

TEST_CASE("gradients that are there at the end of backward are all on the wire after it") {
  CHECK(owners(work_of(2).parts, 2) == std::vector<int>{0, 1, 1});
  Work work = work_of(2);
  work.update = 0;
  const StepTime time = step_time(work, kThousandBytes);
  CHECK(time.gradients == Approx(0.6));   // 150 values of 4 bytes
  CHECK(time.parameters == Approx(0.6));  // the same back
  CHECK(time.latency == Approx(2.5));     // order, losses, norms, gradients, parameters
  CHECK(time.received == 600);
}

TEST_CASE("the owner of a large parameter receives one from each other machine") {
  const StepTime time = step_time(work_of(3), kThousandBytes);
  CHECK(time.gradients == Approx(0.8));  // 100 values of 2 machines
  CHECK(time.parameters == Approx(0.8));
  CHECK(time.received == 800);
}

TEST_CASE("what is sent before the end of backward is hidden, in order, and no more than that") {
  Work work = work_of(2);
  work.parts[1].early = 5;    // sent at -5, done at -4.6
  work.parts[2].early = 0.1;  // sent at -0.1, done at 0.1
  work.parts[0].early = 0.3;  // sent the other way at -0.3, done at 0.1
  CHECK(step_time(work, kThousandBytes).gradients == Approx(0.1));
  for (Part& part : work.parts) part.early = 5;
  CHECK(step_time(work, kThousandBytes).gradients == 0);
}

TEST_CASE("a parameter is sent while its owner updates the next") {
  const StepTime time = step_time(work_of(2), kThousandBytes);
  CHECK(time.parameters == Approx(0.4));  // 9 of 9 at the end; on the other owner 5 of 9 before it
}

TEST_CASE("bfloat16 halves the bytes, sums that are sent apart multiply those of gradients") {
  Work work = work_of(2);
  work.value_bytes = 2;
  work.sums = 3;
  const StepTime time = step_time(work, kThousandBytes);
  CHECK(time.gradients == Approx(0.9));
  CHECK(time.parameters == Approx(0.2));
  CHECK(time.received == 900);
}

TEST_CASE("long messages wait for an answer first") {
  Work work = work_of(2);
  work.parts[0].values = 20'000;
  CHECK(step_time(work, kThousandBytes).latency == Approx(4.5));
}

TEST_CASE("messages take processor time from the computation if it uses all cores") {
  Work work = work_of(2);
  CHECK(step_time(work, kThousandBytes).messages == 0);
  work.busy_cores = 1;
  // On each machine a gradient and a parameter for each of the three, 1,000 bytes in each direction.
  const double whole = 6 * 90e-6 + 2000 * 0.4e-9;
  CHECK(step_time(work, kThousandBytes).messages == Approx(whole));
  work.busy_cores = 4;
  CHECK(step_time(work, kThousandBytes).messages == Approx(whole / 4));
}

TEST_CASE("networks have names, or a rate and a delay") {
  CHECK(network_from("10GbE").bandwidth == Approx(0.94 * 1.25e9));
  const Network slow = network_from("200Mbit,1.5ms");
  CHECK(slow.bandwidth == Approx(25e6));
  CHECK(slow.latency == Approx(1.5e-3));
  for (const char* wrong : {"", "10", "200Mbit", "200Mbit,1", "0Mbit,1ms", "200Mbit,-1ms", "200Mbit,1ms "})
    CHECK_THROWS_AS(network_from(wrong), gradus::Error);
}

}  // namespace test_step_model
