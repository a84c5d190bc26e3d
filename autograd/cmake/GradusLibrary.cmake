# gradus_add_library(<room> SOURCES <file>... [USES <target>...] [USES_PRIVATELY <target>...]
#                    [PRIVATE_HEADERS <file>...])
#
# Makes gradus_<room>, alias gradus::<room>, of the current folder. Headers are included as
# "gradus/<room>/x.hpp", from the build tree (through a symlink to the folder) and from an installed
# prefix alike. The headers directly in the folder are public, but for PRIVATE_HEADERS; those in its
# subfolders are private. A room that has no sources is an INTERFACE library.
function(gradus_add_library room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;USES_PRIVATELY;PRIVATE_HEADERS")
  set(target gradus_${room})

  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include/gradus")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/include/gradus/${room}" SYMBOLIC)

  if(arg_SOURCES)
    set(visible PUBLIC)
    add_library(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_link_libraries(${target} PRIVATE ${arg_USES_PRIVATELY} $<BUILD_INTERFACE:gradus_options>)
  else()
    set(visible INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(gradus::${room} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${room})

  target_compile_features(${target} ${visible} cxx_std_20)
  target_include_directories(${target} ${visible}
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${visible} ${arg_USES})

  file(GLOB headers RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS *.hpp)
  list(REMOVE_ITEM headers ${arg_PRIVATE_HEADERS})
  set_property(TARGET ${target} PROPERTY GRADUS_PUBLIC_HEADERS ${headers})
endfunction()
