// An operation with a kernel and a gradient rule of its own, and a perceptron that uses it.
#pragma once

#include <cmath>
#include <gradus/gradus.hpp>

/// x / (1 + |x|) (softsign), element by element. x: float32 or float64
inline gradus::Tensor softsign(const gradus::Tensor& x) {
  using namespace gradus;
  Tensor y = empty(x.shape(), x.dtype());
  const auto loop = [&]<class T>(T) {  // the kernel: one pass over memory
    const Tensor packed = x.detach().contiguous();
    const T* in = packed.data<T>();
    T* out = y.mutable_data<T>();
    for (int64_t i = 0; i < packed.numel(); ++i) out[i] = in[i] / (1 + std::abs(in[i]));
  };
  x.dtype() == DType::float64 ? loop(0.0) : loop(0.0f);
  // The rule is written in public operations, so that it can be differentiated again.
  return record(OpName::custom("softsign"), y,
                {{x, [x = Saved(x)](const Tensor& gy) { return gy * pow(1.0 + abs(x), -2.0); }}});
}

struct Model : gradus::nn::Module {
  gradus::nn::Linear hidden, out;

  Model(int64_t features, int64_t width, int64_t results, gradus::Generator& g)
      : hidden(features, width, g), out(width, results, g) {}

  /// (..., features) -> (..., results)
  gradus::Tensor operator()(const gradus::Tensor& x) const { return out(softsign(hidden(x))); }

  void visit(gradus::nn::Visitor& v) override { v("hidden", hidden)("out", out); }
};
