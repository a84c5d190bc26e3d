// Generators of every kind: draws mean what they say, states go on where they stopped.

#include "autograd/compare.hpp"

namespace gradus::test_random {

using namespace gradus::testing;

std::vector<Generator> every_kind(int64_t seed) {
  return {Generator(static_cast<uint64_t>(seed)), Generator::torch(seed), Generator::torch_mkl(seed)};
}

// Draws of every sort, with odd counts, so that a spare normal is left.
std::vector<Tensor> draw_everything(Generator& g) {
  const Tensor p = full({3, 5}, 0.4);
  return {randn({3}, g),
          rand({5}, g),
          rand({3}, g, DType::float64),
          randn({17}, g),
          randn({1}, g, DType::float64),
          uniform({2}, -1, 3, g),
          normal({20}, 1, 2, g, DType::float64),
          exponential({3}, g),
          randperm(9, g),
          randint(-3, 70, {4}, g),
          multinomial(p, 2, g),
          multinomial(p, 2, g, true),
          bernoulli(p, g),
          dropout(p, 0.5, g),
          randn({1}, g),
          full({}, g.uniform() + g.normal())};
}

void check_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    INFO("draw " << i);
    CHECK(difference(a[i], b[i], 0) == "");
  }
}

struct Moments {
  double mean, var, low, high;
};

Moments moments(const Tensor& x) {
  const Tensor y = x.to(DType::float64);
  return {mean(y).item(), var(y).item(), amin(y).item(), amax(y).item()};
}

TEST_CASE("the counter-based stream is what it was") {
  Generator g(2024);
  CHECK(g.below(int64_t{1} << 40) == 495074709574);
  CHECK(g.below(10) == 4);
  CHECK(g.normal() == Catch::Approx(-1.3398119607365018).epsilon(1e-14));
  CHECK(g.uniform() == 0.89789644686130976);
  CHECK(g.next() == 2470760018U);
  CHECK(g.next() == 211703533U);
  CHECK(difference(rand({4}, g),
                   tensor(std::vector<float>{0.664224625F, 0.482023239F, 0.2358796F, 0.25083375F}, {4}),
                   0) == "");
  CHECK(g.state() == "philox 2024 16");
  CHECK(g.stream("init").state() == "philox 3413131311630911825 0");
}

TEST_CASE("whole numbers of a range that does not divide 2^64 are equally likely") {
  // Of 64 bits modulo 3 * 2^62 the first third would come twice as often.
  Generator g(5);
  const int64_t third = int64_t{1} << 62, low = -third - 1000, high = third - 1000 + third, n = 3000;
  int64_t counts[3] = {};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t x = g.between(low, high);
    REQUIRE(x >= low);
    ++counts[(static_cast<uint64_t>(x) - static_cast<uint64_t>(low)) / static_cast<uint64_t>(third)];
  }
  for (const int64_t count : counts) CHECK(std::abs(static_cast<double>(count) / n - 1.0 / 3) < 0.05);
  // A quarter of the pairs of words is drawn again.
  const int64_t words = std::stoll(g.state().substr(std::string("philox 5 ").size()));
  CHECK(std::abs(static_cast<double>(words) / (2 * n) - 4.0 / 3) < 0.05);
}

TEST_CASE("draws have the distribution they name") {
  const int64_t n = 40'000;
  const double near = 0.05;
  for (Generator& g : std::vector<Generator>(every_kind(7)))
    for (const DType dtype : {DType::float32, DType::float64}) {
      INFO(g.state().substr(0, 9) << ", " << name(dtype));
      const Moments u = moments(uniform({n}, -1.0, 3.0, g, dtype));
      CHECK(std::abs(u.mean - 1) < near);
      CHECK(std::abs(u.var - 16.0 / 12) < near);
      CHECK((u.low >= -1 && u.low < -0.99 && u.high < 3 && u.high > 2.99));
      const Moments z = moments(normal({n}, 2.0, 0.5, g, dtype));
      CHECK(std::abs(z.mean - 2) < near);
      CHECK(std::abs(z.var - 0.25) < near);
      const Moments e = moments(exponential({n}, g, dtype));
      CHECK(std::abs(e.mean - 1) < near);
      CHECK(std::abs(e.var - 1) < 2 * near);
      CHECK(e.low >= 0);
      const Moments b = moments(bernoulli(full({n}, 0.3, dtype), g));
      CHECK(std::abs(b.mean - 0.3) < near);
      CHECK((b.low == 0 && b.high == 1));
      CHECK(difference(bernoulli(f64({0, 1, 0, 1}), g), f64({0, 1, 0, 1}), 0) == "");
      const Tensor kept = multinomial(full({n}, 1.0, dtype), 200, g);
      CHECK(amax(kept.to(DType::float64)).item() > n / 2);
      const std::vector<double> weights = {1, 0, 3, 4};
      const std::vector<int64_t> drawn = multinomial(f64(weights).to(dtype), n, g, true).to_vector<int64_t>();
      for (int64_t i = 0; i < 4; ++i) {
        const double p = weights[i] / 8,
                     share = static_cast<double>(std::count(drawn.begin(), drawn.end(), i)) / n;
        CHECK(std::abs(share - p) <= 5 * std::sqrt(p * (1 - p) / n));
      }
    }
}

TEST_CASE("randperm holds each number once, in an order that differs each time") {
  for (Generator& g : std::vector<Generator>(every_kind(8))) {
    const Tensor first = randperm(100, g), second = randperm(100, g);
    CHECK(difference(sort(first, 0).values, arange(0, 100), 0) == "");
    CHECK(difference(sort(second, 0).values, arange(0, 100), 0) == "");
    CHECK(difference(first, second, 0) != "");
    CHECK(randperm(0, g).shape() == Shape{0});
    CHECK(difference(randperm(1, g), i64({0}), 0) == "");
    CHECK_THROWS_WITH(randperm(-1, g), "[randperm] n must be at least 0, got -1.");
  }
}

TEST_CASE("a copy is a fork, and discard leaves words out") {
  for (const Generator& start : every_kind(9)) {
    Generator a = start, b = start, c = start;
    check_equal(draw_everything(a), draw_everything(b));
    CHECK(a == b);
    CHECK(a != start);
    for (const int64_t n : {0, 1, 623, 1, 624, 1, 1249}) {
      for (int64_t i = 0; i < n; ++i) a.next();
      b.discard(n);
      CHECK(a == b);
    }
    CHECK_THROWS_WITH(c.discard(-1), "[discard] n must be at least 0, got -1.");
    CHECK(c == start);
  }
}

TEST_CASE("a state goes on where it was written, in the middle of everything") {
  for (const Generator& start : every_kind(10)) {
    Generator a = start;
    for (int round = 0; round < 12; ++round) {
      for (Generator b : every_kind(99)) {  // whatever it was before
        b.set_state(a.state());
        CHECK(b == a);
        Generator c = a;
        check_equal(draw_everything(b), draw_everything(c));
        CHECK(b == c);
      }
      draw_everything(a);
      if (round % 2 == 1) a.normal();  // with a spare normal and without
      if (round % 3 == 1) a.discard(500 + round);
    }
  }
}

TEST_CASE("states that no generator writes are refused, and change nothing") {
  std::vector<std::string> refused = {"",
                                      "philox",
                                      "philox 1",
                                      "philox 1 2 3",
                                      " philox 1 2",
                                      "philox 1 2 ",
                                      "philox -1 2",
                                      "philox 01 2",
                                      "philox 18446744073709551616 0",
                                      "torch",
                                      "torch 1 624 none",
                                      "mt19937 1 2"};
  const std::string good = Generator::torch(3).state();
  const std::string without_last = good.substr(0, good.rfind(' '));
  for (const std::string& text :
       {good + " ", good + " 1", without_last, without_last + " 123456789", without_last + " -1"})
    refused.push_back(text);
  for (const auto& [what, instead] : {std::pair("torch", "torch-cuda"),
                                      {"torch 3", "torch 4294967296"},
                                      {" 624 ", " 0 "},
                                      {" 624 ", " 625 "},
                                      {" none ", " None "},
                                      {" none ", " 7ff0000000000000 "},  // infinite
                                      {" none ", " 0x1 "}})
    refused.push_back(std::string(good).replace(good.find(what), std::string(what).size(), instead));
  std::string zeros = "torch 3 624 none";
  for (int i = 0; i < 624; ++i) zeros += " 0";
  refused.push_back(zeros);
  for (const std::string& text : refused)
    for (const Generator& before : every_kind(4)) {
      INFO(text.substr(0, 60));
      Generator g = before;
      CHECK_ERROR(g.set_state(text), "[generator] a state must be what state() writes");
      CHECK(g == before);
    }
  Generator g(0);
  CHECK_THROWS_WITH(
      g.set_state("philox 1"),
      "[generator] a state must be what state() writes, 'philox KEY POSITION' or 'torch SEED PLACE SPARE' "
      "and 624 words, got 'philox 1'.");
}

TEST_CASE("streams for a purpose are of the same kind, and depend on the seed and the name alone") {
  for (const Generator& start : every_kind(11)) {
    Generator g = start;
    const Generator init = g.stream("init"), data = g.stream("data");
    draw_everything(g);
    CHECK(g.stream("init") == init);
    CHECK(init != data);
    CHECK(init != start);
    CHECK((g.as_torch() != nullptr) == (Generator(init).as_torch() != nullptr));
    Generator restored(0);
    restored.set_state(g.state());
    CHECK(restored.stream("data") == data);
  }
  CHECK(Generator::torch(11).stream("init") != Generator::torch(12).stream("init"));
  CHECK(Generator::torch(11).stream("init") != Generator::torch_mkl(11).stream("init"));
}

TEST_CASE("draws refuse parameters that are none") {
  for (Generator& g : std::vector<Generator>(every_kind(12))) {
    const Generator before = g;
    CHECK_THROWS_WITH(uniform({2}, 1, 0, g),
                      "[uniform] low must be at most high and not infinitely far from it, got 1 and 0.");
    for (const double bad : {kNan, kInf, 1e39}) CHECK_ERROR(uniform({2}, 0, bad, g), "[uniform] low must be");
    CHECK_THROWS_WITH(normal({2}, 0, -1, g), "[normal] std must be at least 0, got -1.");
    CHECK_ERROR(normal({2}, 0, kNan, g), "[normal] std");
    CHECK_ERROR(randint(1, 1, {2}, g), "[randint] low must be below high");
    CHECK_ERROR(exponential({2}, g, DType::int64), "[exponential]");
    CHECK_THROWS_WITH(g.below(0), "[below] n must be at least 1, got 0.");
    CHECK(g == before);
    CHECK(difference(uniform({3}, 2, 2, g), full({3}, 2.0), 0) == "");
    CHECK(difference(normal({17}, 3, 0, g), full({17}, 3.0), 0) == "");
  }
}

}  // namespace gradus::test_random
