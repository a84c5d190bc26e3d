// How each architecture knows the order of its tokens: what they do not share (test_architectures.cpp).
#include "autograd/compare.hpp"
#include "gradus/models/generate.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_positions {

using namespace testing;

TEST_CASE("scaled positions are those of blocks without a window") {
  DecoderConfig config = kSmallGemma;
  config.dropout = 0;
  const Tensor idx = tensor(std::vector<int64_t>{3, 1, 4, 1, 5, 9, 2, 6}, {1, 8});
  const auto logits = [&](const RopeScaling& scaling) {
    config.attention.rope_scaling = scaling;
    return wide_model(config, 3)(idx).detach();
  };
  const RopeScaling linear{.type = "linear", .factor = 8.0},
      yarn{.type = "yarn", .factor = 8.0, .original_length = 4, .attention_factor = 1.5};
  CHECK(difference(logits(linear), logits({})) != "");
  CHECK(difference(logits(yarn), logits({})) != "");
  config.n_layer = 1;  // which has a window
  CHECK(difference(logits(linear), logits({}), 0) == "");
  CHECK(difference(logits(yarn), logits({}), 0) == "");
}

TEST_CASE("decoding mingru token by token gives the full forward, far beyond the block") {
  Decoder model = wide_model(kSmallMinGru, 13);
  model.to(DType::float64);
  Generator g(14);
  const Tensor idx = randint(0, 11, {2, 50}, g), full = model(idx).detach();
  const auto single = model.make_state(2), pieces = model.make_state(2);
  for (int64_t t = 0; t < 50; ++t)
    CHECK(difference(model.decode(idx.slice(1, t, t + 1), *single), full.select(1, t), 1e-12) == "");
  CHECK(single->length == 50);
  (void)model.decode(idx.slice(1, 0, 21), *pieces);  // read in parts of a block
  CHECK(difference(model.decode(idx.slice(1, 21, 50), *pieces), full.select(1, 49), 1e-12) == "");
  pieces->truncate(50);
  CHECK(pieces->length == 50);
  CHECK_THROWS_WITH(pieces->truncate(3),
                    "[decoder] a recurrent state must be cut at 0 or not at all, got 3.");
  pieces->clear();
  CHECK(difference(model.decode(idx, *pieces), full.select(1, 49), 1e-12) == "");
}

TEST_CASE("mingru remembers what lies further back than a block") {
  const Decoder model = wide_model(kSmallMinGru, 15);
  std::vector<int64_t> text(20, 3), other = text;
  other[2] = 7;
  NextToken a(model), b(model), drafting(model, 7);
  const Tensor logits = a.logits(text);
  CHECK(difference(b.logits(other), logits) != "");
  CHECK(difference(drafting.logits(text), logits, 0) == "");  // Nothing is drafted.
  CHECK_FALSE(model.can_draft());
}

}  // namespace gradus::models::test_positions
