// Makes operations of files of cases from C++ functions: the types of a function's parameters determine how
// each value of the signature is passed.
#pragma once

#include <tuple>

#include "gradus/annexes/cases/signature.hpp"
#include "gradus/annexes/layers/ops/windows.hpp"

namespace gradus::cases {

/// Throws Error if a result of that many elements, or of that shape, would be too large.
inline void check_elements(double count) {
  if (count > static_cast<double>(kMaxElements))
    fail("cases", "a result must have at most ", kMaxElements, " elements, got ", count, ".");
}

inline void check_elements(const Shape& shape) {
  double count = 1;
  for (const int64_t size : shape) count *= static_cast<double>(size);
  check_elements(count);
}

inline Reduction reduction_of(const std::string& name) {
  if (name == "none") return Reduction::none;
  if (name == "sum") return Reduction::sum;
  if (name == "batchmean") return Reduction::batchmean;
  if (name != "mean") fail("cases", "reduction must be none, mean, sum or batchmean, got '", name, "'.");
  return Reduction::mean;
}

inline Gelu gelu_of(const std::string& name) {
  if (name != "none" && name != "tanh") fail("gelu", "approximate must be none or tanh, got '", name, "'.");
  return name == "tanh" ? Gelu::tanh : Gelu::none;
}

inline Generator& seeded(std::optional<Generator>& stream) {
  if (!stream)
    fail("cases",
         "draws random numbers, which needs a seed before, got none. Hint: give the case a manual_seed.");
  return *stream;
}

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class T>
constexpr bool is_random = std::is_same_v<T, Generator> || std::is_same_v<T, std::optional<Generator>>;

/// A size for each dimension, or the name of a padding.
template <class T>
T per_dim_of(const Argument& argument) {
  if constexpr (std::is_same_v<T, autograd::Padding>)
    if (const auto* name = std::get_if<std::string>(&argument)) return *name;
  if (const auto* each = std::get_if<std::vector<int64_t>>(&argument)) return T(*each);
  return std::get<int64_t>(argument);
}

/// The value of a parameter, with the type that a function takes.
template <class T>
T value_of(const Call& c, const Parameter& p) {
  const Argument* const argument = c.argument(p.name);
  if constexpr (std::is_same_v<T, Tensor>)
    return p.type == "Scalar" ? c.scalar(p.name) : c.tensor(p.name);
  else if constexpr (std::is_same_v<T, Tensors>)
    return c.tensors(p);
  else if constexpr (std::is_same_v<T, std::vector<TensorIndex>>)
    return c.subscripts(p.name);
  else if constexpr (std::is_base_of_v<autograd::PerDim, T>)
    return argument ? per_dim_of<T>(*argument) : T();
  else if constexpr (is_optional<T>)
    return argument ? T(std::get<typename T::value_type>(*argument)) : T();
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return argument ? std::get<T>(*argument) : T();
  else if constexpr (std::is_same_v<T, Shape>)
    return Shape(std::get<std::vector<int64_t>>(*argument));
  else if constexpr (std::is_same_v<T, Reduction>)
    return reduction_of(std::get<std::string>(*argument));
  else if constexpr (std::is_same_v<T, Gelu>)
    return gelu_of(std::get<std::string>(*argument));
  else if constexpr (std::is_same_v<T, Argument>)
    return *argument;
  else
    return std::get<T>(*argument);
}

inline Tensors results(const Tensor& result) { return {result}; }
inline Tensors results(const Tensors& all) { return all; }
inline Tensors results(const ValuesAndIndices& s) { return {s.values, s.indices}; }

/// An operation that calls f with the values of its parameters, in the order of the signature; the stream of
/// random numbers may be anywhere among them.
template <class... P, class F>
Operation calling(std::string_view signature, F f) {
  const auto run = [f](const Call& c) {
    auto parameter = c.op.parameters.begin();
    const auto take = [&]<class T>() -> decltype(auto) {
      if constexpr (std::is_same_v<T, Generator>)
        return seeded(c.stream);
      else if constexpr (is_random<T>)
        return (c.stream);
      else
        return value_of<T>(c, *parameter++);
    };
    std::tuple<std::conditional_t<is_random<P>, P&, P>...> values{take.template operator()<P>()...};
    return results(std::apply(f, values));
  };
  return {signature, run, (is_random<P> || ...)};
}

template <class R, class... P>
Operation operation(std::string_view signature, R (*f)(P...)) {
  return calling<std::remove_cvref_t<P>...>(signature, f);
}

template <class R, class... P>
Operation operation(std::string_view signature, R (Tensor::*f)(P...) const) {
  return calling<Tensor, std::remove_cvref_t<P>...>(signature, f);
}

}  // namespace gradus::cases
