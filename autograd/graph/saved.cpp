#include "gradus/autograd/graph/saved.hpp"

#include "gradus/autograd/graph/running_op.hpp"

namespace gradus {

void Saved::refuse() const {
  fail("backward", "a tensor of shape ", tensor_.shape(), " that ", autograd::op_in_backward(),
       " needs has been overwritten since it was used. Hint: call backward() before changing values in "
       "place.");
}

}  // namespace gradus
