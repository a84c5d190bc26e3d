// Text files that are part of the program, so that it needs no installed data: gradus_embed() in
// CMakeLists.txt lists them. Thread-safe: no state.
#pragma once

#include <string_view>

namespace gradus::tools {

/// The text of a file, by its path from this folder: "export/web/page.js". Throws std::out_of_range if there
/// is none.
std::string_view embedded_file(std::string_view path);

}  // namespace gradus::tools
