// What a line of a conformance file says. Private to models.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/indexing.hpp"
#include "gradus/autograd/tensor.hpp"

namespace gradus::models::conformance {

/// A line that is not as the format has it, which is no verdict on an op.
class Malformed : public Error {
 public:
  using Error::Error;
};

/// A call that the op cannot understand: something is missing or of the wrong kind. PyTorch has a TypeError
/// for it, so in a case that must fail it is as good as any other Error.
class BadCall : public Malformed {
 public:
  using Malformed::Malformed;
};

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Malformed(concat(parts...));
}

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

/// One of a list of subscripts: an Index, or the name of the input that is.
using Subscript = std::variant<Index, std::string>;

/// monostate is null.
using Argument = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>,
                              std::vector<Subscript>>;

struct SecondOrder {
  std::map<std::string, Written> v;      ///< by input: what the gradients are multiplied by
  std::map<std::string, Written> grads;  ///< by input
  std::vector<std::optional<Written>> cotangents;
};

struct Case {
  std::string id, op;
  int64_t line = 0;
  std::vector<Written> inputs;
  std::map<std::string, Argument, std::less<>> arguments;
  std::vector<Written> outputs, cotangents;
  std::map<std::string, Written> grads;  ///< by input
  std::optional<SecondOrder> grad2;
  std::optional<std::string> error;  ///< what PyTorch says of it
};

/// All cases of a file's text. Throws Malformed with `file` and line.
std::vector<Case> parse(std::string_view text, const std::string& file);

/// Whether there is an op of that name.
bool is_operation(std::string_view name);
/// What the case's op makes of its inputs, which come in the case's order. Throws Malformed for inputs and
/// arguments that the op does not have, BadCall for those that are missing or of the wrong kind, and other
/// Errors for what the op refuses.
std::vector<Tensor> run_operation(const Case& c, const std::vector<Tensor>& inputs);

}  // namespace gradus::models::conformance
