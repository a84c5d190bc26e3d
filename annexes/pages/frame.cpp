#include "gradus/annexes/pages/frame.hpp"

#include "gradus/files/error.hpp"

namespace gradus::pages {
namespace {

/// JSON that ends no <script>.
std::string escaped_json(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

std::string all_of(const std::vector<std::string_view>& texts) {
  std::string text;
  for (const std::string_view one : texts) (text += one) += '\n';
  return text;
}

}  // namespace

std::string html(const Page& page) {
  return filled(embedded_file("frame.html"), [&](std::string_view name) {
    if (name == "verb") return std::string(page.verb);
    if (name == "title") return escaped_html(page.title);
    if (name == "data") return escaped_json(page.data);
    if (name == "styles") return all_of(page.styles) + all_of({embedded_file("style.css")});
    return all_of({embedded_file("common.js")}) + all_of(page.scripts);
  });
}

std::function<bool(std::string_view)> is_page_of(std::string_view verb) {
  const std::string_view page = embedded_file("frame.html");
  const std::string begin = concat(page.substr(0, page.find("{{")), verb, '"');
  return [begin](std::string_view beginning) { return beginning.starts_with(begin); };
}

std::string filled(std::string_view text, const std::function<std::string(std::string_view name)>& value) {
  std::string all;
  for (size_t at = 0;;) {
    const size_t open = text.find("{{", at), close = text.find("}}", open);
    all += text.substr(at, open - at);
    if (open == text.npos) return all;
    all += value(text.substr(open + 2, close - open - 2));
    at = close + 2;
  }
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += j <= group.size() ? kDigits[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::string escaped_html(std::string_view text) {
  std::string html;
  for (const char c : text) html += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return html;
}

}  // namespace gradus::pages
