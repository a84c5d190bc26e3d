// The contents of a replay file, each field checked. Private to replay.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor.hpp"
#include "gradus/tools/replay/operations.hpp"

namespace gradus::tools::detail {

struct Step {
  const Operation* operation = nullptr;
  std::vector<std::string> inputs, outputs;
  Arguments arguments;
  // What the outputs should be, in their order; empty if the step does not say.
  std::vector<Tensor> expected, value;
  double atol = 0, rtol = 0;        ///< of `expected`
  std::optional<std::string> text;  ///< the only output as printed, with line breaks
};

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

struct Case {
  std::string name;
  std::optional<int64_t> manual_seed;
  NamedTensors inputs, weights;
  std::vector<Step> steps;
};

/// Throws Error with file, case and step for whatever is not as the format has it.
std::vector<Case> parse_program(std::string_view text, const std::string& file);

/// How errors call a step: "case 'x', steps[3] (matmul)".
std::string place_of(std::string_view case_name, size_t step, std::string_view op);

}  // namespace gradus::tools::detail
