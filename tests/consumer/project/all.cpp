// The same by one header, which gives all of the library: a model, its loss, a step, and a tokenizer.
#include <gradus/gradus.hpp>

int main() {
  using namespace gradus;
  set_num_threads(2);
  Generator g(1);
  nn::Linear layer(2, 1, g);
  train::SGD optimizer(layer.named_parameters());
  const Tensor x = rand({8, 2}, g), y = sum(x, {1}, true);
  const double before = mse_loss(layer(x), y).item();
  mse_loss(layer(x), y).backward();
  optimizer.step(/*lr=*/0.1);
  const double after = mse_loss(layer(x), y).item();
  const data::Tokenizer tokenizer = data::Tokenizer::make("bpe", "ab", 257);
  const models::DecoderConfig config{.vocab_size = tokenizer.vocab_size()};
  return num_threads() == 2 && after < before && config.num_parameters() > 0 &&
                 !tokenizer.encode("ab").empty()
             ? 0
             : 1;
}
