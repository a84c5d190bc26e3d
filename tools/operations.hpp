// Operations by name: PyTorch's calls said in our words. The one list of them, for all that reads calls from
// files: conform, which has an answer for each, and replay, which makes a program of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/indexing.hpp"
#include "gradus/autograd/tensor.hpp"

namespace gradus::tools {

/// What a file says is not as its format has it, which is no verdict on an op.
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

/// One of a list of subscripts: a TensorIndex, or the name of the input that is.
using Subscript = std::variant<TensorIndex, std::string>;

/// monostate is null.
using Argument = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>,
                              std::vector<Subscript>>;
using ArgumentsByName = std::map<std::string, Argument, std::less<>>;
/// By the names that PyTorch's signature has for them.
using Inputs = std::vector<std::pair<std::string, Tensor>>;

/// Whether there is an op of that name.
bool is_operation(std::string_view name);
/// What an op that there is makes of its inputs. Throws Malformed for inputs and arguments that it does not
/// have, BadCall for those that are missing or of the wrong kind, and other Errors for what it refuses.
std::vector<Tensor> run_operation(std::string_view op, const Inputs& inputs,
                                  const ArgumentsByName& arguments);

}  // namespace gradus::tools
