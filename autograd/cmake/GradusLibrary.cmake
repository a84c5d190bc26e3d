# gradus_unite_folders(<target>): one unit of each folder that its sources lie in. A file beside a folder of its name
# belongs to that: x.cpp to x/.
function(gradus_unite_folders target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(REMOVE_EXTENSION path OUTPUT_VARIABLE folder)
    if(NOT IS_DIRECTORY "${folder}")
      cmake_path(GET path PARENT_PATH folder)
    endif()
    cmake_path(GET folder FILENAME group)
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP ${group})
  endforeach()
endfunction()

# gradus_add_library(<name> SOURCES <file>... [USES <target>...] [USES_PRIVATELY <target>...]
#                    [PART_OF <room> | OF_PROGRAM] [OPTIMIZATION <flag>])
#
# Makes gradus_<name>, alias gradus::<name>: the room <name>, the current folder. Headers are included as
# "gradus/<room>/x.hpp", from the build tree (through a symlink to the folder) and from an installed
# prefix alike. gradus.hpp names the public ones.
#
# With PART_OF the library is what stands apart in a room: what training a model does not need, so that
# ./gradus train need not wait for it. Its headers are the room's.
#
# OF_PROGRAM says that it lies in cli/ or annexes/, and is no room.
#
# OPTIMIZATION is the flag of a library in which the time of a step is spent. Every other library is compiled with -Og, which takes the
# compiler half of the time that -O3 takes it.
#
# Where CMAKE_UNITY_BUILD is on, as ./gradus and the preset release have it, the files of a folder are
# compiled as one: most of a file's time goes by in the headers that all of them include.
function(gradus_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OF_PROGRAM" "PART_OF;OPTIMIZATION" "SOURCES;USES;USES_PRIVATELY")
  set(target gradus_${name})

  add_library(${target} ${arg_SOURCES})
  add_library(gradus::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    POSITION_INDEPENDENT_CODE ON)  # a static library may become part of a plug-in
  target_link_libraries(${target} PRIVATE ${arg_USES_PRIVATELY} $<BUILD_INTERFACE:gradus_options>)
  gradus_unite_folders(${target})

  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${arg_USES})

  if(NOT arg_OPTIMIZATION)
    set(arg_OPTIMIZATION -Og)
  endif()
  # No call of its own functions goes through a table, although all are position-independent.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition
    $<$<OR:$<CONFIG:Release>,${GRADUS_NO_BUILD_TYPE}>:${arg_OPTIMIZATION}>)
  if(arg_OF_PROGRAM)
    return()
  endif()
  if(arg_PART_OF)
    set_property(TARGET gradus_${arg_PART_OF} APPEND PROPERTY GRADUS_PARTS gradus::${name})
    return()
  endif()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include/gradus")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/include/gradus/${name}" SYMBOLIC)
endfunction()

# gradus_embed(<namespace> <pattern>...): makes embedded.cpp in the current build folder, the definition of
#   std::string_view gradus::<namespace>::embedded_file(std::string_view path)
# which returns the text of a file that matches, by its path from the current folder, and throws std::out_of_range for another.
function(gradus_embed GRADUS_EMBEDDED_NAMESPACE)
  file(GLOB files RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS ${ARGN})
  set(GRADUS_EMBEDDED_FILES "")
  foreach(file IN LISTS files)
    # Ninja takes a path with .. for another file.
    cmake_path(ABSOLUTE_PATH file NORMALIZE OUTPUT_VARIABLE path)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    file(READ "${file}" text)
    string(APPEND GRADUS_EMBEDDED_FILES "{\"${file}\", R\"gradus(${text})gradus\"},\n")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/autograd/cmake/embedded.cpp.in" "${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp" @ONLY)
endfunction()

# gradus_add_verbs(<name> SOURCES <file>... USES <target>... PROGRAMS <target>...): sources that become part of these programs.
function(gradus_add_verbs name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;PROGRAMS")
  set(target gradus_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  target_link_libraries(${target} PUBLIC gradus_cli_base ${arg_USES})
  gradus_unite_folders(${target})
  foreach(program IN LISTS arg_PROGRAMS)
    target_link_libraries(${program} PRIVATE ${target} ${arg_USES})
  endforeach()
endfunction()
