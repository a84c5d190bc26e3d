// The parts of check_module(): comparisons of outputs, a module with copies in the places of its parameters,
// gradient steps on the batch, the gradcheck. Private.
#pragma once

#include <string>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/check_module.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::nn::detail {

/// What a check got; empty: it passed.
using Got = std::string;

/// An output that must not change, and did.
struct Change {
  Shape at;
  double from = 0, to = 0;
  std::string text() const;  ///< "1 became 2 at (0, 0)"
};
/// The first element that changed by more than `allowed`; 0 requires equal bits. NaN must stay NaN.
std::optional<Change> change(const Tensor& before, const Tensor& after, double allowed);
/// The change that rounding explains where sums may be computed in another order over many layers.
double rounding(const Tensor& outputs);

Tensor clone(const Tensor& x);  ///< undefined stays undefined
/// The equality of shapes and bits, but for those of NaN.
bool same_bits(const Tensor& a, const Tensor& b);
bool has_equal_rows(const Tensor& x);
Tensor to_float64(const Tensor& x);
/// Changes floating values by a tenth of their size, and zeros to small numbers.
void change_at_random(Tensor& values, Generator generator);

/// What a row of a batch gets alone, and in a batch in another order: the same.
Got examples_alone(const OutputsOf& f, const Tensor& x);
/// What decode() gives: the outputs of a full call.
Got decoded(const OutputsOf& f, const std::function<CachedSequence()>& start, const Tensor& x);

/// Gives a module copies of its parameters and buffers, and evaluation mode, for its lifetime; then the
/// originals, its modes and its Dropouts back.
class Scratch : public Visitor {
 public:
  explicit Scratch(Module& module);
  ~Scratch() override;
  /// Changes what requires gradients, or everything.
  void change(const Generator& generator, bool buffers);

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
Tensor loss_of_copies(const CheckedModule& c, const Tensor& x, const Tensor& y, uint64_t seed);

/// What gradient steps on the batch gave.
struct Training {
  double first = 0, last = 0;  // losses in evaluation mode
  bool fitted = false;         // whether the last one is low enough
  Got gradients{};
};
/// Steps by the signs of the gradients, with a rate that falls to 0: stateless, for gradients of any size.
Training train(const CheckedModule& c, const ModuleCheckOptions& o);

/// Changes the dtype of the parameters.
Got gradcheck_parameters(const CheckedModule& c, const ModuleCheckOptions& o, const Scratch& scratch);

}  // namespace gradus::nn::detail
