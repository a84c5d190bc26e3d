// Operations of files of cases: their signatures, and calls of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cases {

/// A file does not follow the format. The operation may be right.
class Malformed : public Error {
 public:
  using Error::Error;
};

/// An argument is missing or of the wrong kind; PyTorch raises a TypeError. A case that must fail may fail
/// with it.
class BadCall : public Malformed {
 public:
  using Malformed::Malformed;
};

/// No tensor of a case may have more elements, so that a small file cannot take all memory.
inline constexpr int64_t kMaxElements = int64_t{1} << 27;

using Tensors = std::vector<Tensor>;
/// A subscript of a tensor: a TensorIndex, or the name of an input.
using Subscript = std::variant<TensorIndex, std::string>;
using Argument =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<Subscript>, DType>;
/// Arguments by name; one that is null in the file is absent.
using Arguments = std::map<std::string, Argument, std::less<>>;
/// Inputs by the names of the signature. Those of a Tensor[] are NAME.0, NAME.1, ...
using Inputs = std::vector<std::pair<std::string, Tensor>>;

/// `type` is one of
///   Tensor    Tensor[] (one or more)   Scalar (a number, or a tensor among the inputs)
///   int       seed (int, also of 64 bits without sign)   float   bool   str   int[]
///   shape     int[] of sizes of at least 0    view   shape in which one size may be -1
///   dims      int or int[]; absent for all    size   int or int[]
///   padding   size, or same or valid          dtype  f32, f64, i64 or bool
///   index     list of subscripts
struct Parameter {
  std::string type, name;
  bool required;
  std::optional<Argument> otherwise;  ///< the default

  bool is_list() const { return type == "Tensor[]"; }
  bool takes_tensor() const { return type == "Tensor" || type == "Scalar" || is_list(); }
  bool takes_argument() const { return type != "Tensor" && !is_list(); }
  bool takes_input(std::string_view input) const;  ///< whether this parameter takes that input
};

struct Operation;

/// An operation with its inputs and arguments, which are those of its signature.
struct Call {
  const Operation& op;
  const Inputs& inputs;
  const Arguments& arguments;
  std::optional<Generator>& stream;  ///< of the case; operations that draw need one

  Tensor tensor(std::string_view name) const;  ///< undefined if there is none
  Tensors tensors(const Parameter& list) const;
  Tensor scalar(std::string_view name) const;  ///< a number becomes a 0-d tensor with x's dtype
  std::vector<TensorIndex> subscripts(std::string_view name) const;
  const Argument* argument(std::string_view name) const;  ///< else its default; null if there is none
};

struct Operation {
  /// `text` is the signature, as in "gelu(Tensor x, str approximate=none)". A type that ends in ? is
  /// optional.
  Operation(std::string_view text, std::function<Tensors(const Call&)> function, bool random);

  const Parameter* find(std::string_view parameter) const;

  std::string signature, name;
  std::vector<Parameter> parameters;
  std::function<Tensors(const Call&)> run;
  bool draws;  ///< uses the case's stream of random numbers
};

/// Runs an operation; it draws from `stream`. Throws Malformed for inputs that the signature does not have,
/// BadCall for missing inputs and arguments, and other Errors for values that the operation refuses.
Tensors run_operation(const Operation& op, const Inputs& inputs, const Arguments& arguments,
                      std::optional<Generator>& stream);

/// All operations that files of cases may name, with PyTorch's names.
const std::vector<Operation>& operations();
/// Those of them that move windows over images, and the norms of channels.
std::vector<Operation> window_operations();
/// Null if there is no operation with this name.
const Operation* find_operation(std::string_view name);

}  // namespace gradus::cases
