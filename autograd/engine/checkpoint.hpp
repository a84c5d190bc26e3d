// checkpoint(): trades time for memory. A function's intermediate values are freed, and computed again during
// backward (Chen, Xu, Zhang and Guestrin, arXiv 1604.06174).
//
//   Tensor h = checkpoint([&block](const Tensor& x) { return block(x); }, x);
//   Tensor h = checkpoint([&block, g](const Tensor& x) { return block(x, g); }, x, {g});  // with dropout
//
// Gradients have the same bits as without it: the engine walks the recomputed ops in their old place. They
// reach the inputs and all other tensors that `fn` uses, such as parameters. Checkpoints may be nested, and
// differentiated to any order (a second derivative keeps the recomputed values).
//
// `fn` must do the same both times; backward checks that it gives the same bits. It is kept until backward
// has used it or the results are freed, so objects that it refers to must live until then, as must the
// generators. For the second run the generators are set to the state that they had before the first run, and
// restored afterwards. Thread-safety: that of the ops that `fn` uses.
#pragma once

#include <functional>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

using Generators = std::vector<Generator*>;  ///< the generators that a function draws from

/// Returns fn(inputs) without keeping intermediate values. Under NoGrad it only calls fn. Backward throws
/// Error if an input was overwritten since, or if `fn` gives different results the second time.
std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>(const std::vector<Tensor>&)> fn,
                               const std::vector<Tensor>& inputs, Generators generators = {});
/// The same for a function with one result.
Tensor checkpoint(std::function<Tensor(const std::vector<Tensor>&)> fn, const std::vector<Tensor>& inputs,
                  Generators generators = {});
Tensor checkpoint(std::function<Tensor(const Tensor&)> fn, const Tensor& input, Generators generators = {});

/// Whether this thread runs the function of a checkpoint() again, during backward: what it counts or averages
/// has then been updated already.
bool recomputing();

}  // namespace gradus
