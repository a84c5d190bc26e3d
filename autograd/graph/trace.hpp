// Trace: the calls of operations in the order in which a thread makes them, with all that their values depend
// on. autograd/reference/ computes them again; at level `reference` it does so at once. Costs a branch or two
// for each operation otherwise.
#pragma once

#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
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

/// The calls, oldest first; they keep their tensors.
struct Trace {
  std::vector<TracedCall> calls;
};

/// The Trace of this thread; null if there is none.
extern constinit thread_local Trace* active_trace;

/// Whether operations have the values of their definitions, and gradient rules are composed of operations.
inline bool is_by_definition() { return kernels::is_reference_in_use; }
/// Whether calls are looked at.
inline bool is_traced() { return active_trace || is_by_definition(); }

/// At level `reference`, gives the result the values of the definition. Adds the call to a trace.
void trace_call(std::string_view op, std::vector<Tensor> inputs, std::vector<Tensor> outputs);
/// Gives the result of an operation of the library the values of its definition, computed in float64. A view
/// keeps its values. Defined in autograd/reference/.
void compute_by_definition(const TracedCall& call);

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

/// Those of this thread's next call, which takes them.
std::vector<Attribute>& next_attributes();

/// Keeps arguments for the record() that follows, if calls are traced. Those that take time to make belong
/// behind `if (is_traced())`.
template <class... Values>
void trace_attributes(const Values&... values) {
  if (is_traced()) [[unlikely]]
    next_attributes() = {attribute(values)...};
}

}  // namespace gradus::autograd
