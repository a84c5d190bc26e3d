// Trains the model on a text (default: stories that gradus makes) and prints a sample. The run is in the
// folder out: Ctrl-C saves it, and the next call continues it.
#include <iostream>

#include "model.hpp"

using namespace gradus;

std::string sample(const Model& model, std::string text, int64_t bytes, Generator& g) {
  const NoGrad sampling;
  Tensor state;
  std::vector<int64_t> next(text.begin(), text.end());
  for (int64_t i = 0; i < bytes; ++i) {
    const auto [output, h] = model.gru(model.embed(tensor(next, {1, std::ssize(next)})), state);
    state = h;
    next = {static_cast<int64_t>(multinomial(softmax(model.head(output).index({0, -1}), 0), 1, g).item())};
    text += static_cast<char>(next[0]);
  }
  return text;
}

int main(int argc, char** argv) {
  const std::string text = argc > 1 ? files::read(argv[1]) : data::load_corpus("stories").text;
  const data::TextDataset dataset(data::Tokenizer::bytes().encode(text), /*block=*/32, /*val_fraction=*/0.1);
  Generator g(42);
  Model model(256, 64, g);
  train::Trainer trainer(model,
                         {.loss = [&](const data::Batch& batch) { return model.loss(batch.x, batch.y); },
                          .batches = dataset.training_batches(),
                          .schedule = train::Schedule{.lr = 1e-2, .warmup = 30, .steps = 600},
                          .loop = {.steps = 600, .eval_every = 200}});
  const std::vector<data::Batch> validation = dataset.validation_batches(64);
  train::Console console(std::cout);
  const train::RunReport report = train::fit(trainer, "out", validation, console);
  if (report.val_loss) std::cout << "validation loss " << *report.val_loss << " nats a byte\n";
  std::cout << sample(model, "\n", 200, g) << "\n";
}
