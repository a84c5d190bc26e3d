// check_module passes every architecture, with the loss of a train::Recipe too.
#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/nn/check_module.hpp"
#include "gradus/train/trainer/recipe.hpp"

namespace gradus::test_check_decoders {

TEST_CASE("decoders pass check_module") {
  Generator g(1);
  const Tensor text = randint(0, 13, {3, 9}, g);
  const data::Batch batch{text.slice(1, 0, 8), text.slice(1, 1, 9)};
  for (const std::string& arch : models::arch_names())
    for (const bool tied : {true, false}) {
      INFO(arch << (tied ? "" : ", untied"));
      const bool takes_defaults = arch == models::DecoderConfig().arch;  // is tied, with biases
      if (takes_defaults && !tied) continue;
      models::Decoder model({.arch = arch,
                             .vocab_size = 13,
                             .block_size = 8,
                             .n_layer = 2,
                             .n_head = 1,
                             .n_embd = 16,
                             .dropout = 0.1,
                             .bias = takes_defaults,
                             .tie_word_embeddings = tied},
                            g);
      CHECK(nn::check_module(
          model, batch, [](const models::Decoder& m, const Tensor& x, const Tensor& y, Generator* dropout) {
            return m.loss(x, y, dropout);
          }));
      const train::Loss borrowed = [&](const data::Batch& b, Generator* dropout) {
        return model.loss(b.x, b.y, dropout);
      };
      CHECK(nn::check_module(model, batch, borrowed, {.skip = {"overfit"}}));
      CHECK(model.training());
    }
}

}  // namespace gradus::test_check_decoders
