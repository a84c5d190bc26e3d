// OpenBLAS starts threads when it is loaded, before main(). gradus does not use them. If the system refuses
// them, OpenBLAS cannot be loaded; the program then executes itself again without them.
#pragma once

namespace gradus::cli {

/// Call it first in main(). If address space is limited (`ulimit -v`), executes the program again with the
/// same arguments and OPENBLAS_NUM_THREADS=1: each thread maps a buffer of 128 MiB, and if that fails, exit()
/// waits for the thread forever. Returns true if there is nothing to do, and false if the program could not
/// be executed.
bool begin_without_blas_threads(char** argv);

}  // namespace gradus::cli
