// What a line of a conformance file says. Private to conform.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gradus/autograd/tensor.hpp"
#include "gradus/tools/operations.hpp"

namespace gradus::tools::conformance {

/// A tensor as it is written, which may be more than a Tensor can be.
struct Written {
  std::string name;
  DType dtype = DType::float64;
  std::vector<int64_t> shape;
  std::variant<std::vector<double>, std::vector<int64_t>, std::vector<bool>> data;
  bool requires_grad = false;

  /// Throws Error for too many dimensions.
  Tensor make() const;
};

struct SecondOrder {
  std::map<std::string, Written> v;      ///< by input: what the gradients are multiplied by
  std::map<std::string, Written> grads;  ///< by input
  std::vector<std::optional<Written>> cotangents;
};

struct Case {
  std::string id, op;
  int64_t line = 0;
  std::vector<Written> inputs;
  ArgumentsByName arguments;
  std::vector<Written> outputs, cotangents;
  std::map<std::string, Written> grads;  ///< by input
  std::optional<SecondOrder> grad2;
  std::optional<std::string> error;  ///< what PyTorch says of it
};

/// All cases of a file's text. Throws Malformed with `file` and line.
std::vector<Case> parse(std::string_view text, const std::string& file);

}  // namespace gradus::tools::conformance
