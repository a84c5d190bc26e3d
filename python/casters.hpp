// Conversions between Python's values and the library's. The name of each is its type in Python: errors and
// stubs have it.
#pragma once

#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/python/object.hpp"
#ifdef GRADUS_HAS_LAYERS  // an annex
#include "gradus/annexes/layers/ops/windows.hpp"
#endif

namespace gradus::python {

/// A tensor or a number.
struct Operand {
  Tensor tensor;                 ///< undefined if it is a number
  double number = 0;             ///< otherwise
  DType dtype = DType::float32;  ///< of a number: int64 of an int, boolean of a bool

  bool is_whole() const { return dtype != DType::float32; }  ///< whether it is an int or a bool
};
/// The argument `device`: the CPU is the only one.
struct Device {};
/// Some ints: one, or a list or tuple; none for None.
struct Ints {
  std::vector<int64_t> values;  ///< in order
  bool is_one = false;          ///< whether it was one int, not a list

  operator const std::vector<int64_t>&() const { return values; }  // NOLINT: as the library takes it
#ifdef GRADUS_HAS_LAYERS
  operator autograd::PerDim() const { return autograd::PerDim(values); }  // NOLINT: the same
#endif
};
/// A stream and the lock of those that draw from it.
struct RandomStream {
  explicit RandomStream(Generator g) : generator(std::move(g)) {}
  Generator generator;
  std::recursive_mutex mutex;  ///< recursive: what is called back may draw as well
};
/// The stream that is used where none is given; manual_seed() starts it anew.
std::shared_ptr<RandomStream>& default_stream();
/// The argument `generator`: a gradus.Generator, or the default for None.
struct Random {
  std::shared_ptr<RandomStream> stream;
  operator Generator&() const { return stream->generator; }  // NOLINT: as the library takes it
  Generator* get() const { return &stream->generator; }
};

}  // namespace gradus::python

namespace pybind11::detail {

namespace door = gradus::python;

template <>
struct type_caster<gradus::Tensor> {
  PYBIND11_TYPE_CASTER(gradus::Tensor, const_name("Tensor"));
  bool load(handle h, bool) {
    const bool is_given = !h.is_none();
    if (is_given && !door::is_tensor(h.ptr())) return false;
    if (is_given) value = door::tensor_of(h.ptr());
    return true;
  }
  static handle cast(const gradus::Tensor& x, return_value_policy, handle) { return door::wrap(x); }
};

template <>
struct type_caster<gradus::DType> {
  PYBIND11_TYPE_CASTER(gradus::DType, const_name("dtype"));
  bool load(handle h, bool) { return door::dtype_from(h.ptr(), value); }
  static handle cast(gradus::DType x, return_value_policy, handle) {
    return handle(door::registered().dtypes[static_cast<size_t>(x)]).inc_ref();
  }
};

template <>
struct type_caster<door::Operand> {
  PYBIND11_TYPE_CASTER(door::Operand, const_name("Tensor | float"));
  bool load(handle h, bool) {
    PyObject* const o = h.ptr();
    const bool is_whole = door::is_whole(o);
    if (PyBool_Check(o) || is_whole)
      value.dtype = PyBool_Check(o) ? gradus::DType::boolean : gradus::DType::int64;
    if (door::is_tensor(o))
      value.tensor = door::tensor_of(o);
    else if (!door::number_from(o, value.number))
      return false;
    else if (is_whole && std::abs(value.number) >= 0x1p53) {  // a double would round it
      const std::vector<int64_t> one{PyLong_AsLongLong(o)};
      if (PyErr_Occurred()) return PyErr_Clear(), false;  // more than 64 bits
      value.tensor = gradus::tensor(one, gradus::Shape{});
    }
    return true;
  }
};

template <>
struct type_caster<door::Device> {
  PYBIND11_TYPE_CASTER(door::Device, const_name("Literal['cpu']"));
  bool load(handle h, bool) { return h.is_none() || std::string(str(h)).starts_with("cpu"); }
};

template <>
struct type_caster<door::Ints> {
  PYBIND11_TYPE_CASTER(door::Ints, const_name("int | Sequence[int]"));
  bool load(handle h, bool convert) {
    if (h.is_none()) return true;
    if (PyBool_Check(h.ptr())) return false;
    make_caster<int64_t> one;
    make_caster<std::vector<int64_t>> many;
    value.is_one = one.load(h, convert);
    if (value.is_one)
      value.values = {cast_op<int64_t>(one)};
    else if (many.load(h, convert))
      value.values = cast_op<std::vector<int64_t>&&>(std::move(many));
    else
      return false;
    return true;
  }
};

template <>
struct type_caster<gradus::Shape> {
  PYBIND11_TYPE_CASTER(gradus::Shape, const_name("int | Sequence[int]"));
  bool load(handle h, bool convert) {
    make_caster<door::Ints> ints;
    if (h.is_none() || !ints.load(h, convert)) return false;
    value = gradus::Shape(cast_op<door::Ints&>(ints).values);
    return true;
  }
  static handle cast(const gradus::Shape& x, return_value_policy, handle) {
    return object(handle(door::registered().size)(std::vector<int64_t>(x.begin(), x.end()))).release();
  }
};

template <>
struct type_caster<door::Random> {
  PYBIND11_TYPE_CASTER(door::Random, const_name("Generator"));
  bool load(handle h, bool convert) {
    make_caster<std::shared_ptr<door::RandomStream>> given;
    if (!h.is_none() && !given.load(h, convert)) return false;
    value.stream = h.is_none() ? door::default_stream() : cast_op<std::shared_ptr<door::RandomStream>>(given);
    return true;
  }
};

template <>
struct type_caster<gradus::ValuesAndIndices> {
  PYBIND11_TYPE_CASTER(gradus::ValuesAndIndices, const_name("ValuesAndIndices"));
  static handle cast(const gradus::ValuesAndIndices& x, return_value_policy, handle) {
    return object(handle(door::registered().pair)(x.values, x.indices)).release();
  }
};

/// A text as the argument of a template.
template <size_t n>
struct Word {
  char text[n];
  constexpr Word(const char (&from)[n]) { std::copy_n(from, n, text); }  // NOLINT: a literal is meant
};
/// An enum by the names of its values.
template <class Enum, Word... names>
struct named_caster {
  PYBIND11_TYPE_CASTER(Enum, const_name("Literal[") +
                                 concat(const_name("'") + const_name(names.text) + const_name("'")...) +
                                 const_name("]"));
  bool load(handle h, bool) {
    static constexpr std::string_view all[] = {names.text...};
    const auto* const found = std::ranges::find(all, PyUnicode_Check(h.ptr()) ? h.cast<std::string>() : "");
    value = static_cast<Enum>(found - all);
    return found != std::end(all);
  }
};
template <>
struct type_caster<gradus::Reduction> : named_caster<gradus::Reduction, "none", "mean", "sum", "batchmean"> {
};
template <>
struct type_caster<gradus::Gelu> : named_caster<gradus::Gelu, "none", "tanh"> {};
template <>
struct type_caster<gradus::nn::Fan> : named_caster<gradus::nn::Fan, "fan_in", "fan_out"> {};
template <>
struct type_caster<gradus::nn::Nonlinearity>
    : named_caster<gradus::nn::Nonlinearity, "linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu"> {};

}  // namespace pybind11::detail
