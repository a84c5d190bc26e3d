// A model, and a text, small enough that a test trains in milliseconds.
#pragma once

#include "gradus/data/dataset.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/trainer/trainer.hpp"
#include "train/small_text.hpp"

namespace gradus::train {

inline TrainConfig small_config() {
  TrainConfig config = preset("tiny");
  config.model.n_embd = 16;
  config.model.block_size = 8;
  config.steps = 20;
  config.batch = 4;
  config.warmup = 3;
  config.eval_every = 5;
  config.save_every = 10;
  return config;
}

/// All that a trainer needs, alive together.
struct SmallRun {
  explicit SmallRun(const TrainConfig& c = small_config(), Communicator* ranks = nullptr)
      : config(c),
        tokenizer(data::Tokenizer::characters(small_text())),
        dataset(tokenizer.encode(small_text()), c.model.block_size, 0.1),
        model(sized(), init),
        trainer(model, decoder_recipe(model, training_batches(dataset, config), config), ranks) {}

  data::Batch next(int64_t batch, Generator& g) const {
    return dataset.random_batch(data::Split::train, batch, g);
  }
  const models::DecoderConfig& sized() {
    config.model.vocab_size = tokenizer.vocab_size();
    return config.model;
  }

  TrainConfig config;
  data::Tokenizer tokenizer;
  data::TextDataset dataset;
  Generator init{1};
  models::Decoder model;
  Trainer trainer;
};

/// All parameters, one after another.
inline std::vector<float> values_of(const models::Decoder& model) {
  std::vector<float> values;
  for (const Tensor& parameter : model.parameters())
    for (const float value : parameter.to_vector<float>()) values.push_back(value);
  return values;
}

}  // namespace gradus::train
