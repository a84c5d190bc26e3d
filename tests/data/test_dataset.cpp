#include "catch.hpp"
#include "gradus/data/dataset.hpp"
#include "support.hpp"

namespace gradus::test_dataset {

using namespace gradus::data;

/// Token i is i, so that a token says where it stood.
std::vector<int32_t> places(int32_t n) {
  std::vector<int32_t> tokens(n);
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

void check_targets_follow(const Batch& batch) {
  REQUIRE(batch.x.shape() == batch.y.shape());
  REQUIRE(batch.x.dtype() == DType::int64);
  REQUIRE(batch.y.dtype() == DType::int64);
  for (int64_t b = 0; b < batch.x.size(0); ++b) {
    for (int64_t t = 0; t < batch.x.size(1); ++t) {
      REQUIRE(batch.x.at({b, t}) == batch.x.at({b, 0}) + static_cast<double>(t));
      REQUIRE(batch.y.at({b, t}) == batch.x.at({b, t}) + 1);
    }
  }
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector<int64_t>() == b.to_vector<int64_t>();
}

TEST_CASE("the last tokens are for validation") {
  const TextDataset dataset(places(100), 4, 0.1);
  const auto train = dataset.tokens(Split::train).values(),
             validation = dataset.tokens(Split::validation).values();
  CHECK(train.size() == 90);
  CHECK(train.front() == 0);
  CHECK(train.back() == 89);
  CHECK(validation.size() == 10);
  CHECK(validation.front() == 90);
  CHECK(validation.back() == 99);
  CHECK(dataset.has_validation());
  CHECK(dataset.block() == 4);
}

TEST_CASE("without a validation part everything is for training") {
  const TextDataset dataset(places(5), 4, 0);
  CHECK(dataset.tokens(Split::train).size() == 5);
  CHECK(dataset.tokens(Split::validation).empty());
  CHECK(!dataset.has_validation());
  CHECK(dataset.validation_batches(3).empty());
}

TEST_CASE("texts that are too short, and numbers that make no sense, are refused") {
  const auto of = [](int32_t n, int64_t block, double val_fraction) {
    return TextDataset(places(n), block, val_fraction);
  };
  const auto weighed = [&](const std::vector<WeightedPart>& weights) { of(40, 4, 0.5).weigh(weights); };
  Generator g(1);
  const std::pair<std::function<void()>, std::string> cases[] = {
      {[&] { of(64, 64, 0); },
       "[dataset] the training split must have at least `block` + 1 = 65 tokens, got 64 of 64 "
       "(`val_fraction` 0). Hint: use a longer text, a smaller `block` or a smaller `val_fraction`."},
      {[&] { of(100, 64, 0.1); },
       "[dataset] the validation split must have at least `block` + 1 = 65 tokens, got 10 of 100 "
       "(`val_fraction` 0.1). Hint: use a longer text, a smaller `block` or a larger `val_fraction`."},
      {[&] { of(100, 0, 0.1); }, "[dataset] `block` must be at least 1, got 0."},
      {[&] { of(100, 4, 1); }, "[dataset] `val_fraction` must be at least 0 and below 1, got 1."},
      {[&] { of(100, 4, -0.1); }, "[dataset] `val_fraction` must be at least 0 and below 1, got -0.1."},
      {[&] { of(100, 4, NAN); }, "[dataset] `val_fraction` must be at least 0 and below 1, got nan."},
      {[&] { of(100, 4, 0.1).random_batch(Split::train, 0, g); },
       "[random_batch] `batch` must be at least 1, got 0."},
      {[&] { of(5, 4, 0).random_batch(Split::validation, 1, g); },
       "[random_batch] the split must have tokens, got a dataset without validation part."},
      {[&] { of(100, 4, 0.1).validation_batches(-1); },
       "[validation_batches] `batch` must be at least 1, got -1."},
      {[&] { of(100, 4, 0.1).validation_sample(1, 0); },
       "[validation_sample] `tokens` must be at least 1, got 0."},
      {[&] { TextDataset(places(20), places(4), 4); },
       "[dataset] the tokens to validate on must be at least `block` + 1 = 5, got 4."},
      {[&] { TextDataset(places(4), places(20), 4); },
       "[dataset] the tokens to train on must be at least `block` + 1 = 5, got 4."},
      {[&] { consecutive_batches(places(1), 1, 1); },
       "[consecutive_batches] the text must have at least 2 tokens to predict one from another, got 1."},
      {[&] { consecutive_batches(places(9), 0, 1); },
       "[consecutive_batches] `batch` must be at least 1, got 0."},
      {[&] { consecutive_batches(places(9), 1, 0); },
       "[consecutive_batches] `block` must be at least 1, got 0."},
      {[&] {
         weighed({{40, -1}});
       },
       "[dataset] weights must be finite and at least 0, got -1."},
      {[&] {
         weighed({{40, 1e308}});
       },
       "[dataset] weights must have a finite sum over all windows, got inf."},
      // The second part lies in what is for validation.
      {[&] {
         weighed({{20, 0}, {20, 1}});
       },
       "[dataset] weights must leave a part to train on, got none above 0 for one that has windows."},
  };
  for (const auto& [call, message] : cases) CHECK_THROWS_WITH(call(), message);
  for (const int64_t block : {1, 9}) CHECK_NOTHROW(of(100, block, 0.1));
  CHECK_NOTHROW(of(65, 64, 0));
}

TEST_CASE("a sample of the validation part is spread over it, and no larger than asked") {
  const TextDataset dataset(places(1000), 4, 0.4);  // 400 tokens from 600 on: 99 windows and a rest of 3
  const auto starts = [&](int64_t batch, int64_t tokens) {
    std::vector<int64_t> all;
    for (const Batch& b : dataset.validation_sample(batch, tokens)) {
      check_targets_follow(b);
      CHECK(b.x.size(0) <= batch);
      for (int64_t i = 0; i < b.x.size(0); ++i) all.push_back(static_cast<int64_t>(b.x.at({i, 0})));
    }
    return all;
  };
  CHECK(starts(2, 1) == std::vector<int64_t>{600 + 49 * 4});
  CHECK(starts(2, 12) == std::vector<int64_t>{600 + 16 * 4, 600 + 49 * 4, 600 + 82 * 4});
  CHECK(starts(7, 12) == starts(2, 12));
  const std::vector<int64_t> most = starts(5, 98 * 4);
  CHECK(most.size() == 98);
  CHECK(std::set<int64_t>(most.begin(), most.end()).size() == 98);
  CHECK(count_targets(dataset.validation_sample(5, 98 * 4)) == 98 * 4);
  for (const int64_t tokens : {99 * 4, 1000})
    CHECK(count_targets(dataset.validation_sample(5, tokens)) == 399);
  CHECK(TextDataset(places(100), 4, 0).validation_sample(1, 10).empty());
}

TEST_CASE("random windows start everywhere in their part and nowhere else") {
  const TextDataset dataset(places(40), 4, 0.25);
  Generator generator(3);
  const auto [split, low, high] =
      GENERATE(std::tuple(Split::train, 0, 25), std::tuple(Split::validation, 30, 35));
  std::map<int, int> starts;
  const int draws = 2600;
  for (int i = 0; i < draws / 2; ++i) {
    const Batch batch = dataset.random_batch(split, 2, generator);
    REQUIRE(batch.x.shape() == Shape{2, 4});
    check_targets_follow(batch);
    for (int64_t b = 0; b < 2; ++b) ++starts[static_cast<int>(batch.x.at({b, 0}))];
  }
  CHECK(starts.begin()->first == low);
  CHECK(starts.rbegin()->first == high);
  CHECK(static_cast<int>(starts.size()) == high - low + 1);
  const double expected = draws / static_cast<double>(starts.size());
  for (const auto& [start, count] : starts) {
    INFO("start " << start);
    CHECK(std::abs(count - expected) < 5 * std::sqrt(expected));
  }
}

TEST_CASE("every validation token but the first is predicted exactly once, in order") {
  const int n = GENERATE(2, 5, 6, 9, 33, 34, 100);
  const int64_t batch = GENERATE(1, 3, 50);
  const int64_t block = 4;
  const std::vector<int32_t> tokens = places(n);
  double next = 1;
  for (const Batch& b : consecutive_batches(tokens, batch, block)) {
    check_targets_follow(b);
    CHECK(b.x.size(0) <= batch);
    CHECK(b.x.size(1) <= block);
    for (const int64_t y : b.y.to_vector<int64_t>()) CHECK(static_cast<double>(y) == next++);
  }
  CHECK(next == n);
}

TEST_CASE("consecutive batches are full but for the last ones") {
  const auto batches = consecutive_batches(places(34), 3, 4);  // 33 predictions: 8 windows and 1
  std::vector<Shape> shapes;
  for (const Batch& b : batches) shapes.push_back(b.x.shape());
  CHECK(shapes == std::vector<Shape>{{3, 4}, {3, 4}, {2, 4}, {1, 1}});
}

TEST_CASE("the validation batches are the validation part, the same at every call") {
  const TextDataset dataset(places(100), 4, 0.3);
  const auto batches = dataset.validation_batches(3), again = dataset.validation_batches(3);
  REQUIRE(batches.size() == again.size());
  int64_t predictions = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    CHECK(same(batches[i].x, again[i].x));
    predictions += batches[i].y.numel();
  }
  CHECK(predictions == 29);
  CHECK(batches.front().x.at({0, 0}) == 70);
  CHECK(batches.back().y.at({0, -1}) == 99);
}

TEST_CASE("two texts, one to train on and one to validate on") {
  const TextDataset dataset(places(20), places(7), 4);
  CHECK(dataset.tokens(Split::train).size() == 20);
  CHECK(dataset.tokens(Split::validation).values() == places(7));
  CHECK(count_targets(dataset.validation_batches(2)) == 6);
}

TEST_CASE("weights decide how often a token of each part is read") {
  // 100 places with weight 3, 200 with weight 1, 100 with 0: of 500 windows weighed 300 start in the first.
  TextDataset dataset(places(404), 4, 0);
  dataset.weigh({{100, 3}, {200, 1}, {104, 0}});
  CHECK_THROWS(dataset.weigh({{300, 1}, {104, -1}}));
  Generator g(5);
  int64_t first = 0, second = 0;
  constexpr int64_t kDraws = 20'000;
  const Batch batch = dataset.random_batch(Split::train, kDraws, g);
  check_targets_follow(batch);
  for (int64_t i = 0; i < kDraws; ++i) {
    const double start = batch.x.at({i, 0});
    REQUIRE(start < 300);
    ++(start < 100 ? first : second);
  }
  // The standard deviation is sqrt(20000 * 0.6 * 0.4) = 69.
  CHECK(std::abs(static_cast<double>(first) - 0.6 * kDraws) < 5 * 69);
  CHECK(first + second == kDraws);
}

TEST_CASE("an epoch of shuffled windows has each window once, and the next one another order") {
  const TextDataset dataset(places(4 * 25 + 3), 4, 0);  // 102 targets: 24 windows, one less than fit
  const auto draw = dataset.shuffled_batches(7);
  Generator g(1);
  const auto epoch = [&](int64_t number) {
    std::vector<int64_t> starts;
    for (int64_t i = 0; i < 24; i += 8) {
      const Batch batch = draw(8, g, 24 * number + i);
      check_targets_follow(batch);
      for (int64_t b = 0; b < 8; ++b) starts.push_back(static_cast<int64_t>(batch.x.at({b, 0})));
    }
    return starts;
  };
  std::map<int64_t, int> firsts;
  std::vector<int64_t> before;
  for (int64_t number = 0; number < 200; ++number) {
    std::vector<int64_t> starts = epoch(number);
    CHECK(starts != before);
    before = starts;
    std::sort(starts.begin(), starts.end());
    ++firsts[starts[0]];
    for (size_t i = 0; i < 24; ++i) REQUIRE(starts[i] == starts[0] + 4 * static_cast<int64_t>(i));
  }
  CHECK(firsts.size() == 7);  // every start from which 24 windows fit: 103 tokens, less 24 * 4
  CHECK(firsts.rbegin()->first == 6);
  CHECK(g == Generator(1));

  // A batch depends on the seed and on what was drawn before, alone.
  CHECK(same(draw(10, g, 20).x, dataset.shuffled_batches(7)(10, g, 20).x));
  CHECK(!same(draw(10, g, 20).x, dataset.shuffled_batches(8)(10, g, 20).x));
  const TextDataset one(places(5), 4, 0);
  CHECK(one.shuffled_batches(1)(2, g, 5).x.to_vector<int64_t>() ==
        std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3});
}

TEST_CASE("a list of examples gives them back, tokens of more than 16 bits too") {
  const std::vector<Example> all = {{{1, 65'535}, {false, true}},
                                    {{70'000, 2, 2'000'000'000}, {true, false, true}},
                                    {{3, 4}, {true, true}}};
  const ExampleList list(all);
  REQUIRE(list.size() == 3);
  size_t i = 0;
  for (const auto& [tokens, counts] : list) {
    CHECK(tokens == all[i].tokens);
    CHECK(counts == all[i++].counts);
  }
  const ExampleList rest = list.part(1, 3);
  CHECK(rest[0].tokens == all[1].tokens);
  CHECK(rest[1].counts == all[2].counts);
  CHECK(rest.tokens().values() == std::vector<int32_t>{70'000, 2, 2'000'000'000, 3, 4});
  CHECK(rest.begin_of(1) == 3);
}

TEST_CASE("shuffled windows with weights are drawn by the weights") {
  TextDataset dataset(places(100), 4, 0);
  dataset.weigh({{50, 0}, {50, 1}});
  Generator a(3), b(3);
  CHECK(same(dataset.shuffled_batches(1)(9, a, 0).x, dataset.random_batch(Split::train, 9, b).x));
}

}  // namespace gradus::test_dataset
