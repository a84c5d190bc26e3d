# The target reference: pages about every public name, in <build>/reference/html, by Doxygen, which nothing else needs.
find_package(Doxygen QUIET)

list(TRANSFORM gradus_public_headers REPLACE "(.+)" "\"${PROJECT_BINARY_DIR}/include/gradus/\\1\""
  OUTPUT_VARIABLE gradus_reference_input)
list(JOIN gradus_reference_input " \\\n                        " gradus_reference_input)
# To the page of which room, or of which of its floors, each header belongs.
set(gradus_header_pages "")
foreach(header IN LISTS gradus_public_headers)
  string(REGEX MATCH "^([^/]+)/(([^/]+)/)?" room_and_floor "${header}")
  set(group "${CMAKE_MATCH_1}")
  if(group STREQUAL "autograd")
    string(APPEND group "_${CMAKE_MATCH_3}")
  endif()
  string(APPEND gradus_header_pages "/** \\file gradus/${header}\n\\ingroup ${group} */\n")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/reference/headers.dox" CONTENT "@gradus_header_pages@" @ONLY)
set(gradus_doxyfile "${PROJECT_BINARY_DIR}/reference/Doxyfile")
configure_file("${PROJECT_SOURCE_DIR}/autograd/cmake/reference/Doxyfile.in" "${gradus_doxyfile}" @ONLY)

if(DOXYGEN_FOUND)
  add_custom_target(reference
    COMMAND "${DOXYGEN_EXECUTABLE}" "${gradus_doxyfile}"
    COMMENT "Writing reference/html/index.html"
    VERBATIM)
else()
  add_custom_target(reference
    COMMAND "${CMAKE_COMMAND}" -E echo "reference: needs doxygen (Debian: apt-get install doxygen), then configure again"
    COMMAND "${CMAKE_COMMAND}" -E false
    VERBATIM)
endif()
