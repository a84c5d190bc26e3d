#include "gradus/autograd/tensor/threads.hpp"

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus {

int num_threads() { return kernels::thread_count(); }

void set_num_threads(int n) { kernels::set_thread_count(n); }

}  // namespace gradus
