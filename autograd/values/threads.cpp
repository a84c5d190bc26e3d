#include "gradus/autograd/values/threads.hpp"

#include "gradus/autograd/kernels/parallel.hpp"

namespace gradus {

int num_threads() { return kernels::thread_count(); }

void set_num_threads(int n) { kernels::set_thread_count(n); }

}  // namespace gradus
