# gradus_options: what every target of gradus is compiled with and no user of gradus ever sees.
# Linked PRIVATE, through BUILD_INTERFACE, so that it is not part of the installed package.

add_library(gradus_options INTERFACE)

target_compile_options(gradus_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  -Wconversion -Wno-sign-conversion
  $<$<BOOL:${GRADUS_WERROR}>:-Werror>
  # So that a program carries only what it calls.
  -ffunction-sections -fdata-sections)

if(GRADUS_SANITIZE)
  string(REPLACE ";" "," gradus_sanitizers "${GRADUS_SANITIZE}")
  target_compile_options(gradus_options INTERFACE
    -fsanitize=${gradus_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(gradus_options INTERFACE -fsanitize=${gradus_sanitizers})
endif()
