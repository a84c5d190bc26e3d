// Conversions between Python's values and the library's, for pybind11 and for the table of operations.
#pragma once

#include <pybind11/stl.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/python/object.hpp"

namespace gradus::python {

/// A tensor or a number.
struct Operand {
  Tensor tensor;      ///< undefined if it is a number
  double number = 0;  ///< otherwise
};
/// Some ints: one, or a list or tuple; none for None.
struct Ints {
  std::vector<int64_t> values;  ///< in order
  bool is_one = false;          ///< whether it was one int, not a list
};
/// A stream and the lock of those that draw from it.
struct RandomStream {
  explicit RandomStream(Generator g) : generator(std::move(g)) {}
  Generator generator;
  std::mutex mutex;
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

template <>
struct type_caster<gradus::Tensor> {
  PYBIND11_TYPE_CASTER(gradus::Tensor, const_name("Tensor"));
  bool load(handle h, bool) {
    if (h.is_none()) return true;
    if (!gradus::python::is_tensor(h.ptr())) return false;
    value = gradus::python::tensor_of(h.ptr());
    return true;
  }
  static handle cast(const gradus::Tensor& x, return_value_policy, handle) { return gradus::python::wrap(x); }
};

template <>
struct type_caster<gradus::DType> {
  PYBIND11_TYPE_CASTER(gradus::DType, const_name("dtype"));
  bool load(handle h, bool) { return gradus::python::dtype_from(h.ptr(), value); }
  static handle cast(gradus::DType x, return_value_policy, handle) {
    return handle(gradus::python::dtype_object(x)).inc_ref();
  }
};

template <>
struct type_caster<gradus::python::Operand> {
  PYBIND11_TYPE_CASTER(gradus::python::Operand, const_name("Tensor or a number"));
  bool load(handle h, bool) {
    if (!gradus::python::is_tensor(h.ptr())) return gradus::python::number_from(h.ptr(), value.number);
    value.tensor = gradus::python::tensor_of(h.ptr());
    return true;
  }
};

template <>
struct type_caster<gradus::python::Ints> {
  PYBIND11_TYPE_CASTER(gradus::python::Ints, const_name("int or a tuple of ints"));
  bool load(handle h, bool convert) {
    if (h.is_none()) return true;
    make_caster<int64_t> one;
    if ((value.is_one = one.load(h, convert))) {
      value.values = {cast_op<int64_t>(one)};
      return true;
    }
    make_caster<std::vector<int64_t>> many;
    if (!many.load(h, convert)) return false;
    value.values = cast_op<std::vector<int64_t>&&>(std::move(many));
    return true;
  }
};

template <>
struct type_caster<gradus::Shape> {
  PYBIND11_TYPE_CASTER(gradus::Shape, const_name("int or a tuple of ints"));
  bool load(handle h, bool convert) {
    make_caster<gradus::python::Ints> ints;
    if (h.is_none() || !ints.load(h, convert)) return false;
    value = gradus::Shape(cast_op<gradus::python::Ints&>(ints).values);
    return true;
  }
  static handle cast(const gradus::Shape& x, return_value_policy, handle) {
    return gradus::python::size_object(x);
  }
};

template <>
struct type_caster<gradus::python::Random> {
  PYBIND11_TYPE_CASTER(gradus::python::Random, const_name("Generator"));
  bool load(handle h, bool convert) {
    if (h.is_none()) {
      value.stream = gradus::python::default_stream();
      return true;
    }
    make_caster<std::shared_ptr<gradus::python::RandomStream>> given;
    if (!given.load(h, convert)) return false;
    value.stream = cast_op<std::shared_ptr<gradus::python::RandomStream>>(given);
    return true;
  }
};

template <>
struct type_caster<gradus::ValuesAndIndices> {
  PYBIND11_TYPE_CASTER(gradus::ValuesAndIndices, const_name("(values, indices)"));
  static handle cast(const gradus::ValuesAndIndices& x, return_value_policy, handle) {
    return handle(gradus::python::registered().pair)(x.values, x.indices).release();
  }
};

// An enum by the names of its values.
#define GRADUS_NAMED(Enum, text, ...)                                                                   \
  template <>                                                                                           \
  struct type_caster<Enum> {                                                                            \
    PYBIND11_TYPE_CASTER(Enum, const_name(text));                                                       \
    bool load(handle h, bool) {                                                                         \
      int i = 0;                                                                                        \
      for (const char* known : {__VA_ARGS__}) {                                                         \
        value = static_cast<Enum>(i++);                                                                 \
        if (PyUnicode_Check(h.ptr()) && !PyUnicode_CompareWithASCIIString(h.ptr(), known)) return true; \
      }                                                                                                 \
      return false;                                                                                     \
    }                                                                                                   \
  }
GRADUS_NAMED(gradus::Reduction, "'none', 'mean', 'sum' or 'batchmean'", "none", "mean", "sum", "batchmean");
GRADUS_NAMED(gradus::Gelu, "'none' or 'tanh'", "none", "tanh");
#undef GRADUS_NAMED

}  // namespace pybind11::detail
