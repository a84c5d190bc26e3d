#include "gradus/cli/gradcheck/gradcheck_subjects.hpp"

#include <algorithm>

#include "gradus/cli/train/run_text.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/nn/gradcheck_module.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli {

GradcheckReport check_model(const std::string& folder, const GradcheckOptions& options) {
  const auto [model, tokenizer] = train::load_trained(folder);
  const train::TrainConfig trained = train::load_config(train::RunFolder(folder));
  const RunText text = load_text(trained, data::TextRules::of(tokenizer));
  const data::Tokens all = RunTokens(text, tokenizer, trained).all();
  const data::Tokens ids = all.part(0, std::min<int64_t>(all.size(), 4096));
  const int64_t tokens = std::min<int64_t>(model.config().block_size, 16);
  const data::TextDataset dataset(ids, tokens, 0.0);
  Generator generator(options.seed);
  const data::Batch batch = dataset.random_batch(data::Split::train, 2, generator);
  const auto loss = [&](const models::Decoder& m, const auto&) {
    Generator same(1);  // Dropout draws the same mask in each call.
    return m.loss(batch.x, batch.y, &same);
  };
  return nn::gradcheck_module<models::Decoder>(model, {}, loss, options);
}

}  // namespace gradus::cli
