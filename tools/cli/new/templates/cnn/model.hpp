// A convolutional network that classifies images.
#pragma once

#include <gradus/gradus.hpp>

struct Model : gradus::nn::Module {
  gradus::nn::Conv2d conv1, conv2;
  gradus::nn::MaxPool2d pool{2};
  gradus::nn::Linear fc;

  /// Images of size x size pixels, a multiple of 4.
  Model(int64_t size, int64_t classes, gradus::Generator& g)
      : conv1(1, 8, 3, g, {.padding = 1}), conv2(8, 16, 3, g, {.padding = 1}), fc(size * size, classes, g) {}

  /// (N, 1, size, size) -> logits (N, classes)
  gradus::Tensor operator()(const gradus::Tensor& x) const {
    const gradus::Tensor h = pool(relu(conv2(pool(relu(conv1(x))))));  // (N, 16, size / 4, size / 4)
    return fc(h.reshape({x.size(0), -1}));
  }

  void visit(gradus::nn::Visitor& v) override { v("conv1", conv1)("conv2", conv2)("pool", pool)("fc", fc); }
};
