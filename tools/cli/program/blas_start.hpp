// OpenBLAS starts threads when it is loaded, before main(), which gradus does not use. Where the system
// refuses them, OpenBLAS cannot be loaded, so the program begins again without them.
#pragma once

namespace gradus::cli {

/// For main(), before all else: where address space is limited (`ulimit -v`), begins the program again, with
/// the same arguments, in an environment in which OpenBLAS starts no threads. Each would map a buffer of 128
/// MiB, and one that is refused it would keep exit() waiting for ever. Returns if there is nothing to change,
/// and false if the program could not begin again.
bool begin_without_blas_threads(char** argv);

}  // namespace gradus::cli
