// Trains the model to tell horizontal, vertical and diagonal bars apart in noisy images of 16x16 pixels.
#include <iostream>

#include "model.hpp"

using namespace gradus;

constexpr int64_t kSize = 16, kClasses = 3;

/// Images (N, 1, kSize, kSize) with their classes (N). Replace it with your data.
data::Batch draw(int64_t n, Generator& g) {
  Tensor images = 0.5 * randn({n, 1, kSize, kSize}, g);
  const Tensor classes = randint(0, kClasses, {n}, g);
  float* pixel = images.mutable_data<float>();
  for (const int64_t kind : classes.to_vector<int64_t>()) {
    const int64_t place = g.below(kSize);
    for (int64_t y = 0; y < kSize; ++y)
      for (int64_t x = 0; x < kSize; ++x, ++pixel)
        if ((kind == 0 && y == place) || (kind == 1 && x == place) || (kind == 2 && (x + y) % kSize == place))
          *pixel += 1;
  }
  return {images, classes};
}

int main() {
  Generator g(42);
  Model model(kSize, kClasses, g);
  std::cout << model.summary();
  train::AdamW optimizer(model.named_parameters());
  for (int step = 0; step <= 400; ++step) {
    const auto [x, y] = draw(32, g);
    const Tensor loss = cross_entropy(model(x), y);
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss.item() << "\n";
    loss.backward();
    optimizer.step(/*lr=*/3e-3);
    optimizer.zero_grad();
  }
  const NoGrad evaluation;
  const auto [x, y] = draw(1000, g);
  std::cout << 100 * mean(eq(argmax(model(x), 1), y).to(DType::float32)).item()
            << " % of new images are right\n";
  nn::save_safetensors("model.safetensors", model.state_dict());
  std::cout << "wrote model.safetensors\n";
}
