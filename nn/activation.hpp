// Activations as modules, for Sequential. Where a function will do, call gradus::gelu and so on.
#pragma once

#include "gradus/autograd/ops.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

class GELU : public Module {
 public:
  explicit GELU(Gelu approximate = Gelu::none) : approximate_(approximate) {}
  Tensor operator()(const Tensor& x) const { return gelu(x, approximate_); }
  void visit(Visitor&) override {}

 private:
  Gelu approximate_;
};

class ReLU : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return relu(x); }
  void visit(Visitor&) override {}
};

class SiLU : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return silu(x); }
  void visit(Visitor&) override {}
};

class Tanh : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return tanh(x); }
  void visit(Visitor&) override {}
};

}  // namespace gradus::nn
