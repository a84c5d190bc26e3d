// The shortest proof that attention learns: a random string, a separator, and the string once more.
#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train::test_copy_task {

constexpr int64_t kLetters = 16, kLength = 12, kBlock = 2 * kLength, kNoTarget = -100;

/// Letters, separator, letters; what comes before the repetition cannot be known, so it does not count.
data::Batch copies(int64_t batch, Generator& generator) {
  std::vector<int64_t> x, y;
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<int64_t> line;
    for (int64_t i = 0; i < kLength; ++i) line.push_back(generator.below(kLetters));
    line.push_back(kLetters);
    line.insert(line.end(), line.begin(), line.begin() + kLength);
    x.insert(x.end(), line.begin(), line.end() - 1);
    y.insert(y.end(), kLength, kNoTarget);
    y.insert(y.end(), line.begin() + kLength + 1, line.end());
  }
  return {tensor(x, {batch, kBlock}), tensor(y, {batch, kBlock})};
}

TEST_CASE("a decoder of two layers learns to repeat a random string", "[train]") {
  TrainConfig config = preset("tiny");
  config.model.vocab_size = kLetters + 1;
  config.model.block_size = kBlock;
  config.model.n_embd = 64;
  config.model.n_head = 4;
  config.steps = 500;
  config.batch = 32;
  config.lr = 3e-3;
  Generator init(1);
  models::Decoder model(config.model, init);
  Trainer trainer(model, decoder_recipe(model, copies, config));
  for (int64_t i = 0; i < config.steps; ++i) (void)trainer.step();

  Generator unseen(99);
  CHECK(mean_loss(model, {copies(256, unseen)}) < 0.02);
}

}  // namespace gradus::train::test_copy_task
