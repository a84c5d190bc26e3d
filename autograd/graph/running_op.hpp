// The op whose rule a thread's engine runs at the moment.
#pragma once

#include <string_view>

namespace gradus::autograd {

/// Empty if none. The engine writes it.
extern constinit thread_local std::string_view running_op;

/// The same for messages.
std::string_view op_in_backward();

}  // namespace gradus::autograd
