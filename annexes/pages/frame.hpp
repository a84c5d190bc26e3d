// Pages: HTML files that contain all that they show and need no network. Thread-safe: no state.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::pages {

/// The text of a file of this folder: "style.css". Throws std::out_of_range if there is none.
std::string_view embedded_file(std::string_view path);

/// One HTML file. Its scripts find `data` as the constant of that name, and `element`, `heatMap` and the
/// other functions of common.js.
struct Page {
  std::string_view verb;  ///< that makes such pages
  std::string title;
  std::string data;                           ///< JSON
  std::vector<std::string_view> scripts;      ///< texts, in the order in which they run
  std::vector<std::string_view> styles = {};  ///< texts, before style.css
};
std::string html(const Page& page);
/// Whether the first bytes of a file are those of a page of this verb, as a function of them.
std::function<bool(std::string_view beginning)> is_page_of(std::string_view verb);

/// `text` with each {{name}} replaced by value(name).
std::string filled(std::string_view text, const std::function<std::string(std::string_view name)>& value);

/// The bytes in base64.
std::string base64(std::string_view bytes);

/// Text for HTML.
std::string escaped_html(std::string_view text);

}  // namespace gradus::pages
