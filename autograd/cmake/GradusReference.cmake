# The target reference: pages about every public name, in <build>/reference/html, by Doxygen, which nothing else needs.
# The target docs: README, docs/ and the reference as one site with a search, in <build>/docs/html, by Sphinx.
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
configure_file("${PROJECT_SOURCE_DIR}/autograd/cmake/doxygen/Doxyfile.in" "${gradus_doxyfile}" @ONLY)

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

# Sphinx reads one folder: links to the pages of the repository, and the pages that conf.py adds.
set(gradus_site "${PROJECT_BINARY_DIR}/docs/source")
file(REMOVE_RECURSE "${gradus_site}")  # pages that are gone
foreach(page README.md CONTRIBUTING.md CHANGELOG.md gradus.hpp docs data/README.md annexes/cases/README.md examples)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${page}")
    get_filename_component(folder "${gradus_site}/${page}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${page}" "${gradus_site}/${page}" SYMBOLIC)
  endif()
endforeach()
find_program(GRADUS_SPHINX sphinx-build)
mark_as_advanced(GRADUS_SPHINX)
set(gradus_site_settings "${PROJECT_SOURCE_DIR}/autograd/cmake/doxygen/site")
set(gradus_pages "${PROJECT_BINARY_DIR}/docs/html")
set(gradus_sphinx "${GRADUS_SPHINX}" -q -a -c "${gradus_site_settings}"
  -D "breathe_projects.gradus=${PROJECT_BINARY_DIR}/reference/xml" -D "html_title=gradus ${PROJECT_VERSION}")
if(DOXYGEN_FOUND AND GRADUS_SPHINX)
  add_custom_target(docs
    COMMAND ${gradus_sphinx} "${gradus_site}" "${gradus_pages}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${gradus_pages}/README.html" "${gradus_pages}/index.html"
    COMMENT "Writing docs/html/index.html"
    VERBATIM)
  add_dependencies(docs reference)
else()
  add_custom_target(docs
    COMMAND "${CMAKE_COMMAND}" -E echo
      "docs: needs doxygen and sphinx (Debian: apt-get install doxygen python3-breathe python3-myst-parser furo), then configure again"
    COMMAND "${CMAKE_COMMAND}" -E false
    VERBATIM)
endif()
