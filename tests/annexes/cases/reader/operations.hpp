// Operations by the names of files of cases, for the tests that compare gradus with PyTorch's answers without
// Python: types of parameters say how values of JSON are passed. annexes/cases/README.md has the signatures.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "autograd/compare.hpp"
#include "gradus/annexes/layers/ops/windows.hpp"

namespace gradus::cases {

using nlohmann::json;
using Tensors = std::vector<Tensor>;

/// Inputs by name, in the order of the file; other arguments.
struct Call {
  std::vector<std::pair<std::string, Tensor>> inputs;
  json args;

  Tensor tensor(std::string_view name) const {
    for (const auto& [input, value] : inputs)
      if (input == name) return value;
    return {};
  }
};

/// A parameter: "dim" or "dim=-1".
struct Name {
  explicit Name(const std::string& text)
      : name(text.substr(0, text.find('='))),
        otherwise(name.size() < text.size() ? json::parse(text.substr(name.size() + 1)) : json()) {}
  std::string name;
  json otherwise;
};

using Operation = std::function<Tensors(const Call&)>;
/// By name.
const std::map<std::string, Operation>& operations();

/// A tensor of a file.
Tensor tensor_in(const json& j);
/// A number, "inf", "-inf" or "nan".
double number_in(const json& j);
std::vector<TensorIndex> subscripts_in(const json& list, const Call& c);

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

/// A value of JSON as the type T; T() for null.
template <class T>
T converted(const json& j) {
  if (j.is_null()) return T();
  if constexpr (is_optional<T>)
    return converted<typename T::value_type>(j);
  else if constexpr (std::is_same_v<T, double>)
    return number_in(j);
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return j.is_array() ? j.get<T>() : T{j.get<int64_t>()};
  else if constexpr (std::is_same_v<T, Shape>)
    return Shape(converted<std::vector<int64_t>>(j));
  else if constexpr (std::is_base_of_v<autograd::PerDim, T>)
    return [&] {
      if constexpr (std::is_same_v<T, autograd::Padding>)
        if (j.is_string()) return T(j.get<std::string>());
      return T(converted<std::vector<int64_t>>(j));
    }();
  else if constexpr (std::is_same_v<T, Reduction>)
    return std::map<std::string, T>{
        {"none", T::none}, {"sum", T::sum}, {"batchmean", T::batchmean}, {"mean", T::mean}}
        .at(j);
  else if constexpr (std::is_same_v<T, Gelu>)
    return std::map<std::string, T>{{"none", T::none}, {"tanh", T::tanh}}.at(j);
  else
    return j.get<T>();
}

/// The value of a parameter.
template <class T>
T value_of(const Call& c, const Name& p) {
  const auto given = c.args.find(p.name);
  const json& j = given == c.args.end() || given->is_null() ? p.otherwise : *given;
  if constexpr (std::is_same_v<T, Tensor>) {
    const Tensor input = c.tensor(p.name);
    return input.defined() || j.is_null() ? input : full({}, number_in(j), c.tensor("x").dtype());
  } else if constexpr (std::is_same_v<T, Tensors>) {
    Tensors all;
    for (const auto& [name, tensor] : c.inputs) all.push_back(tensor);
    return all;
  } else if constexpr (std::is_same_v<T, std::vector<TensorIndex>>) {
    return subscripts_in(j, c);
  } else if constexpr (std::is_same_v<T, Reduction>) {
    return j.is_null() ? Reduction::mean : converted<T>(j);
  } else if constexpr (std::is_same_v<T, json>) {
    return j;
  } else {
    return converted<T>(j);
  }
}

inline Tensors results(const Tensor& result) { return {result}; }
inline Tensors results(const Tensors& all) { return all; }
inline Tensors results(const ValuesAndIndices& s) { return {s.values, s.indices}; }

/// "softmax x dim=-1": calls f with the values of these parameters.
template <class... P, class F>
std::pair<const std::string, Operation> calling(const std::string& signature, F f) {
  std::istringstream words(signature);
  std::string name;
  words >> name;
  const std::vector<std::string> given(std::istream_iterator<std::string>(words), {});
  const std::vector<Name> parameters(given.begin(), given.end());
  return {name, [f, parameters](const Call& c) {
            auto parameter = parameters.begin();
            std::tuple<P...> values{value_of<P>(c, *parameter++)...};
            return results(std::apply(f, values));
          }};
}

template <class R, class... P>
auto operation(const std::string& signature, R (*f)(P...)) {
  return calling<std::remove_cvref_t<P>...>(signature, f);
}
template <class R, class... P>
auto operation(const std::string& signature, R (Tensor::*f)(P...) const) {
  return calling<Tensor, std::remove_cvref_t<P>...>(signature, f);
}

}  // namespace gradus::cases
