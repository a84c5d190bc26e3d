# What cpack makes of the install rules: the Debian packages gradus and libgradus-dev, and an archive with all of it.

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_CONTACT "the authors of gradus")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME "gradus-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gradus)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)  # by dpkg-shlibdeps, of dpkg-dev
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "bible-kjv, bible-kjv-text")  # the default text
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "python3")  # `sweep` and `plan`
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "The program: training, sampling, evaluation, byte pairs, and the checks of gradients.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgradus-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libopenblas-dev, libutf8proc-dev, libpcre2-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "The library: headers, static libraries, find_package(gradus) and pkg-config.")
get_property(plugins GLOBAL PROPERTY GRADUS_MPI_PLUGINS)
if(plugins)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME gradus-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "gradus (= ${PROJECT_VERSION})")
  set(CPACK_COMPONENT_MPI_DESCRIPTION "Plug-ins of MPI: training on several processes and machines.")
endif()
if(TARGET gradus_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-gradus)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  math(EXPR next "${Python3_VERSION_MINOR} + 1")  # the module is of one version of Python
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.${Python3_VERSION_MINOR}), python3 (<< 3.${next})")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-numpy")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The Python package: tensors, modules and training, with PyTorch's names.")
endif()
include(CPack)
