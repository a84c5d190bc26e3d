# gradus_options: what every target of gradus is compiled with and no user of gradus ever sees.
# Linked PRIVATE, through BUILD_INTERFACE, so that it is not part of the installed package.

add_library(gradus_options INTERFACE)

# Whether nothing says how to optimise: a project that adds this one and names no build type gets the libraries at their
# speed all the same.
if(CMAKE_CXX_FLAGS MATCHES "(^| )-O")
  set(GRADUS_NO_BUILD_TYPE 0)
else()
  set(GRADUS_NO_BUILD_TYPE $<CONFIG:>)
endif()

target_compile_options(gradus_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  -Wconversion -Wno-sign-conversion
  $<$<BOOL:${GRADUS_WERROR}>:-Werror>
  # In a unity build every file looks like a header, in which nameless namespaces would be a fault.
  $<$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  # A fused multiply-add rounds once where the source says twice: results would depend on the machine. The
  # vector kernels write out those that they want.
  -ffp-contract=off
  # So that a program carries only what it calls.
  -ffunction-sections -fdata-sections)

if(GRADUS_SANITIZE)
  string(REPLACE ";" "," gradus_sanitizers "${GRADUS_SANITIZE}")
  target_compile_options(gradus_options INTERFACE
    -fsanitize=${gradus_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(gradus_options INTERFACE -fsanitize=${gradus_sanitizers})
endif()
