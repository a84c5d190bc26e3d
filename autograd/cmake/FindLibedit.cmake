# FindLibedit: libedit, lines typed at a terminal, as the imported target Libedit::Libedit.

find_path(LIBEDIT_INCLUDE_DIR histedit.h)
find_library(LIBEDIT_LIBRARY edit)
mark_as_advanced(LIBEDIT_INCLUDE_DIR LIBEDIT_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libedit
  REQUIRED_VARS LIBEDIT_LIBRARY LIBEDIT_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "prompts with a history need libedit (Debian, Ubuntu: libedit-dev)")

if(Libedit_FOUND AND NOT TARGET Libedit::Libedit)
  add_library(Libedit::Libedit INTERFACE IMPORTED)
  set_target_properties(Libedit::Libedit PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${LIBEDIT_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${LIBEDIT_LIBRARY}")
endif()
