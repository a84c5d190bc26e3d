// State that is not trained, in the files of a run.
#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/train/run.hpp"
#include "small_model.hpp"
#include "temporary_folder.hpp"

namespace gradus::train::test_buffers {

/// Guesses the next byte from the last; its loss grows with the number of batches that it was trained on.
class Counting : public nn::Module {
 public:
  explicit Counting(Generator& g) : embed(256, 8, g), head(8, 256, g) {}
  Tensor loss(const data::Batch& batch) {
    if (training()) seen.fill_(seen.item() + 1);
    const Tensor logits = head(embed(batch.x.reshape({-1})));
    return cross_entropy(logits, batch.y.reshape({-1})) * (1.0 + 0.1 * seen.item());
  }
  void visit(nn::Visitor& v) override { v("embed", embed)("head", head).buffer("seen", seen); }

  nn::Embedding embed;
  nn::Linear head;
  Tensor seen = zeros({});
};

RunReport run(const std::filesystem::path& folder, int64_t stop_after) {
  const data::TextDataset text(data::Tokenizer::bytes().encode(small_text()), 8, 0.1);
  Generator g(3);
  Counting model(g);
  Trainer trainer(model, {.loss = [&](const data::Batch& batch) { return model.loss(batch); },
                          .batches = text.training_batches(),
                          .loop = {.steps = 9, .batch = 4}});
  const RunReport report = train::fit(trainer, folder, text.validation_batches(16), StopAfter(stop_after));
  CHECK(model.seen.item() == static_cast<double>(report.steps));
  return report;
}

TEST_CASE("buffers are saved with the parameters, and a resumed run has the same bits") {
  const testing::TemporaryFolder folder;
  CHECK(run(folder / "in two", 4).steps == 4);
  CHECK(*run(folder / "in two", 9).val_loss == *run(folder / "at once", 9).val_loss);
}

}  // namespace gradus::train::test_buffers
