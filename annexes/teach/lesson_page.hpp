// Pages of the lessons: cells of a notebook, a layer whose numbers change, questions. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::teach {

/// What a page shows, as JSON: the page of a lesson, of the variants ("compare"), or the list of all ("").
/// Throws Error for another name.
std::string lesson_json(std::string_view name);
/// The page of a lesson or of the variants, by itself. Throws as above.
std::string lesson_html(std::string_view name);
/// All pages with links between them, by the names of their files; index.html is the list.
std::vector<std::pair<std::string, std::string>> lesson_site();

}  // namespace gradus::teach
