#include "gradus/autograd/graph/grad_mode.hpp"

namespace gradus {
namespace {

thread_local bool grad_mode = true;

}  // namespace

bool grad_enabled() { return grad_mode; }
GradMode::GradMode(bool enabled) : before_(grad_mode) { grad_mode = enabled; }
GradMode::~GradMode() { grad_mode = before_; }

}  // namespace gradus
