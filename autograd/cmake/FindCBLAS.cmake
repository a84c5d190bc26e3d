# FindCBLAS: OpenBLAS with its C interface, as the imported target CBLAS::CBLAS.
#
# CMake's own FindBLAS gives no include directory, and OpenBLAS's CONFIG file no target, so they are
# asked only where pkg-config does not know OpenBLAS. Sets CBLAS_FOUND, CBLAS_VERSION (where known)
# and CBLAS_PC_REQUIRES, the pkg-config module that was used, empty if none was.

set(CBLAS_VERSION "")
set(CBLAS_PC_REQUIRES "")
set(cblas_libraries "")
set(cblas_include_dir "")

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(CBLAS_PC QUIET openblas)
endif()
if(CBLAS_PC_FOUND)
  set(CBLAS_PC_REQUIRES openblas)
  set(CBLAS_VERSION "${CBLAS_PC_VERSION}")
  set(cblas_libraries ${CBLAS_PC_LINK_LIBRARIES})
  find_path(CBLAS_INCLUDE_DIR cblas.h HINTS ${CBLAS_PC_INCLUDE_DIRS} ${CBLAS_PC_INCLUDEDIR})
else()
  find_package(OpenBLAS CONFIG QUIET)
  if(OpenBLAS_FOUND)
    set(CBLAS_VERSION "${OpenBLAS_VERSION}")
    set(cblas_libraries ${OpenBLAS_LIBRARIES})
  else()
    set(BLA_VENDOR OpenBLAS)
    find_package(BLAS QUIET)
    unset(BLA_VENDOR)
    set(cblas_libraries ${BLAS_LIBRARIES})
  endif()
  find_path(CBLAS_INCLUDE_DIR cblas.h
    HINTS ${OpenBLAS_INCLUDE_DIRS}
    PATH_SUFFIXES openblas openblas-pthread openblas-openmp openblas-serial
      ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp
      ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial)
endif()
mark_as_advanced(CBLAS_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBLAS
  REQUIRED_VARS cblas_libraries CBLAS_INCLUDE_DIR
  VERSION_VAR CBLAS_VERSION
  REASON_FAILURE_MESSAGE "gradus needs OpenBLAS and its header cblas.h (Debian, Ubuntu: libopenblas-dev)")

if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
  add_library(CBLAS::CBLAS INTERFACE IMPORTED)
  set_target_properties(CBLAS::CBLAS PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CBLAS_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${cblas_libraries}")
endif()
