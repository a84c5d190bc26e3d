#include "gradus/cli/program/shell.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

/// Whether shells give the character no special meaning anywhere.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./,:+@%").find(c) != std::string_view::npos;
}

/// $'...', in which any byte can be written.
std::string escaped(std::string_view word) {
  std::string text = "$'";
  for (const char c : word) {
    char code[8] = {c, '\0'};
    if (!is_plain(c)) std::snprintf(code, sizeof code, "\\%03o", static_cast<unsigned char>(c));
    text += code;
  }
  return text + "'";
}

}  // namespace

std::string shell_word(std::string_view word) {
  const std::string text(word);
  if (files::plain(word) != word) return escaped(word);
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return text;
  if (word.find_first_of("\"$`\\!") == word.npos) return '"' + text + '"';
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shell_path(const std::string& path) {
  return shell_word(path.starts_with('-') ? "./" + path : path);
}

std::string this_program() {
  std::error_code no_proc;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", no_proc);
  return no_proc ? reinterpret_cast<const char*>(::getauxval(AT_EXECFN)) : program.string();
}

}  // namespace gradus::cli
