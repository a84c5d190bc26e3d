// checkpoint(): trades time for memory. What a function computes on the way to its results is thrown away,
// and computed again when backward comes to it (Chen, Xu, Zhang and Guestrin, arXiv 1604.06174).
//
//   Tensor h = checkpoint([&block](const Tensor& x) { return block(x); }, x);
//   Tensor h = checkpoint([&block, g](const Tensor& x) { return block(x, g); }, x, {g});  // with dropout
//
// Gradients are those of the same graph without it, to the last bit: the engine walks the recomputed ops in
// their old place. They reach the inputs and all that `fn` uses besides, such as parameters. Checkpoints may
// be nested, and differentiated to any order (a second derivative keeps the recomputed values).
//
// `fn` must do the same both times. It is kept until backward has used it or the results are dropped, so what
// it refers to must live until then, as must the generators; these are handed to it in the state they had
// at first, and get their present one back. That it gave the same bits is checked.
// Thread-safety: that of the ops that `fn` uses.
#pragma once

#include <functional>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

using Generators = std::vector<Generator*>;  ///< those that a function draws from

/// fn(inputs), without keeping what backward would need. Under NoGrad it is just that. Backward throws Error
/// if an input was overwritten since, or if `fn` gives other results than at first.
std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>(const std::vector<Tensor>&)> fn,
                               const std::vector<Tensor>& inputs, Generators generators = {});
/// The same for a function with one result.
Tensor checkpoint(std::function<Tensor(const std::vector<Tensor>&)> fn, const std::vector<Tensor>& inputs,
                  Generators generators = {});
Tensor checkpoint(std::function<Tensor(const Tensor&)> fn, const Tensor& input, Generators generators = {});

}  // namespace gradus
