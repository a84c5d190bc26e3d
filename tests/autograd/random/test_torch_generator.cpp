// The torch generators draw what PyTorch 1.13 draws: figures from it, exact to the last bit.
// tests/annexes/cases/replay, which the Python tests run, has many more.
#include "autograd/compare.hpp"

namespace gradus::test_torch_generator {

using namespace gradus::testing;

constexpr int64_t kSeed = 2024;

std::vector<int64_t> words(Generator& generator, int n) {
  std::vector<int64_t> drawn;
  for (int i = 0; i < n; ++i) drawn.push_back(generator.next());
  return drawn;
}

// How many words the draw takes: 100 are tried.
int words_of(const std::function<void(Generator&)>& draw, Generator before = Generator::torch(kSeed)) {
  Generator after = before;
  draw(after);
  const std::vector<int64_t> next = words(after, 3);
  for (int n = 0; n < 100; ++n, before.discard(1)) {
    Generator at = before;
    if (words(at, 3) == next) return n;
  }
  return -1;
}

TEST_CASE("words, also across a refill of the engine") {
  Generator g = Generator::torch(kSeed);
  CHECK(words(g, 8) == std::vector<int64_t>{2525503112, 3251949050, 3002649184, 3172895360, 808106523,
                                            2555999780, 188156350, 3835609271});
  g.discard(610);
  CHECK(words(g, 12) == std::vector<int64_t>{301519325, 3543445366, 2647632566, 3145371270, 2446609519,
                                             1035899659, 2029157065, 534629473, 1485868014, 2168854338,
                                             1274912332, 2705343645});
}

TEST_CASE("seeds count modulo 2^32, as two's complement") {
  CHECK(Generator::torch(int64_t{1} << 32 | kSeed) == Generator::torch(kSeed));
  CHECK(Generator::torch(-1) == Generator::torch(0xFFFFFFFF));
  CHECK(Generator::torch(std::numeric_limits<int64_t>::min()) == Generator::torch(0));
  CHECK(Generator::torch(1) != Generator::torch(2));
  CHECK(Generator::torch(1) != Generator::torch_mkl(1));
  CHECK(Generator::torch(1) != Generator(1));
  // The engine's own test value: the 10,000th word of the C++ standard's mt19937, whose seed is 5489.
  Generator standard = Generator::torch(5489);
  standard.discard(9999);
  CHECK(standard.next() == 4123659995U);
}

TEST_CASE("uniform") {
  Generator g = Generator::torch(kSeed);
  CHECK(difference(rand({5}, g), f32({0.53171587, 0.83126795, 0.971838, 0.11930084, 0.16690224}), 0) == "");
  CHECK(difference(rand({3}, g, DType::float64),
                   f64({0.7956714839022465, 0.9610248589606033, 0.9937129526438114}), 0) == "");
  CHECK(difference(uniform({24}, -0.37, 0.9, g),
                   f32({0.34439892, -0.14968619,  0.5248347,  0.8066967,    0.14574128, 0.016713683,
                        0.7822937,  0.59993964,   0.40484837, 0.7620517,    0.78436685, 0.47476992,
                        0.49185494, -0.081929006, 0.2689035,  -0.096876316, 0.6444944,  -0.2704643,
                        -0.2803901, 0.0074229003, -0.2821673, 0.8780772,    0.5151259,  0.5071441}),
                   0) == "");
}

TEST_CASE("fewer than 16 normals: an odd one out is kept for the next such call") {
  Generator g = Generator::torch(kSeed);
  CHECK(difference(randn({7}, g),
                   f32({-0.040429167, 1.7259921, -0.81403875, 1.3721666, 0.5059648, -0.4823374, -0.7852526}),
                   0) == "");
  CHECK(difference(rand({2}, g), f32({0.30449897, 0.9073179}), 0) == "");
  CHECK(difference(randn({2, 2}, g).reshape({4}), f32({0.6680798, 0.4086798, 0.3374676, -0.7961432}), 0) ==
        "");
  CHECK(difference(randn({3}, g, DType::float64),
                   f64({1.6543449282868647, -0.2591290042836746, -1.3802855620004923}), 1e-14) == "");
  CHECK(difference(normal({5}, 0.5, 0.02, g), f32({0.47142604, 0.5277015, 0.47617728, 0.49617812, 0.5113981}),
                   0) == "");
}

TEST_CASE("16 normals and more: in blocks") {
  Generator g = Generator::torch(kSeed);
  CHECK(difference(randn({16}, g),
                   f32({-1.2262355, -0.009314819, 1.541958, -0.4656696, 0.27950305, -0.2609802, 0.6229671,
                        -1.1561105, 0.1170759, -1.8864782, 2.1821845, -0.19295132, 0.5358046, -0.8898264,
                        -0.30989635, 0.7741129}),
                   0) == "");
  CHECK(difference(randn({37}, g),
                   f32({0.123639666, -2.1806846, 0.36995515,   0.41439798, 1.8567189,  1.9775826,  -0.432156,
                        1.3667177,   0.84318376, -0.042119123, 1.6579235,  -1.3084688, 0.9961833,  0.93907714,
                        1.4147526,   0.6343358,  2.72656,      -1.4753386, -1.4808176, 0.04983941, 1.2883167,
                        -1.3050066,  -0.7982551, 1.0442369,    1.1356443,  0.844229,   1.4594623,  0.17141153,
                        0.24063733,  0.12581275, -0.043412462, 0.53657603, 2.438337,   -0.7100287, 0.5437002,
                        -1.9042317,  0.5649078}),
                   0) == "");
  CHECK(difference(normal({4, 8}, 0.0, 0.02, g).reshape({32}),
                   f32({-0.008837254, 0.0019676604, -0.003039145, -0.036374517,  -0.020433502, -0.016453618,
                        0.010980271,  -0.019140298, 0.018386602,  -0.0064967456, 0.027995208,  -0.010598512,
                        -0.005121248, 0.002383407,  0.0059748027, -0.045615286,  0.023354104,  0.0037684287,
                        0.027172588,  -0.02264373,  -0.012538137, 0.018019695,   -0.017990462, 0.00500989,
                        0.02232062,   0.018342465,  0.03581056,   -0.0022493016, 0.009617333,  0.0013018576,
                        -0.01131888,  0.027105981}),
                   0) == "");
  CHECK(difference(randn({19}, g, DType::float64),
                   f64({-0.48062759695350415, -0.9472613735960226, 0.26352316560904276, -0.2885453506499669,
                        -1.4979257031717328, 1.3584006601932934, 0.4806238565428024, 1.2732281714602196,
                        -0.6194279223377906, -1.2083021691750855, 0.8577149211796185, 0.8917110317702659,
                        -0.9796045089817407, 1.2961593550937012, -0.5971780894807787, 1.503431753819347,
                        -0.566011228027055, -0.35753788493648997, 0.7438655092902712}),
                   1e-14) == "");
}

TEST_CASE("16 normals and more leave the spare one where it is") {
  Generator g = Generator::torch(kSeed);
  const double second = randn({2}, g, DType::float64).at({1});
  g = Generator::torch(kSeed);
  randn({1}, g);
  randn({16}, g);
  randn({17}, g, DType::float64);
  const Generator before = g;
  CHECK(g.normal() == second);
  CHECK(words_of([](Generator& at) { at.normal(); }, before) == 0);
}

TEST_CASE("integers, permutations, samples") {
  Generator g = Generator::torch(kSeed);
  const Tensor p = tensor(std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F, 0.7F, 0.1F, 0.1F, 0.1F}, {2, 4});
  CHECK(randint(0, 65, {4, 4}, g).to_vector<int64_t>() ==
        std::vector<int64_t>{2, 25, 54, 50, 3, 35, 5, 26, 3, 19, 2, 29, 51, 43, 0, 23});
  CHECK(randint(-3, 8589934592, {3}, g).to_vector<int64_t>() ==
        std::vector<int64_t>{4394801283, 1551297203, 4740769487});
  CHECK(randperm(11, g).to_vector<int64_t>() == std::vector<int64_t>{4, 9, 5, 10, 7, 0, 8, 3, 2, 1, 6});
  CHECK(multinomial(p, 1, g).to_vector<int64_t>() == std::vector<int64_t>{2, 0});
  CHECK(multinomial(p, 3, g).to_vector<int64_t>() == std::vector<int64_t>{3, 2, 1, 3, 0, 2});
  CHECK(multinomial(p, 6, g, true).to_vector<int64_t>() ==
        std::vector<int64_t>{2, 2, 2, 2, 3, 2, 0, 0, 0, 2, 0, 2});
  CHECK(difference(bernoulli(p, g).reshape({8}), f32({0, 0, 0, 0, 1, 0, 0, 0}), 0) == "");
}

TEST_CASE("exponential") {
  Generator g = Generator::torch(kSeed);
  CHECK(difference(exponential({7}, g),
                   f32({0.29266423, 1.4903417, 0.40829647, 1.2727501, 2.1103477, 0.24432486, 0.4907027}),
                   0) == "");
  CHECK(difference(exponential({3}, g, DType::float64),
                   f64({0.5314761113113552, 0.5726870454422133, 0.11637219418291742}), 1e-14) == "");
}

TEST_CASE("the range of a random integer may be all of them but one") {
  Generator a = Generator::torch(kSeed), b = a;
  const int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
  const uint64_t first = a.next(), bits = first << 32 | a.next();
  CHECK(randint(lowest, highest, {1}, b).item() ==
        static_cast<double>(static_cast<int64_t>(bits % ~uint64_t{0} + (uint64_t{1} << 63))));
  CHECK_THROWS_WITH(a.between(3, 3), "[between] low must be below high, got 3 and 3.");
}

TEST_CASE("words a draw takes") {
  const auto normals = [](int64_t n, DType dtype) {
    return [n, dtype](Generator& g) { randn({n}, g, dtype); };
  };
  CHECK(words_of([](Generator& g) { rand({5}, g); }) == 5);
  CHECK(words_of([](Generator& g) { rand({5}, g, DType::float64); }) == 10);
  for (const auto& [n, small] : std::map<int64_t, int>{{0, 0}, {1, 4}, {2, 4}, {3, 8}, {15, 32}}) {
    CHECK(words_of(normals(n, DType::float32)) == small);
    CHECK(words_of(normals(n, DType::float64)) == small);
  }
  for (const auto& [n, large] : std::map<int64_t, int>{{16, 16}, {17, 33}, {31, 47}, {32, 32}, {33, 49}}) {
    CHECK(words_of(normals(n, DType::float32)) == large);
    CHECK(words_of(normals(n, DType::float64)) == 2 * large);
  }
  CHECK(words_of([](Generator& g) { randn({1}, g), randn({1}, g); }) == 4);
  CHECK(words_of([](Generator& g) { g.normal(), g.uniform(), g.normal(); }) == 6);
  CHECK(words_of([](Generator& g) { exponential({5}, g); }) == 10);
  CHECK(words_of([](Generator& g) { randint(0, (int64_t{1} << 32) - 1, {5}, g); }) == 5);
  CHECK(words_of([](Generator& g) { randint(0, int64_t{1} << 32, {5}, g); }) == 10);
  CHECK(words_of([](Generator& g) { randperm(11, g); }) == 10);
  CHECK(words_of([](Generator& g) { randperm(0, g), randperm(1, g); }) == 0);
  const Tensor p = full({2, 4}, 0.25);
  CHECK(words_of([&](Generator& g) { multinomial(p, 3, g); }) == 16);
  CHECK(words_of([&](Generator& g) { multinomial(p, 3, g, true); }) == 12);
  CHECK(words_of([&](Generator& g) { multinomial(p.slice(0, 0, 0), 3, g); }) == 0);
  CHECK(words_of([&](Generator& g) { bernoulli(p, g); }) == 8);
  CHECK(words_of([&](Generator& g) { bernoulli(p.to(DType::float64), g); }) == 16);
}

TEST_CASE("what is refused draws nothing") {
  Generator g = Generator::torch(kSeed);
  const Generator before = g;
  CHECK_THROWS_WITH(bernoulli(f64({0.5, 1.5}), g), "[bernoulli] probabilities must be in [0, 1], got 1.5.");
  CHECK_THROWS_WITH(bernoulli(f64({kNan}), g), "[bernoulli] probabilities must be in [0, 1], got nan.");
  CHECK_THROWS_WITH(multinomial(f64({1, 1, 1, 0}, {2, 2}), 2, g),
                    "[multinomial] needs at least 2 positive weights in a row, got 1.");
  CHECK_THROWS_WITH(multinomial(f64({}, {2, 0}), 1, g),
                    "[multinomial] needs at least 1 positive weights in a row, got 0.");
  CHECK(error_of([&] { g.reserve(4); }).substr(0, 16) == "[reserve] needs ");
  CHECK(g == before);
}

}  // namespace gradus::test_torch_generator
