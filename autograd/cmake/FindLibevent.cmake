# FindLibevent: libevent, the server of `gradus watch`, as the imported target Libevent::Libevent.

find_path(LIBEVENT_INCLUDE_DIR event2/http.h)
find_library(LIBEVENT_CORE_LIBRARY event_core)
find_library(LIBEVENT_EXTRA_LIBRARY event_extra)
mark_as_advanced(LIBEVENT_INCLUDE_DIR LIBEVENT_CORE_LIBRARY LIBEVENT_EXTRA_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libevent
  REQUIRED_VARS LIBEVENT_EXTRA_LIBRARY LIBEVENT_CORE_LIBRARY LIBEVENT_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "the program needs libevent (Debian, Ubuntu: libevent-dev)")

if(Libevent_FOUND AND NOT TARGET Libevent::Libevent)
  add_library(Libevent::Libevent INTERFACE IMPORTED)
  set_target_properties(Libevent::Libevent PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${LIBEVENT_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${LIBEVENT_EXTRA_LIBRARY};${LIBEVENT_CORE_LIBRARY}")
endif()
