// The results of a case: those in its file, and those that gradus computes. Private to conform.
#pragma once

#include <vector>

#include "gradus/tools/conform/case.hpp"

namespace gradus::tools::conformance {

using Tensors = std::vector<Tensor>;

/// What a case works on, in its order. `v` is by input, undefined for those without; empty without grad2.
struct Given {
  Tensors inputs, cotangents, v;
};

/// Gradients are by input, undefined for those without; empty if there was nothing to differentiate.
struct Answers {
  Tensors outputs;
  Tensors grads;           ///< of sum(cotangent * output), with the graph forgotten
  Tensors recorded_grads;  ///< the same, made to be differentiated again
  Tensors grad2;           ///< of sum(v * gradient)
  Tensors grad2_cotangents;
};

/// Throws Error for what no tensor can be, as does written_answers().
Given given_by(const Case& c);
Answers written_answers(const Case& c);
/// Runs the op forward, backward, and backward again, as far as the case's file goes. Same errors as
/// run_operation().
Answers our_answers(const Case& c, const Given& given);

/// What the case's op makes of its inputs, which come in the case's order. Throws as run_operation().
std::vector<Tensor> run_operation(const Case& c, const std::vector<Tensor>& inputs);

}  // namespace gradus::tools::conformance
