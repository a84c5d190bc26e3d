# gradus_public_headers: what gradus.hpp includes, as "<room>/.../<header>". Only these are installed.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/gradus.hpp")
file(STRINGS "${PROJECT_SOURCE_DIR}/gradus.hpp" gradus_public_headers REGEX "^#include")
list(TRANSFORM gradus_public_headers REPLACE "^#include \"gradus/([^\"]+)\".*" "\\1")
if(NOT GRADUS_PAGES)
  list(FILTER gradus_public_headers EXCLUDE REGEX "^annexes/pages/")
endif()
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/gradus.hpp" "${PROJECT_BINARY_DIR}/include/gradus/gradus.hpp" SYMBOLIC)
