// Operation: a callable for Python made of a C++ function and one line of text, its signature:
//
//   table.both("softmax(input, dim)", &softmax);
//
// The types of the arguments come from the function, their names and defaults from the text. A name with a
// star takes the rest of the ints: reshape(input, *shape) is x.reshape(2, -1) and x.reshape((2, -1)). The
// same object is a function and, in the type gradus.Tensor, a method. A call costs no dictionary and no
// tuple.
//
// Kernels release the GIL: an operation on tensors of kLargeNumel elements or more does, and one that draws
// random numbers always, because it waits for the lock of its stream. Below that size a switch costs as much
// as the work.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gradus/python/casters.hpp"

namespace gradus::python {

inline constexpr int64_t kLargeNumel = 4096;  ///< elements from which an operation releases the GIL
inline constexpr size_t kMaxArguments = 20;   ///< of an operation

struct Operation;
struct Invocation;
/// Calls the C++ function with the objects of its arguments; throws, or returns a new reference.
using Invoke = PyObject* (*)(const Operation& operation, PyObject* const* values);

/// Makes one; `signature` must live as long as the program. `in_place` names what becomes the result of the
/// call: the first argument, which is returned.
PyObject* make_operation(const char* signature, const Invocation& f, bool in_place = false);
/// Throws TypeError: the argument number i is not of that type.
[[noreturn]] void refuse_argument(const Operation& operation, size_t i, const char* type, PyObject* value);

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
  for (const Tensor& x : all)
    if (is_large(x)) return true;
  return false;
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
  std::unique_lock<std::mutex> lock_;
};

template <class R, class... Args, size_t... i, class F>
PyObject* call_with(const Operation& operation, PyObject* const* values, std::index_sequence<i...>,
                    const F& f) {
  std::tuple<py::detail::make_caster<Args>...> casters;
  (void)((std::get<i>(casters).load(values[i], true) ||
          (refuse_argument(operation, i, py::detail::make_caster<Args>::name.text, values[i]), true)) &&
         ...);
  const auto call = [&](std::decay_t<Args>&... args) {
    constexpr bool kUsesPython =
        std::is_base_of_v<py::handle, R> || (std::is_base_of_v<py::handle, Args> || ...);
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
  } else {
    return py::detail::make_caster<R>::cast(invoke(), py::return_value_policy::move, py::handle()).ptr();
  }
}

/// The Invoke of a function, and the number of its arguments.
struct Invocation {
  Invoke invoke;
  size_t arguments;
};
template <class F, class R, class... Args>
constexpr Invocation invocation_of(R (F::*)(Args...) const) {
  return {[](const Operation& operation, PyObject* const* values) {
            return call_with<R, Args...>(operation, values, std::index_sequence_for<Args...>(), F{});
          },
          sizeof...(Args)};
}
template <class F>
inline constexpr Invocation kInvoke = invocation_of(&F::operator());

/// A function as a type without state.
template <auto f>
struct Stateless;
template <class R, class... Args, R (*f)(Args...)>
struct Stateless<f> {
  R operator()(Args... args) const { return f(args...); }
};

/// Where operations go.
class Table {
 public:
  explicit Table(py::module_& m) : module_(m) {}

  /// A function of the module and a method of Tensor; with a star before the signature, in place too, as
  /// name_().
  template <class F>
  void both(const char* signature, F) {
    put(signature, kInvoke<F>, true, true);
  }
  template <auto f>
  void both(const char* signature) {
    both(signature, Stateless<f>());
  }
  /// A function only.
  template <class F>
  void function(const char* signature, F) {
    put(signature, kInvoke<F>, true, false);
  }
  template <auto f>
  void function(const char* signature) {
    function(signature, Stateless<f>());
  }
  /// A method only.
  template <class F>
  void method(const char* signature, F) {
    put(signature, kInvoke<F>, false, true);
  }
  template <auto f>
  void method(const char* signature) {
    method(signature, Stateless<f>());
  }
  /// An attribute, which may be assigned if there is a second function.
  template <class Get>
  void property(const char* signature, Get) {
    put_property(signature, kInvoke<Get>, nullptr, {});
  }
  template <class Get, class Set>
  void property(const char* signature, Get, const char* setter, Set) {
    put_property(signature, kInvoke<Get>, setter, kInvoke<Set>);
  }

 private:
  void put(const char* signature, const Invocation& f, bool is_function, bool is_method);
  void put_property(const char* signature, const Invocation& get, const char* setter, const Invocation& set);

  py::module_& module_;
};

}  // namespace gradus::python
