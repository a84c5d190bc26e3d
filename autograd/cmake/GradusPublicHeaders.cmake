# gradus/gradus.hpp, which includes every public header of the rooms; gradus_public_headers lists them, as
# "<room>/<header>". No hand keeps the list, so that none can be forgotten.
set(gradus_rooms files autograd nn models data train)  # the lowest first

set(gradus_public_headers "")
foreach(room IN LISTS gradus_rooms)
  get_target_property(headers gradus_${room} GRADUS_PUBLIC_HEADERS)
  list(TRANSFORM headers PREPEND "${room}/")
  list(APPEND gradus_public_headers ${headers})
endforeach()

list(TRANSFORM gradus_public_headers REPLACE "(.+)" "#include \"gradus/\\1\"  // IWYU pragma: export\n"
  OUTPUT_VARIABLE gradus_includes)
list(JOIN gradus_includes "" gradus_includes)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/include/gradus/gradus.hpp" @ONLY
  CONTENT "// All of gradus: every public header of the library.\n#pragma once\n\n@gradus_includes@")
