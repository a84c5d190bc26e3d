// Trains the model to compute sin(x) from samples.
#include <iostream>

#include "model.hpp"

using namespace gradus;

int main() {
  Generator g(42);
  Model model(1, 32, 1, g);
  std::cout << model.summary();
  train::AdamW optimizer(model.named_parameters());
  for (int step = 0; step <= 2000; ++step) {
    const Tensor x = rand({64, 1}, g) * 6.0 - 3.0, y = sin(x);  // replace them with a batch of your data
    const Tensor loss = mse_loss(model(x), y);
    if (step % 500 == 0) std::cout << "step " << step << "  loss " << loss.item() << "\n";
    loss.backward();
    optimizer.step(/*lr=*/1e-2);
    optimizer.zero_grad();
  }
  nn::save_safetensors("model.safetensors", model.state_dict());
  std::cout << "wrote model.safetensors\n";
}
