// The table of chat formats: what each chat template does, and the texts of templates that are known to do
// it. A new format is one row of chat_formats.cpp. Private to data.
#pragma once

#include <string_view>
#include <vector>

namespace gradus::data {

/// A format. Its texts have "{}" for the content of a message, "{bos}" and "{eos}" for the tokens of
/// tokenizer_config.json.
struct ChatFormatRow {
  std::string_view name;
  /// The tokens that the vocabulary must have, and other marks of its templates, each before a space. They
  /// find the row that is nearest to an unknown template.
  std::string_view tokens, marks = "";
  std::string_view user, answer;         ///< a turn; the last special token of an answer ends it
  std::string_view system = "";          ///< a system message; "": only the first message may be one
  std::string_view first_system = "";    ///< the first message, if of the system; "": as `system`
  const char* default_system = nullptr;  ///< of a conversation that begins with another message
  std::string_view prefix =
      "";                       ///< after the first system message, which precedes the text of the first user
  std::string_view begin = "";  ///< before all messages
  std::string_view asks = "";   ///< what a prompt for an answer adds to the beginning of one
  bool always_asks = false;     ///< the template asks for an answer after each conversation
  bool trims = false;           ///< contents have no white space around them: Python's str.strip()
  bool alternates = false;      ///< user and assistant take turns, after a system message
  bool joins_systems = false;   ///< all system messages precede the others, "\n\n" between them
  bool thinks = false;          ///< Qwen 3's thoughts, which earlier answers lose
  /// The first 16 digits of the SHA-256 of templates, whose line ends are LF, without one at the end.
  std::vector<std::string_view> templates;
};

/// The format of a template. Throws Error for an unknown text, with the nearest format.
const ChatFormatRow& chat_format_of(std::string_view text);
/// All formats.
const std::vector<ChatFormatRow>& chat_formats();

}  // namespace gradus::data
