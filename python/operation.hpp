// The table of what the module has: each row makes a callable for Python of a C++ function and one line of
// text, its names and its arguments with their defaults:
//
//   table("softmax(input, dim)", of<softmax>);
//
// The types of the arguments come from the function; errors, docstrings and stubs from both. An argument with
// a star takes the rest of the ints: reshape(input, *shape) is x.reshape(2, -1) and x.reshape((2, -1)). A
// mark before the names says where the callable goes:
//
//   (none)  a function of the module and a method of Tensor
//   *       the same, and in place as name_(); of an operator __add__, as __iadd__
//   :       a function only              .  a method only
//   +       a function only, which nn.functional has too
//   ~       as *, and whole numbers are taken as float32; of operations.def only
//   @       an attribute of Tensor       =  what sets an attribute
//
// The word after the arguments is the name that PyTorch prints as grad_fn, if it differs from the graph's
// name: "Mean0" is MeanBackward0. "dim:Mean0|Mean1" has two names, and the word before the colon chooses:
// "dim" chooses the second if a dim is given (the third if it is a tensor), "int" if it is one, "tensor" if
// the last argument is one, "loss" if labels are smoothed, and "copy" if the operation copied the data.
// "product" chooses by the dimensions: the second for two vectors, the third for a matrix and a vector, the
// fourth for a vector and a matrix.
//
// A name with underscores at both ends is a method of Tensor; for arguments of another type it gives way to
// the other operand's method, as Python's operators do. A call costs no dictionary and no tuple.
//
// Kernels release the GIL: an operation on tensors of kLargeNumel elements or more does, and one that draws
// random numbers always, because it waits for the lock of its stream. Below that size a switch costs as much
// as the work.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gradus/python/casters.hpp"

namespace gradus::python {

/// The types of arguments, as rows name them.
namespace arguments {
using T = const Tensor&;
using O = const Operand&;
using I = const Ints&;
using S = const Shape&;
using G = const Random&;
using N = int64_t;
using D = double;
using B = bool;
using V = const Device&;
using Words = const std::string&;
using OptionalDtype = const std::optional<DType>&;
using OptionalN = const std::optional<int64_t>&;
using OptionalD = const std::optional<double>&;
/// The result of max(), min() and max_pool2d(): values, or values and indices.
using OneOrBoth = std::variant<Tensor, ValuesAndIndices>;
/// The dtype, or that of `like`.
inline DType or_of(OptionalDtype dtype, T like) { return dtype.value_or(like.dtype()); }
/// A new tensor, a leaf that is trained if asked for.
inline Tensor leaf(Tensor x, bool requires_grad) { return requires_grad ? x.requires_grad_() : x; }
}  // namespace arguments

inline constexpr int64_t kLargeNumel = 4096;  ///< elements from which an operation releases the GIL
inline constexpr size_t kMaxArguments = 20;   ///< of an operation

struct Operation;
/// A C++ function of Python's objects.
struct Invocation {
  /// Throws, or returns a new reference.
  PyObject* (*invoke)(const Operation& operation, PyObject* const* values);
  const char* const* types;  ///< of its arguments, then of its result
  size_t arguments;          ///< how many
};
/// Throws TypeError: the argument number i is of another type.
[[noreturn]] void refuse_argument(const Operation& operation, size_t i, PyObject* value);

/// Whether the work on an argument is long enough to release the GIL.
template <class T>
bool is_large(const T&) {
  return false;
}
inline bool is_large(const Tensor& x) { return x.defined() && x.numel() >= kLargeNumel; }
inline bool is_large(const Operand& x) { return is_large(x.tensor); }
inline bool is_large(const Shape& shape) { return shape.numel() >= kLargeNumel; }
inline bool is_large(const Random&) { return true; }
inline bool is_large(const std::vector<Tensor>& all) {
  return std::any_of(all.begin(), all.end(), [](const Tensor& x) { return is_large(x); });
}

/// Releases the GIL for its lifetime, then locks the stream of a Random.
class Unlocked {
 public:
  explicit Unlocked(bool release) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    lock_ = {};
    if (state_) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  template <class T>
  void lock(const T&) {}  ///< nothing to lock
  void lock(const Random& random) { lock_ = std::unique_lock(random.stream->mutex); }

 private:
  PyThreadState* state_;
  std::unique_lock<std::recursive_mutex> lock_;
};

template <class R, class... Args, size_t... i, class F>
PyObject* call_with(const Operation& operation, PyObject* const* values, std::index_sequence<i...>,
                    const F& f) {
  std::tuple<py::detail::make_caster<Args>...> casters;
  (void)((std::get<i>(casters).load(values[i], true) || (refuse_argument(operation, i, values[i]), true)) &&
         ...);
  const auto call = [&](std::decay_t<Args>&... args) {
    constexpr bool kUsesPython =
        std::is_base_of_v<py::handle, R> || (std::is_base_of_v<py::handle, std::decay_t<Args>> || ...);
    Unlocked unlocked(!kUsesPython && (is_large(args) || ...));
    if constexpr (!kUsesPython) (unlocked.lock(args), ...);
    return f(args...);
  };
  const auto invoke = [&] { return call(py::detail::cast_op<std::decay_t<Args>&>(std::get<i>(casters))...); };
  if constexpr (std::is_void_v<R>) {
    invoke();
    return Py_NewRef(Py_None);
  } else if constexpr (std::is_same_v<R, Tensor>) {
    return wrap(invoke());
  } else if constexpr (std::is_same_v<R, std::vector<Tensor>>) {
    return py::tuple(py::cast(invoke())).release().ptr();
  } else {
    return py::detail::make_caster<R>::cast(invoke(), py::return_value_policy::move, py::handle()).ptr();
  }
}

template <class T>
inline constexpr const char* kType = py::detail::make_caster<T>::name.text;
template <>
inline constexpr const char* kType<void> = "None";
template <>
inline constexpr const char* kType<std::vector<Tensor>> = "Sequence[Tensor]";

template <class F, class Member = decltype(&F::operator())>
struct Invoked;
template <class F, class R, class... Args>
struct Invoked<F, R (F::*)(Args...) const> {
  static constexpr const char* kTypes[] = {kType<Args>..., kType<R>};
  static PyObject* invoke(const Operation& operation, PyObject* const* values) {
    return call_with<R, Args...>(operation, values, std::index_sequence_for<Args...>(), F{});
  }
  static constexpr Invocation kInvocation{invoke, kTypes, sizeof...(Args)};
};

/// The type that Python passes for an argument of type T. It converts to T.
template <class T>
struct PassedFor {
  using Type = T;
};
template <>
struct PassedFor<const autograd::Dims&> {
  using Type = const Ints&;
};
template <>
struct PassedFor<Generator&> {
  using Type = const Random&;
};
template <class T>
using Passed = typename PassedFor<T>::Type;

/// A function as a value whose type tells which it is.
template <auto f>
struct Of;
template <class R, class... Args, R (*f)(Args...)>
struct Of<f> {
  R operator()(Passed<Args>... args) const { return f(args...); }
};
template <class R, class... Args, R (Tensor::*f)(Args...) const>
struct Of<f> {
  R operator()(const Tensor& x, Passed<Args>... args) const { return (x.*f)(args...); }
};
template <auto f>
inline constexpr Of<f> of{};

/// The table; see the top of the file.
class Table {
 public:
  explicit Table(const py::module_& m) : module(m) {}

  /// Adds a row. `f` is a lambda without captures, or of<function>. The text must live as long as the
  /// program.
  template <class F>
  void operator()(const char* row, F) {
    add(row, Invoked<F>::kInvocation);
  }
  /// The table of a part of the module.
  Table part(const char* name) { return Table(module.def_submodule(name)); }

  py::module_ module;  ///< where functions go

 private:
  void add(std::string_view row, const Invocation& f);
};

}  // namespace gradus::python
