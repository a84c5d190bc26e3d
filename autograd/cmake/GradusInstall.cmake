# Install rules, in components: `program`, with what shells and man know of it; `development`, the libraries, public
# headers, find_package(gradus) and pkg-config; `mpi` and `python`, where they are built.

include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

# Everything that is installed and nothing else: no tests.
add_custom_target(gradus_installed)
# gradus_require_built(<component> <file>): `cmake --install` of a build without <file> ends before it writes anything.
function(gradus_require_built component file)
  install(CODE "
    if(NOT EXISTS \"${file}\")
      message(FATAL_ERROR \"gradus: the installation needs ${file}, which is not built. \"
        \"Hint: ./gradus install builds what is installed, as does cmake --build ${PROJECT_BINARY_DIR} -j --target gradus_installed\")
    endif()" COMPONENT ${component})
endfunction()

set(gradus_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gradus")
set(gradus_libraries files autograd functional gradcheck nn check_module models data train)  # the lowest first
if(TARGET gradus_layers)
  list(APPEND gradus_libraries layers)
endif()
if(TARGET gradus_foreign)
  list(APPEND gradus_libraries foreign)
endif()
if(TARGET gradus_graph_page)
  list(APPEND gradus_libraries page graph_page)
endif()

foreach(library IN LISTS gradus_libraries)
  add_dependencies(gradus_installed gradus_${library})
  gradus_require_built(development "$<TARGET_FILE:gradus_${library}>")
endforeach()
if(TARGET gradus_cli)
  add_dependencies(gradus_installed gradus_cli gradus_generated_docs)
  gradus_require_built(program "${PROJECT_BINARY_DIR}/generated_docs/gradus.1")  # which the program writes
endif()

foreach(header IN ITEMS gradus.hpp autograd/graph/operations.def LISTS gradus_public_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gradus/${folder}")
endforeach()
foreach(library IN LISTS gradus_libraries)
  install(TARGETS gradus_${library} EXPORT gradusTargets)
endforeach()
install(TARGETS gradus EXPORT gradusTargets)
if(TARGET gradus_cli)
  install(TARGETS gradus_cli COMPONENT program)
  install(FILES "${PROJECT_BINARY_DIR}/generated_docs/gradus" COMPONENT program
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  set(gradus_zsh_folder site-functions)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)  # whose zsh looks elsewhere there
    set(gradus_zsh_folder vendor-completions)
  endif()
  install(FILES "${PROJECT_BINARY_DIR}/generated_docs/_gradus" COMPONENT program
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/${gradus_zsh_folder}")
  install(FILES "${PROJECT_BINARY_DIR}/generated_docs/gradus.1" COMPONENT program DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" COMPONENT program
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)
  install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md" COMPONENT program
    DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" COMPONENT program DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()

get_property(gradus_plugins GLOBAL PROPERTY GRADUS_MPI_PLUGINS)
if(TARGET gradus_cli AND gradus_plugins)
  add_dependencies(gradus_installed ${gradus_plugins})
  install(TARGETS ${gradus_plugins} COMPONENT mpi LIBRARY DESTINATION lib/gradus)  # where the program looks
endif()

if(TARGET gradus_python)
  # Where the system's Python looks: packages of Debian serve all versions of Python 3, others one.
  set(gradus_python_folder "lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/dist-packages")
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(gradus_python_folder lib/python3/dist-packages)
  endif()
  add_dependencies(gradus_installed gradus_python)
  gradus_require_built(python "$<TARGET_FILE:gradus_python>")
  install(TARGETS gradus_python COMPONENT python LIBRARY DESTINATION "${gradus_python_folder}/gradus")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/python/gradus" COMPONENT python DESTINATION "${gradus_python_folder}"
    FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY "${PROJECT_BINARY_DIR}/python/gradus" COMPONENT python DESTINATION "${gradus_python_folder}"
    FILES_MATCHING PATTERN "*.pyi" PATTERN "py.typed")
endif()

install(EXPORT gradusTargets NAMESPACE gradus:: DESTINATION "${gradus_package_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/autograd/cmake/gradusConfig.cmake.in" "${PROJECT_BINARY_DIR}/gradusConfig.cmake"
  INSTALL_DESTINATION "${gradus_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/gradusConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(
  FILES
    "${PROJECT_BINARY_DIR}/gradusConfig.cmake"
    "${PROJECT_BINARY_DIR}/gradusConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/autograd/cmake/FindCBLAS.cmake"
    "${PROJECT_SOURCE_DIR}/autograd/cmake/FindUtf8proc.cmake"
    "${PROJECT_SOURCE_DIR}/autograd/cmake/FindPCRE2.cmake"
  DESTINATION "${gradus_package_dir}")

# A static archive has to come before those it draws from: from the top down.
set(gradus_pc_libs "")
foreach(library IN LISTS gradus_libraries)
  string(PREPEND gradus_pc_libs " -lgradus_${library}")
endforeach()
# The readers of other programs' formats and the libraries that ask for them need each other.
set(gradus_pc_libs " -Wl,--start-group${gradus_pc_libs} -Wl,--end-group")
# OpenBLAS is named as a library: asked for as a package, `pkg-config --static` would add the Fortran runtime of a static
# OpenBLAS, which a machine with the shared one need not have.
set(gradus_pc_libs_private "${CMAKE_THREAD_LIBS_INIT} -lutf8proc -lpcre2-8 -lz")
if(CBLAS_PC_REQUIRES)
  string(APPEND gradus_pc_libs_private " -lopenblas")
else()
  get_target_property(blas CBLAS::CBLAS INTERFACE_LINK_LIBRARIES)
  list(JOIN blas " " blas)
  string(APPEND gradus_pc_libs_private " ${blas}")
endif()
# Up from <prefix>/lib/<arch>/pkgconfig, so that a moved prefix still works.
file(RELATIVE_PATH gradus_pc_prefix
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file("${PROJECT_SOURCE_DIR}/autograd/cmake/gradus.pc.in" "${PROJECT_BINARY_DIR}/gradus.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/gradus.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
