// The pages that go out with a model, web/ and pytorch/ of this folder, kept in the program, so that they are
// wherever gradus is. Thread-safe: no state.
#pragma once

#include <string_view>

namespace gradus::exports {

/// The text of a file, by its path from here: "web/page.js". Throws std::out_of_range if there is none.
std::string_view embedded_file(std::string_view path);

}  // namespace gradus::exports
