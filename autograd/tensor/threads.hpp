// Threads: how many of them compute. Thread-safe.
#pragma once

namespace gradus {

/// The number of threads that ops use, the caller included; at first one for each physical core that the
/// process may run on. Results have the same bits for any number.
int num_threads();

/// Sets it, for the whole process. Throws Error if n < 1, and when called from within an op's own threads.
void set_num_threads(int n);

}  // namespace gradus
