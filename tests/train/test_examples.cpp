// Training on packed examples: micro-batches, which differ in their targets, add up to one batch.
#include "autograd/compare.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "gradus/train/trainer/trainer.hpp"
#include "threads_as_ranks.hpp"

namespace gradus::test_examples {

data::TextDataset examples() {
  std::vector<data::Example> all;
  for (int32_t i = 0; i < 12; ++i) {
    data::Example one;
    for (int32_t t = 0; t < 3 + i % 5; ++t) one.tokens.push_back((3 * i + 2 * t) % 11);
    one.counts.assign(one.tokens.size(), false);
    for (size_t t = 0; t <= static_cast<size_t>(i % 3); ++t) one.counts[one.counts.size() - 1 - t] = true;
    all.push_back(one);
  }
  return {all, {}, 8, 3};
}

struct Result {
  train::StepReport report;
  std::vector<Tensor> parameters;
};

/// Without `ranks`, in float64.
Result one_step(const data::TextDataset& dataset, int64_t batch, int64_t accum,
                train::Communicator* ranks = nullptr) {
  Generator init(5);
  models::Decoder model({.vocab_size = 11, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 8}, init);
  if (!ranks) model.to(DType::float64);
  train::Recipe recipe{.loss = train::decoder_loss(model),
                       .batches = dataset.shuffled_batches(7),
                       .optimizer = std::make_unique<train::SGD>(model.named_parameters()),
                       .schedule = [](int64_t) { return 0.1; }};
  recipe.loop.steps = 1;
  recipe.loop.batch = batch;
  recipe.loop.accum = accum;
  recipe.loop.clip = 0;
  train::Trainer trainer(model, std::move(recipe), ranks && ranks->size() > 1 ? ranks : nullptr);
  if (ranks && ranks->rank() > 0) return trainer.follow({}), Result();
  Result result{trainer.step(), {}};
  for (const Tensor& p : model.parameters()) result.parameters.push_back(p.detach() + 0.0);
  return result;
}

TEST_CASE("micro-batches of examples count by their targets") {
  const data::TextDataset dataset = examples();
  const Result whole = one_step(dataset, 4, 1), parts = one_step(dataset, 1, 4);
  CHECK(parts.report.tokens == whole.report.tokens);
  CHECK(std::abs(parts.report.loss - whole.report.loss) < 1e-12);
  for (size_t i = 0; i < whole.parameters.size(); ++i)
    CHECK(testing::difference(parts.parameters[i], whole.parameters[i], 1e-12) == "");
}

TEST_CASE("a batch without targets counts neither in a step nor in a mean loss") {
  Generator init(5);
  nn::Embedding model(4, 4, init);
  const auto loss = [&](const data::Batch& b) { return cross_entropy(model(b.x), b.y); };
  const data::Batch some{tensor({0, 1}), tensor({1, 2})}, none{tensor({0, 1}), tensor({-100, -100})};
  const double expected = train::mean_loss(model, loss, {some});
  CHECK(train::mean_loss(model, loss, {none, some, none}) == expected);
  CHECK_THROWS_WITH(train::mean_loss(model, loss, {none}),
                    "[evaluate] needs at least one target, got none in its batches.");
  bool is_first = true, has_any = true;
  train::Recipe recipe{.loss = loss, .batches = [&](int64_t, Generator&) {
                         return has_any && std::exchange(is_first, !is_first) ? some : none;
                       }};
  recipe.loop.accum = 2;
  recipe.loop.steps = 2;
  train::Trainer trainer(model, std::move(recipe));
  CHECK(trainer.step().loss == expected);
  has_any = false;
  CHECK_THROWS_WITH(trainer.step(), "[train] a step must have a target, got none in its batches.");
}

TEST_CASE("micro-batches of examples on several ranks give the bits of one rank") {
  const data::TextDataset dataset = examples();
  const auto on = [&](int count) {
    Result first;
    train::ThreadsAsRanks(count).run([&](train::Communicator& ranks) {
      Result result = one_step(dataset, 1, 4, &ranks);
      if (ranks.rank() == 0) first = std::move(result);
    });
    return first;
  };
  const Result one = on(1), whole = one_step(dataset, 4, 1);
  for (const int count : {2, 3, 4}) {
    const Result some = on(count);
    CHECK(some.report.loss == one.report.loss);
    CHECK(some.report.tokens == whole.report.tokens);
    for (size_t i = 0; i < one.parameters.size(); ++i) {
      CHECK(testing::difference(some.parameters[i], one.parameters[i], 0.0) == "");
      CHECK(testing::difference(one.parameters[i].to(DType::float64), whole.parameters[i], 1e-5) == "");
    }
  }
}

}  // namespace gradus::test_examples
