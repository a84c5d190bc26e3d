// Training with the fast kernels against the same training by definition.
#include "catch.hpp"
#include "plain_decoder.hpp"
#include "small_model.hpp"

namespace gradus::train::test_plain_twin {

void check_same_curve(const models::DecoderConfig& shape) {
  TrainConfig config = small_config();
  config.model = shape;
  config.steps = 50;
  const auto tokenizer = data::Tokenizer::characters(small_text());
  const data::TextDataset dataset(tokenizer.encode(small_text()), shape.block_size, 0.1);
  config.model.vocab_size = tokenizer.vocab_size();
  Generator init(5);
  models::Decoder model(config.model, init);
  PlainDecoder plain(model);

  data::Batch last;
  const auto next = [&](int64_t batch, Generator& g) {
    return last = dataset.random_batch(data::Split::train, batch, g);
  };
  Trainer trainer(model, decoder_recipe(model, next, config));
  double first_loss = 0, last_loss = 0;
  for (int i = 0; i < 50; ++i) {
    const StepReport report = trainer.step();
    const double expected =
        plain.step(last, report.lr, config.clip, config.weight_decay, config.beta1, config.beta2);
    INFO("step " << i + 1 << ": " << report.loss << ", by definition " << expected);
    REQUIRE(std::abs(report.loss - expected) <= 1e-5 * expected);
    if (i == 0) first_loss = report.loss;
    last_loss = report.loss;
  }
  CHECK(last_loss < 0.9 * first_loss);  // it did learn, so the curves had room to part
}

TEST_CASE("50 steps have the losses that the definition gives, to 1e-5") {
  check_same_curve({.block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 32});
}

TEST_CASE("so do they at sizes that fill no vector and no tile") {
  check_same_curve({.block_size = 17, .n_layer = 1, .n_head = 3, .n_embd = 21});
  check_same_curve({.block_size = 65, .n_layer = 1, .n_head = 1, .n_embd = 33});
}

}  // namespace gradus::train::test_plain_twin
