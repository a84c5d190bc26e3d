#include "config_file.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "gradus/autograd/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "nearest.hpp"

namespace gradus::cli {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view section, const std::string& file)
      : text_(text), section_(section), file_(file) {}

  std::vector<ConfigItem> parse() {
    for (skip_blank(true); !at_end(); skip_blank(true)) {
      if (peek() == '[')
        parse_section();
      else
        parse_item();
      skip_blank(false);
      if (!at_end() && peek() != '\n') refuse("the end of the line", shown());
    }
    return std::move(items_);
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  char take() {
    if (peek() == '\n') ++line_;
    return at_end() ? '\0' : text_[at_++];
  }
  std::string shown() const {
    return at_end() || peek() == '\n' ? "the end of the line" : concat("'", peek(), "'");
  }

  template <class... Got>
  [[noreturn]] void refuse(std::string_view wanted, const Got&... got) const {
    fail("config", file_, ":", line_, ": must have ", wanted, ", got ", got..., ".");
  }

  /// Spaces and comments; and line ends if `lines`.
  void skip_blank(bool lines) {
    while (!at_end()) {
      if (peek() == '#')
        while (!at_end() && peek() != '\n') take();
      else if (peek() == ' ' || peek() == '\t' || peek() == '\r' || (lines && peek() == '\n'))
        take();
      else
        return;
    }
  }

  void expect(char c) {
    if (peek() != c) refuse(concat("'", c, "'"), shown());
    take();
  }

  /// The characters of a bare key or a number.
  std::string parse_word(std::string_view wanted) {
    std::string word;
    while (std::isalnum(static_cast<unsigned char>(peek())) ||
           std::string_view("_-+.").find(peek()) != std::string_view::npos) {
      if (at_end()) break;
      word += take();
    }
    if (word.empty()) refuse(wanted, shown());
    return word;
  }

  void parse_section() {
    expect('[');
    const std::string name = parse_word("the name of a section");
    expect(']');
    if (name != section_) refuse(concat("no section but [", section_, "]"), "[", name, "]");
    if (seen_section_) refuse(concat("one section [", section_, "] at most"), "a second one");
    seen_section_ = true;
  }

  void parse_item() {
    ConfigItem item{parse_word("a key"), {}, line_};
    if (!keys_.insert(item.key).second) refuse("each key once", item.key, " again");
    skip_blank(false);
    expect('=');
    skip_blank(false);
    if (peek() == '[')
      item.values = parse_array();
    else
      item.values = {parse_value()};
    items_.push_back(std::move(item));
  }

  std::vector<std::string> parse_array() {
    std::vector<std::string> values;
    expect('[');
    for (skip_blank(true); peek() != ']'; skip_blank(true)) {
      values.push_back(parse_value());
      skip_blank(true);
      if (peek() != ']') expect(',');
    }
    expect(']');
    return values;
  }

  std::string parse_value() {
    if (peek() == '"' || peek() == '\'') return parse_string();
    std::string word = parse_word("a value");
    if (std::isalpha(static_cast<unsigned char>(word[0])) && word != "true" && word != "false" &&
        word != "nan" && word != "inf")
      refuse("strings in quotes", word);
    word.erase(std::remove(word.begin(), word.end(), '_'), word.end());  // 10_000 is TOML for 10000.
    return word;
  }

  std::string parse_string() {
    const char quote = take();
    std::string value;
    while (peek() != quote) {
      if (at_end() || peek() == '\n') refuse(concat("a closing ", quote), "the end of the line");
      value += quote == '"' && peek() == '\\' ? parse_escape() : take();
    }
    take();
    return value;
  }

  char parse_escape() {
    take();
    const char code = take();
    constexpr std::string_view codes = "nrt\"\\", characters = "\n\r\t\"\\";
    const size_t i = codes.find(code);
    if (i == codes.npos) refuse("\\n, \\r, \\t, \\\" or \\\\ after a backslash", "'", code, "'");
    return characters[i];
  }

  std::string_view text_, section_;
  const std::string& file_;
  size_t at_ = 0;
  int line_ = 1;
  bool seen_section_ = false;
  std::vector<ConfigItem> items_;
  std::set<std::string> keys_;  // of items_
};

/// The option whose first long name is `key`, or null.
CLI::Option* find_option(CLI::App& verb, const std::string& key) {
  if (key == "help" || key == "config") return nullptr;
  for (CLI::Option* option : verb.get_options())
    if (!option->get_lnames().empty() && option->get_lnames().front() == key) return option;
  return nullptr;
}

std::vector<std::string> keys_of(CLI::App& verb) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : verb.get_options())
    if (!option->get_lnames().empty()) keys.push_back(option->get_lnames().front());
  return keys;
}

}  // namespace

std::vector<ConfigItem> parse_toml(std::string_view text, std::string_view section, const std::string& file) {
  return Parser(text, section, file).parse();
}

void apply_config(const std::filesystem::path& file, CLI::App& verb) {
  for (const auto& [key, values, line] : parse_toml(files::read(file), verb.get_name(), file.string())) {
    CLI::Option* option = find_option(verb, key);
    if (!option)
      fail("config", file.string(), ":", line, ": must have flags of `", verb.get_name(), "` as keys, got '",
           key, "'.", did_you_mean(key, keys_of(verb), verb.get_name() + " --help lists them."));
    if (option->count() > 0) continue;
    const bool takes_list = option->get_items_expected_max() > 1;
    if (values.empty() || (values.size() > 1 && !takes_list))
      fail("config", file.string(), ":", line, ": ", key, " must have one value, got ", values.size(), ".");
    try {
      for (const std::string& value : values) option->add_result(value);
      option->run_callback();
    } catch (const CLI::ParseError&) {
      fail("config", file.string(), ":", line, ": ", key, " must have a value that --", key, " takes, got ",
           files::in_quotes(values.back()), ".");
    } catch (const Error& e) {  // A flag that reads its value itself says what it takes.
      fail("config", file.string(), ":", line, ": ", e.what());
    }
  }
}

}  // namespace gradus::cli
