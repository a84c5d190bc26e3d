// Compares decoders with PyTorch's numbers; make_gpt2_golden.py and make_llama_golden.py wrote them.
#include "autograd/compare.hpp"
#include "gradus/models/stored/config_json.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "test_files.hpp"

namespace gradus::test_golden {

using testing::relative_error;

const std::filesystem::path kGolden = testing::test_files() / "models/golden";

TEST_CASE("logits, loss and every gradient are PyTorch's, cached too") {
  const std::string kind = GENERATE("gpt2", "llama", "qwen3", "llama3", "yarn", "qwen2", "mistral", "gemma3");
  const bool gpt2 = kind == "gpt2";
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double tolerance = dtype == DType::float64 ? 1e-12 : gpt2 ? 1e-5 : 2e-5;
  INFO(kind << " in " << name(dtype));
  const std::filesystem::path folder = gpt2 ? kGolden : kGolden / kind;
  const nn::StateDict expected = nn::load_safetensors(folder / "expected.safetensors", /*keep_float64=*/true);
  models::Decoder model = models::load_pretrained(gpt2 ? folder / "model" : folder);
  model.eval();
  model.to(dtype);

  const Tensor &idx = expected.at("idx"), &logits = expected.at("logits");
  CHECK(relative_error(model(idx), logits) < tolerance);
  const Tensor loss = model.loss(idx, expected.at("targets"));
  CHECK(relative_error(loss, expected.at("loss")) < tolerance);
  loss.backward();
  size_t parameters = 0;
  for (const auto& [name, parameter] : model.named_parameters()) {
    INFO(name);
    CHECK(relative_error(parameter.grad(), expected.at("grad." + name)) < tolerance);
    ++parameters;
  }
  const size_t optimizers = gpt2 ? 0 : kind == "llama" || kind == "qwen3" ? 3 : 1;
  CHECK(expected.size() == (gpt2 ? 4 : 6) + parameters + optimizers * (1 + parameters));

  const auto state = model.make_state(idx.size(0));
  for (int64_t t = 0; t < idx.size(1); ++t) {
    INFO("position " << t);
    CHECK(relative_error(model.decode(idx.slice(1, t, t + 1), *state), logits.select(1, t)) < tolerance);
  }
}

TEST_CASE("a config with another attention survives saving and loading") {
  const std::string kind = GENERATE("llama3", "yarn", "qwen2", "mistral", "gemma3");
  const models::DecoderConfig config = models::load_config(kGolden / kind);
  CHECK(config.attention != models::AttentionVariant());
  CHECK(models::config_from_json(models::to_json(config), "config.json") == config);
}

}  // namespace gradus::test_golden
