// Trace: the calls of operations in the order in which a thread makes them, with all that their values depend
// on. autograd/reference/ computes them again. Costs one branch for each operation while there is none.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::autograd {

/// An argument of an operation that is not an input: a number, sizes or dims, indices or a mask.
using Attribute = std::variant<int64_t, double, Shape, Tensor>;

/// One call of record().
struct TracedCall {
  std::string_view op;                ///< its name
  std::vector<Tensor> inputs;         ///< in the order of record(); undefined where there is none
  std::vector<bool> linked;           ///< which of them require a gradient
  std::vector<Tensor> outputs;        ///< the results
  std::vector<Attribute> attributes;  ///< in the order of trace_attributes()
};

/// The calls, and the attributes of the next one.
struct Trace {
  std::vector<TracedCall> calls;      ///< oldest first; they keep their tensors
  std::vector<Attribute> attributes;  ///< set by trace_attributes(), taken by the next call
  /// Adds a call.
  void add(std::string_view op, std::vector<Tensor> inputs, std::vector<Tensor> outputs);
};

/// The Trace of this thread; null if there is none.
extern constinit thread_local Trace* active_trace;

/// During its lifetime this thread adds its calls to `trace`, which is borrowed; null stops that.
class Tracing {
 public:
  explicit Tracing(Trace* trace) : active_(active_trace, trace) {}

 private:
  Scoped<Trace*> active_;
};

inline Attribute attribute(double x) { return x; }
inline Attribute attribute(const Shape& sizes) { return sizes; }
inline Attribute attribute(const Tensor& t) { return t; }
template <class Int>
requires std::is_integral_v<Int> Attribute attribute(Int n) { return static_cast<int64_t>(n); }

/// Adds arguments to the trace, if there is one, for the record() that follows. Costs one branch otherwise:
/// arguments that take time to make belong behind `if (active_trace)`.
template <class... Values>
void trace_attributes(const Values&... values) {
  if (active_trace) [[unlikely]]
    active_trace->attributes = {attribute(values)...};
}

}  // namespace gradus::autograd
