# A toolchain file: builds for 64-bit ARM with Debian's cross compiler, and runs tests under qemu-user.
#
#   GRADUS_SYSROOT=<a folder with Debian's arm64 packages> cmake --toolchain autograd/cmake/aarch64-linux-gnu.cmake ...
#
# .ci/aarch64 makes such a folder and does all that follows.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT "$ENV{GRADUS_SYSROOT}")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${CMAKE_SYSROOT})

# Programs are this machine's, all else is the other's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
# OpenBLAS is found without pkg-config, which would answer for this machine.
set(CMAKE_DISABLE_FIND_PACKAGE_PkgConfig ON)
list(APPEND CMAKE_PREFIX_PATH "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/openblas-pthread")
