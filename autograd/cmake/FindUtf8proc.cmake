# FindUtf8proc: libutf8proc, the classes of Unicode's characters, as the imported target Utf8proc::Utf8proc.

find_path(UTF8PROC_INCLUDE_DIR utf8proc.h)
find_library(UTF8PROC_LIBRARY utf8proc)
mark_as_advanced(UTF8PROC_INCLUDE_DIR UTF8PROC_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Utf8proc
  REQUIRED_VARS UTF8PROC_LIBRARY UTF8PROC_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "gradus needs utf8proc (Debian, Ubuntu: libutf8proc-dev)")

if(Utf8proc_FOUND AND NOT TARGET Utf8proc::Utf8proc)
  add_library(Utf8proc::Utf8proc INTERFACE IMPORTED)
  set_target_properties(Utf8proc::Utf8proc PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${UTF8PROC_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${UTF8PROC_LIBRARY}")
endif()
