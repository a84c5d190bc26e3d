// The parts of check_module(): a module with copies in the places of its parameters, a run of AdamW, the
// gradcheck. Private.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/check_module.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::nn::detail {

inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.shape() == b.shape() && equal(a, b);
}

inline bool has_equal_rows(const Tensor& x) {
  return x.dim() > 0 && x.size(0) > 1 && same_bits(x, x.slice(0, 0, 1).expand(x.shape()));
}

inline Tensor to_float64(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) ? x.to(DType::float64) : x;
}

/// Changes floating values by a tenth of their size, and zeros to small numbers.
inline void change(Tensor& values, Generator generator) {
  if (!is_floating(values.dtype())) return;
  const NoGrad off;
  const Tensor noise = randn(values.shape(), generator, values.dtype());
  values.copy_(where(eq(values, 0.0), noise * 0.05, values * (noise * 0.1 + 1.0)));
}

/// Gives a module copies of its parameters and buffers, and evaluation mode, for its lifetime; then the
/// originals, its modes and its Dropouts back.
class Scratch : public Visitor {
 public:
  explicit Scratch(Module& module) : modes_(module) {
    start(module);
    std::map<const autograd::TensorImpl*, Tensor> copies;
    for (const Slot& slot : slots) {
      Tensor& copy = copies[slot.original.impl()];
      if (!copy.defined()) {
        copy = clone(slot.original);
        if (slot.original.requires_grad()) copy.requires_grad_();
        copy.impl()->frozen = slot.original.impl()->frozen;
      }
      *slot.place = copy;
    }
  }
  ~Scratch() override {
    for (const Slot& slot : slots) *slot.place = slot.original;
    for (const Drop& drop : dropouts) *drop.place = drop.original;
  }

  /// Changes what requires gradients, or everything.
  void change(const Generator& generator, bool buffers) {
    for (const Slot& slot : slots)
      if (buffers || slot.place->requires_grad()) detail::change(*slot.place, generator.stream(slot.name));
  }

  /// A parameter or buffer, in its place in the module. Tied ones have one original.
  struct Slot {
    std::string name;
    Tensor *place, original;
    bool is_buffer;
  };
  std::vector<Slot> slots;
  /// A Dropout with p > 0.
  struct Drop {
    std::string name;
    Dropout *place, original;
  };
  std::vector<Drop> dropouts;

 private:
  void on_parameter(const std::string& name, Tensor& tensor, Role) override {
    slots.push_back({name, &tensor, tensor, false});
  }
  void on_buffer(const std::string& name, Tensor& tensor) override {
    slots.push_back({name, &tensor, tensor, true});
  }
  void on_module(const std::string& name, Module& module) override {
    auto* dropout = dynamic_cast<Dropout*>(&module);
    if (dropout && dropout->p() > 0.0) dropouts.push_back({name, dropout, *dropout});
  }
  EvaluationMode modes_;
};

/// The loss of copies, because a model may write into its input.
inline Tensor loss_of_copies(const CheckedModule& c, const Tensor& x, const Tensor& y, uint64_t seed) {
  Generator generator(seed);
  return c.loss(clone(x), clone(y), &generator);
}

/// What a check got; empty: it passed.
using Got = std::string;

/// One run of AdamW on the batch.
struct Training {
  double first = 0, last = 0;  ///< losses in evaluation mode
  bool fitted = false;         ///< whether the last one is low enough
  Got gradients{};
};
Training train(const CheckedModule& c, const ModuleCheckOptions& o, double lr);

/// Changes the dtype of the parameters.
Got gradcheck_parameters(const CheckedModule& c, const ModuleCheckOptions& o, const Scratch& scratch);

}  // namespace gradus::nn::detail
