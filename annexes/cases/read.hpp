// Reads files of cases. README.md of this folder has the format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/annexes/cases/signature.hpp"

namespace gradus::cases {

/// The results of a call: those in its file, and those that gradus computes. Gradients are in the order of
/// the inputs, undefined for inputs without; empty if there was nothing to differentiate.
struct Answers {
  Tensors outputs;
  Tensors grads;           ///< of sum(cotangent * output), with the graph released
  Tensors recorded_grads;  ///< the same, recorded so that they can be differentiated again
  Tensors grad2;           ///< of sum(v * gradient)
  Tensors grad2_cotangents;
};

/// The tensors that a call works on. `v` is in the order of the inputs, undefined for those without; empty
/// without second order.
struct Given {
  Tensors inputs, cotangents, v;
};

/// A case that is one call of an operation, with PyTorch's answers.
struct CallCase {
  std::string id;
  int64_t line = 0;  ///< in a file with one case per line; else the place in the list, from 1
  const Operation* operation = nullptr;
  std::vector<std::string> names;   ///< of the inputs
  std::vector<bool> requires_grad;  ///< of the inputs
  Given given;
  Arguments arguments;
  Answers answers;
  bool has_grad2 = false;
  std::optional<std::string> error;  ///< PyTorch's message if the call must fail
  bool is_bad = false;               ///< must fail because an argument is of the wrong kind

  /// The input of this name; undefined if there is none.
  Tensor input(std::string_view name) const;
};

struct Step {
  const Operation* operation = nullptr;
  std::vector<std::pair<std::string, std::string>> inputs;  ///< parameter, name of the tensor
  std::vector<std::string> outputs;
  Arguments arguments;
  // The results that the file gives, in the order of the outputs; empty if it gives none.
  Tensors expected, value;
  double atol = 0, rtol = 0;        ///< of `expected`
  std::optional<std::string> text;  ///< the only output as printed, with line breaks
};

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// A case that is a program: steps over named tensors.
struct ProgramCase {
  std::string name;
  std::optional<int64_t> manual_seed;
  NamedTensors inputs, weights;
  std::vector<Step> steps;
};

/// All cases of a file: a list, or one per line. Throw Error with `file` and the place in it.
std::vector<CallCase> read_calls(std::string_view text, const std::string& file);
std::vector<ProgramCase> read_programs(std::string_view text, const std::string& file);

/// The name of a step in errors: "case 'x', steps[3] (matmul)".
std::string place_of(std::string_view case_name, size_t step, std::string_view op);

}  // namespace gradus::cases
