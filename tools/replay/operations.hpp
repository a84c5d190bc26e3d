// The operations of replay files: which inputs and arguments each takes, and what it does. Private to replay.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gradus/autograd/random.hpp"
#include "gradus/autograd/tensor.hpp"
#include "gradus/tools/operations.hpp"

namespace gradus::tools::detail {

/// No tensor of a replay may have more elements: a file of a few bytes should not take all memory.
inline constexpr int64_t kMaxElements = int64_t{1} << 27;

/// What an argument must be in the file.
enum class Kind {
  integer,
  seed,    ///< an integer, or one of 64 bits without sign
  number,  ///< or "-inf", "inf", "nan"
  flag,
  shape,   ///< sizes of at least 0
  view,    ///< a shape in which -1 may stand for what is left
  dims,    ///< an integer, a list of integers, or null for all
  dtype,   ///< "f32", "f64", "i64" or "bool"
  stream,  ///< of dropout: "default" or "mkl"
};

struct Parameter {
  std::string_view name;
  Kind kind;
  bool required = true;
};

using Argument = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, DType>;

/// The arguments of a step, which are those its operation has parameters for, each of its kind.
class Arguments {
 public:
  void set(std::string_view name, Argument value) { values_.emplace(name, std::move(value)); }

  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(values_.find(name)->second);
  }
  template <class T>
  T get(std::string_view name, T otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::get<T>(found->second);
  }

  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  /// With the names and values of run_operation().
  ArgumentsByName by_name() const;
  Shape shape() const { return Shape(get<std::vector<int64_t>>("shape")); }
  DType dtype() const { return get("dtype", DType::float32); }

 private:
  std::map<std::string, Argument, std::less<>> values_;
};

/// What a step works with.
struct Call {
  const std::vector<Tensor>& in;
  const Arguments& arguments;
  std::optional<Generator>& stream;

  const Tensor& x() const { return in[0]; }
  /// What the op of that name makes of the inputs, which it calls so, and of all arguments.
  std::vector<Tensor> run(std::string_view op, std::initializer_list<std::string_view> inputs) const;
  /// Throws Error if nothing was seeded.
  Generator& generator() const;
};

inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

struct Operation {
  std::string_view name;
  size_t min_inputs, max_inputs;
  std::vector<Parameter> parameters;
  bool draws;  ///< what it gives comes from the generator
  std::vector<Tensor> (*run)(const Call& call);
};

/// All of them, in the order of the format's table.
const std::vector<Operation>& operations();
/// Null if there is none of that name.
const Operation* find_operation(std::string_view name);

}  // namespace gradus::tools::detail
