// The operations that files of cases may name, in one table: PyTorch's names, and the signature of each.
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

/// A file does not follow the format. This says nothing about the operation.
class Malformed : public Error {
 public:
  using Error::Error;
};

/// An argument is missing or of the wrong kind, where PyTorch has a TypeError. A case that must fail may fail
/// with it.
class BadCall : public Malformed {
 public:
  using Malformed::Malformed;
};

/// No tensor of a case may have more elements, so that a small file cannot take all memory.
inline constexpr int64_t kMaxElements = int64_t{1} << 27;
/// Throws Error for a tensor with more than kMaxElements elements.
void check_elements(double count);
void check_elements(const Shape& shape);

using Tensors = std::vector<Tensor>;
/// A subscript of a tensor: a TensorIndex, or the name of an input.
using Subscript = std::variant<TensorIndex, std::string>;
using Argument =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<Subscript>, DType>;
/// By name; an argument that is null in the file is absent.
using Arguments = std::map<std::string, Argument, std::less<>>;
/// By the names of the signature. The inputs of a Tensor[] are NAME.0, NAME.1, ...
using Inputs = std::vector<std::pair<std::string, Tensor>>;

/// `type` is one of
///   Tensor    Tensor[] (one or more)   Scalar (a number, or a tensor among the inputs)
///   int       seed (int, also of 64 bits without sign)   float   bool   str   int[]
///   shape     int[] of sizes of at least 0    view   shape in which -1 may stand for the rest
///   dims      int or int[]; absent for all    size   int or int[]
///   index     list of subscripts              dtype  f32, f64, i64 or bool
struct Parameter {
  std::string type, name;
  bool required;
  std::optional<Argument> otherwise;  ///< the default

  bool is_list() const { return type == "Tensor[]"; }
  bool takes_tensor() const { return type == "Tensor" || type == "Scalar" || is_list(); }
  bool takes_argument() const { return type != "Tensor" && !is_list(); }
};

class Call;

struct Operation {
  /// `text` is the signature, as in "gelu(Tensor x, str approximate=none)". A type that ends in ? is
  /// optional.
  Operation(std::string_view text, std::function<Tensors(const Call&)> function, bool is_random = false);

  const Parameter* find(std::string_view parameter) const;

  std::string signature, name;
  std::vector<Parameter> parameters;
  std::function<Tensors(const Call&)> run;
  bool draws;  ///< uses the case's stream of random numbers
};

/// All of them. Those that draw come from random_operations().
const std::vector<Operation>& operations();
std::vector<Operation> random_operations();
/// Null if there is no operation with this name.
const Operation* find_operation(std::string_view name);

/// Runs an operation; it draws from `stream`. Throws Malformed for inputs and arguments that the
/// signature does not have, BadCall for missing ones, and other Errors for values that the operation refuses.
Tensors run_operation(const Operation& op, const Inputs& inputs, const Arguments& arguments,
                      std::optional<Generator>& stream);

/// The inputs and arguments of an operation, which are those of its signature.
class Call {
 public:
  Call(const Operation& op, const Inputs& inputs, const Arguments& arguments,
       std::optional<Generator>& random)
      : stream(random), op_(op), inputs_(inputs), arguments_(arguments) {}

  Tensor tensor(std::string_view name) const;  ///< undefined if it is optional and absent
  Tensor x() const { return tensor("x"); }
  Tensors tensors() const;                     ///< of the Tensor[]
  Tensor scalar(std::string_view name) const;  ///< a number becomes a 0-d tensor with x's dtype
  std::vector<TensorIndex> subscripts() const;

  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool is_list(std::string_view name) const {
    return std::holds_alternative<std::vector<int64_t>>(*find(name));
  }
  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(*find(name));
  }
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  const std::vector<int64_t>& integers(std::string_view name) const {
    return get<std::vector<int64_t>>(name);
  }
  Shape shape() const { return Shape(integers("shape")); }
  std::vector<int64_t> dims() const { return has("dim") ? integers("dim") : std::vector<int64_t>{}; }
  /// An integer of at least `least`, the number of elements of a tensor.
  int64_t count(std::string_view name, int64_t least = 0) const;
  /// Throws Error if the case has no seed.
  Generator& generator() const;

  std::optional<Generator>& stream;

 private:
  const Argument* find(std::string_view name) const;  // the default if it is absent; null if there is none

  const Operation& op_;
  const Inputs& inputs_;
  const Arguments& arguments_;
};

}  // namespace gradus::cases
