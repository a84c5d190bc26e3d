// A perceptron with one hidden layer.
#pragma once

#include <gradus/gradus.hpp>

struct Model : gradus::nn::Module {
  gradus::nn::Linear hidden, out;

  Model(int64_t features, int64_t width, int64_t results, gradus::Generator& g)
      : hidden(features, width, g), out(width, results, g) {}

  /// (..., features) -> (..., results)
  gradus::Tensor operator()(const gradus::Tensor& x) const { return out(gradus::tanh(hidden(x))); }

  void visit(gradus::nn::Visitor& v) override { v("hidden", hidden)("out", out); }
};
