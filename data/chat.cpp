#include "gradus/data/chat.hpp"

#include <algorithm>

#include "gradus/data/chat_formats.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {

std::vector<std::string> chat_format_names() { return column(chat_formats(), &ChatFormatRow::name); }
namespace {

const ChatFormatRow& chat_format_named(std::string_view name) {
  for (const ChatFormatRow& row : chat_formats())
    if (row.name == name) return row;
  fail("chat", "the format must be ", listed(chat_format_names()), ", got ", files::in_quotes(name), ".");
}

constexpr const char *kStart = "<|im_start|>", *kEnd = "<|im_end|>";
constexpr std::string_view kThink = "<think>", kThinkEnd = "</think>", kContent = "{}", kBos = "{bos}",
                           kEos = "{eos}";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// Whether Python's str.isspace() is true: Unicode's White_Space and U+001C to U+001F.
bool is_space(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

/// Python's str.strip().
std::string_view stripped(std::string_view text) {
  size_t begin = text.size(), end = 0;
  for (size_t at = 0; at < text.size();) {
    const files::CodePoint c = files::first_code_point(text.substr(at));
    const size_t next = at + static_cast<size_t>(std::max(c.size, 1));
    if (c.size == 0 || !is_space(c.value)) begin = std::min(begin, at), end = next;
    at = next;
  }
  return end == 0 ? "" : text.substr(begin, end - begin);
}

std::string_view without_first_lines(std::string_view text) {  // Python's lstrip("\n")
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

std::string_view trimmed_lines(std::string_view text) {  // strip("\n")
  return without_first_lines(text.substr(0, text.find_last_not_of('\n') + 1));
}

/// The thoughts in an answer of Qwen 3, and the text after them.
std::pair<std::string_view, std::string_view> split_thoughts(const Message& message) {
  const std::string_view text = message.content;
  if (message.reasoning) return {*message.reasoning, text};
  if (!has(text, kThinkEnd)) return {"", text};
  std::string_view thoughts = text.substr(0, text.find(kThinkEnd));
  if (const size_t begin = thoughts.rfind(kThink); begin != thoughts.npos)
    thoughts.remove_prefix(begin + kThink.size());
  return {trimmed_lines(thoughts),
          without_first_lines(text.substr(text.rfind(kThinkEnd) + kThinkEnd.size()))};
}

bool is_question(const Message& message) {
  const bool is_tools =
      message.content.starts_with("<tool_response>") && message.content.ends_with("</tool_response>");
  return message.role == "user" && !is_tools;
}

}  // namespace

/// Appends texts and tokens. Text between two special tokens is encoded as a whole, as transformers does.
class ChatFormat::Writer {
 public:
  explicit Writer(const ChatFormat& format) : format_(format) {}

  /// A text of the row, with its tokens and the content, of which `before` does not count. If it counts, so
  /// does what follows, up to the first special token.
  void add(std::string_view form, std::string_view content = "", bool counts = false,
           std::string_view before = "") {
    while (!form.empty()) {
      const std::pair<std::string_view, int32_t>* token = nullptr;
      size_t at = std::min(form.find(kContent), form.size());
      for (const auto& one : format_.tokens_)
        if (const size_t place = form.find(one.first); place < at) at = place, token = &one;
      text_ += form.substr(0, at);
      form.remove_prefix(at);
      if (token != nullptr) {
        encode();
        push(token->second, counts_from_ != kNowhere);
        counts_from_ = kNowhere;
        form.remove_prefix(token->first.size());
      } else if (!form.empty()) {
        text_ += before;
        if (counts) counts_from_ = text_.size();
        text_ += content;
        form.remove_prefix(kContent.size());
      }
    }
  }

  Example take() {
    encode();
    return std::move(example_);
  }

 private:
  static constexpr size_t kNowhere = std::string::npos;

  void push(int32_t token, bool counts) {
    example_.tokens.push_back(token);
    example_.counts.push_back(counts);
  }

  /// Encodes the waiting text. Tokens that the text before an answer has, too, do not count.
  void encode() {
    if (text_.empty()) return;
    const std::vector<int32_t> tokens = format_.tokenizer_.encode(text_);
    size_t same = counts_from_ == kNowhere ? tokens.size() : 0;
    if (same == 0) {
      const std::vector<int32_t> before = format_.tokenizer_.encode(text_.substr(0, counts_from_));
      const auto most = std::min(before.size(), tokens.size());
      while (same < most && before[same] == tokens[same]) ++same;
    }
    example_.tokens.insert(example_.tokens.end(), tokens.begin(), tokens.end());
    example_.counts.resize(example_.tokens.size() - tokens.size() + same, false);
    example_.counts.resize(example_.tokens.size(), true);
    text_.clear();
  }

  const ChatFormat& format_;
  Example example_;
  std::string text_;
  size_t counts_from_ = kNowhere;
};

Tokenizer with_chat(const Tokenizer& tokenizer) {
  const Tokenizer added = tokenizer.with_special({kStart, kEnd});
  return added.with_chat_template(
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
      "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
      "{% endif %}",
      *added.token_of(kEnd));
}

ChatFormat::ChatFormat(const ChatFormatRow& row, const Tokenizer& tokenizer)
    : row_(&row), tokenizer_(tokenizer) {
  const auto add = [&](std::string_view text, const std::optional<int32_t>& token, std::string_view what) {
    if (!token)
      fail("chat", "the tokenizer must have ", what, " of the chat format ", row.name, ", got none.");
    tokens_.emplace_back(text, *token);
  };
  for (std::string_view rest = row.tokens; !rest.empty(); rest.remove_prefix(rest.find(' ') + 1)) {
    const std::string_view one = rest.substr(0, rest.find(' '));
    add(one, tokenizer.token_of(one), concat("the token ", one));
  }
  const std::vector<int32_t> ends = tokenizer.eos();
  if (has(row.begin, kBos) || has(row.user, kBos)) add(kBos, tokenizer.bos(), "the bos_token");
  if (has(row.answer, kEos)) add(kEos, ends.empty() ? std::nullopt : std::optional(ends[0]), "the eos_token");
  const std::string_view after = row.answer.substr(row.answer.find(kContent));
  size_t first = after.size();
  for (const auto& [text, token] : tokens_)
    if (const size_t at = after.find(text); at < first) first = at, end_ = token;
}

std::optional<ChatFormat> ChatFormat::of(const Tokenizer& tokenizer, std::string_view name) {
  if (!name.empty()) return ChatFormat(chat_format_named(name), tokenizer);
  const std::string text = tokenizer.chat_template();
  if (text.empty()) return {};
  return ChatFormat(chat_format_of(text), tokenizer);
}

Example ChatFormat::rendered(const std::vector<Message>& messages, bool asks) const {
  const ChatFormatRow& row = *row_;
  check(messages);
  const bool has_system = messages[0].role == "system";
  Writer w(*this);
  w.add(row.begin);
  if (row.default_system != nullptr && !has_system)
    w.add(row.first_system.empty() ? row.system : row.first_system, row.default_system);
  std::string joined, before_user;
  size_t last_question = messages.size() - 1, systems = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (is_question(messages[i])) last_question = i;
    if (messages[i].role == "system") joined += concat(systems++ == 0 ? "" : "\n\n", messages[i].content);
  }
  if (row.joins_systems && systems > 0) w.add(row.system, joined);
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message& one = messages[i];
    const std::string_view content = row.trims ? stripped(one.content) : one.content;
    if (one.role == "user") {
      w.add(row.user, std::exchange(before_user, "").append(content));
    } else if (one.role == "assistant" && row.thinks) {
      const auto [raw, answer] = split_thoughts(one);
      const std::string_view thoughts = trimmed_lines(raw);
      const bool thinks = i > last_question && (i + 1 == messages.size() || !raw.empty());
      if (!thinks || thoughts.empty())
        w.add(row.answer, thinks ? without_first_lines(answer) : answer, one.counts,
              thinks ? "<think>\n\n</think>\n\n" : "");
      else
        w.add(row.answer, concat("<think>\n", thoughts, "\n</think>\n\n", without_first_lines(answer)),
              one.counts);
    } else if (one.role == "assistant") {
      w.add(row.answer, content, one.counts);
    } else if (!row.prefix.empty()) {
      before_user = concat(one.content, row.prefix);
    } else if (!row.joins_systems) {
      w.add(i == 0 && !row.first_system.empty() ? row.first_system : row.system, content);
    }
  }
  if (asks || row.always_asks) w.add(concat(row.answer.substr(0, row.answer.find(kContent)), row.asks));
  return w.take();
}

void ChatFormat::check(const std::vector<Message>& messages) const {
  const ChatFormatRow& row = *row_;
  if (messages.empty()) fail("chat", "a conversation must have messages, got none.");
  const bool takes_system = !row.system.empty() || !row.prefix.empty();
  const size_t first = messages[0].role == "system" ? 1 : 0;
  if (!row.prefix.empty() && messages.size() == first)
    fail("chat", "a conversation in ", row.name, " must have a message of user, got none.");
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message& one = messages[i];
    const auto refuse = [&](std::string_view what) {
      fail("chat", "message ", i + 1, " of a conversation in ", row.name, " must ", what, ", got ",
           files::in_quotes(one.role), ".");
    };
    if (one.role != "user" && one.role != "assistant" && (one.role != "system" || !takes_system))
      refuse(takes_system ? "be of system, user or assistant" : "be of user or assistant");
    if (row.alternates && i >= first && one.role != ((i - first) % 2 == 0 ? "user" : "assistant"))
      refuse("be of user and assistant in turns");
    if (!one.reasoning.value_or("").empty() && (!row.thinks || one.role != "assistant"))
      refuse("have no reasoning_content, which only answers in qwen3 have");
  }
}

Example ChatFormat::example(const std::vector<Message>& messages) const { return rendered(messages, false); }

std::vector<int32_t> ChatFormat::prompt(const std::vector<Message>& messages) const {
  return rendered(messages, true).tokens;
}

}  // namespace gradus::data
