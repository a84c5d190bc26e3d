// Handwritten digits: a multilayer perceptron and a convolutional network (LeCun et al., 1998) read images.
//
// digits.txt has 1,797 images: 64 grey levels from a (0) to q (16), row by row, then the digit. They are the
// test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, UCI Machine Learning
// Repository, CC BY 4.0), by 13 writers.
//
// usage: digits [FILE]. Exits with 1 unless the networks classify 95 % and 97 % of 360 images that they have
// not seen.
#include <fstream>
#include <gradus/gradus.hpp>
#include <iostream>

using namespace gradus;

struct Digits {
  Tensor images;  // (N, 1, 8, 8), from 0 to 1
  Tensor labels;  // (N) int64
};

Digits read_digits(const std::string& file) {
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  std::ifstream lines(file);
  for (std::string line; lines >> line;) {
    for (int i = 0; i < 64; ++i) pixels.push_back(static_cast<float>(line.at(i) - 'a') / 16.0f);
    labels.push_back(line.at(64) - '0');
  }
  const auto n = static_cast<int64_t>(labels.size());
  if (n == 0)
    fail("digits", "there must be images in ", file, ", got none. Hint: name the file as the argument.");
  return {tensor(pixels, {n, 1, 8, 8}), tensor(labels, {n})};
}

struct Perceptron : nn::Module {
  nn::Linear fc1, fc2;
  explicit Perceptron(Generator& g) : fc1(64, 64, g), fc2(64, 10, g) {}
  Tensor operator()(const Tensor& x) const { return fc2(relu(fc1(x.reshape({-1, 64})))); }
  void visit(nn::Visitor& v) override { v("fc1", fc1)("fc2", fc2); }
};

struct ConvNet : nn::Module {
  nn::Conv2d conv1, conv2;
  nn::MaxPool2d pool{2};
  nn::Linear fc;
  explicit ConvNet(Generator& g)
      : conv1(1, 16, 3, g, {.padding = 1}), conv2(16, 32, 3, g, {.padding = 1}), fc(32 * 2 * 2, 10, g) {}
  Tensor operator()(const Tensor& x) const {                   // (N, 1, 8, 8)
    const Tensor h = pool(relu(conv2(pool(relu(conv1(x))))));  // (N, 32, 2, 2)
    return fc(h.reshape({-1, 32 * 2 * 2}));                    // (N, 10)
  }
  void visit(nn::Visitor& v) override { v("conv1", conv1)("conv2", conv2)("pool", pool)("fc", fc); }
};

/// Trains the model on one part of the images and returns the share of the other part that it classifies.
template <class M>
double train_and_test(M& model, const Digits& training, const Digits& test, Generator& g) {
  constexpr int64_t kEpochs = 20, kBatch = 32;
  train::AdamW optimizer(model.named_parameters());
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch)
    for (const Tensor& batch : randperm(training.labels.size(0), g).split(kBatch, 0)) {
      const Tensor logits = model(training.images.index({batch}));
      cross_entropy(logits, training.labels.index({batch})).backward();
      optimizer.step(/*lr=*/3e-3);
      optimizer.zero_grad();
    }
  const NoGrad evaluation;
  return mean(eq(argmax(model(test.images), 1), test.labels).to(DType::float32)).item();
}

int main(int argc, char** argv) {
  const Digits all = read_digits(argc > 1 ? argv[1] : "examples/digits.txt");
  Generator g(1);
  const std::vector<Tensor> order = randperm(all.labels.size(0), g).split(all.labels.size(0) - 360, 0);
  const Digits training{all.images.index({order[0]}), all.labels.index({order[0]})};
  const Digits test{all.images.index({order[1]}), all.labels.index({order[1]})};
  Perceptron perceptron(g);
  ConvNet network(g);
  const double right = train_and_test(perceptron, training, test, g);
  const double right_of_network = train_and_test(network, training, test, g);
  std::cout << "perceptron  " << perceptron.num_parameters() << " parameters, " << 100 * right << " % right\n"
            << "network     " << network.num_parameters() << " parameters, " << 100 * right_of_network
            << " % right\n";
  return right >= 0.95 && right_of_network >= 0.97 ? 0 : 1;
}
