# FindPCRE2: regular expressions with Unicode's classes, as the imported target PCRE2::PCRE2.

find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)
mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2
  REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "gradus needs PCRE2 (Debian, Ubuntu: libpcre2-dev)")

if(PCRE2_FOUND AND NOT TARGET PCRE2::PCRE2)
  add_library(PCRE2::PCRE2 INTERFACE IMPORTED)
  set_target_properties(PCRE2::PCRE2 PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${PCRE2_LIBRARY}")
endif()
