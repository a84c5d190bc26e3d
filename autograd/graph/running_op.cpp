#include "gradus/autograd/graph/running_op.hpp"

namespace gradus::autograd {

constinit thread_local std::string_view running_op;

std::string_view op_in_backward() { return running_op.empty() ? "the caller" : running_op; }

}  // namespace gradus::autograd
