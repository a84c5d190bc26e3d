// The loops of reductions, which those of other rows share: see rows.hpp.
#include "gradus/autograd/kernels/elementwise/reduce.hpp"

#include <utility>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/rows.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T, int... kOp>
constexpr ReduceLoops<T> reduce_loops(std::integer_sequence<int, kOp...>) {
  return {{fold<T, Reduce{kOp}>...}, {fold_rows<T, Reduce{kOp}>...}};
}

GRADUS_BUILD(ReduceLoops, reduce_loops<T>(EachOf<Reduce>()));

}  // namespace gradus::kernels::GRADUS_ISA
