// Activations as modules, for Sequential. Where a function will do, call gradus::gelu and so on.
#pragma once

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// gelu().
class GELU : public Module {
 public:
  /// Gelu::tanh is the form that GPT-2 has.
  explicit GELU(Gelu approximate = Gelu::none) : approximate_(approximate) {}
  Tensor operator()(const Tensor& x) const { return gelu(x, approximate_); }  ///< any shape
  void visit(Visitor&) override {}

 private:
  Gelu approximate_;
};

/// relu().
class ReLU : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return relu(x); }  ///< any shape
  void visit(Visitor&) override {}
};

/// silu().
class SiLU : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return silu(x); }  ///< any shape
  void visit(Visitor&) override {}
};

/// mish().
class Mish : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return mish(x); }  ///< any shape
  void visit(Visitor&) override {}
};

/// tanh().
class Tanh : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return tanh(x); }  ///< any shape
  void visit(Visitor&) override {}
};

}  // namespace gradus::nn
