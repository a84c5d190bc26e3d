#include "gradus/data/chat.hpp"

#include <algorithm>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::data {
namespace {

constexpr const char *kStart = "<|im_start|>", *kEnd = "<|im_end|>", *kThinkEnd = "</think>";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string_view stripped(std::string_view text, std::string_view what = " \t\n\r\f\v") {
  const size_t first = text.find_first_not_of(what);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(what) - first + 1);
}

int32_t token_for(const Tokenizer& tokenizer, const char* text) {
  const std::optional<int32_t> token = tokenizer.token_of(text);
  if (!token) fail("chat", "the tokenizer must have the token ", text, " of its chat template, got none.");
  return *token;
}

/// The system message that some templates of ChatML begin with if a conversation has none.
std::string default_system(std::string_view text) {
  constexpr std::string_view begin = "<|im_start|>system\n", escaped = "<|im_start|>system\\n";
  for (const std::string_view mark : {begin, escaped})
    for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
      const std::string_view rest = text.substr(at + mark.size());
      const std::string_view system = rest.substr(0, rest.find(kEnd));
      if (system.size() < rest.size() && !system.empty() && !has(system, "{") && !has(system, "'"))
        return std::string(system);
    }
  return "";
}

/// The templates of Llama 3.1 and 3.2 begin the system message with this text. The date is their default.
constexpr const char* kDates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

/// Appends pieces of a conversation as tokens.
struct Writer {
  const Tokenizer& tokenizer;
  Example example{};

  void token(int32_t token, bool counts = false) {
    example.tokens.push_back(token);
    example.counts.push_back(counts);
  }
  void token(const char* text) { token(token_for(tokenizer, text)); }
  void text(std::string_view text, bool counts = false) {
    for (const int32_t one : tokenizer.encode(text)) token(one, counts);
  }
};

void check_roles(const std::vector<Message>& messages) {
  if (messages.empty()) fail("chat", "a conversation must have messages, got none.");
  for (const Message& one : messages)
    if (one.role != "system" && one.role != "user" && one.role != "assistant")
      fail("chat", "a role must be system, user or assistant, got ", files::in_quotes(one.role), ".");
}

/// The text after the thoughts of a model that thinks, which its template leaves out of earlier answers.
std::string_view without_thoughts(std::string_view text) {
  const size_t end = text.rfind(kThinkEnd);
  if (end == text.npos) return text;
  text.remove_prefix(end + std::string_view(kThinkEnd).size());
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

std::string_view thoughts_of(std::string_view text) {
  const size_t end = text.find(kThinkEnd);
  if (end == text.npos) return "";
  text = text.substr(0, end);
  const size_t begin = text.rfind("<think>");
  return stripped(begin == text.npos ? text : text.substr(begin + 7), "\n");
}

}  // namespace

Tokenizer with_chat(const Tokenizer& tokenizer) {
  const Tokenizer added = tokenizer.with_special({kStart, kEnd});
  return added.with_chat_template(
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
      "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
      "{% endif %}",
      *added.token_of(kEnd));
}

ChatFormat::ChatFormat(Kind kind, const Tokenizer& tokenizer, std::string system)
    : kind_(kind),
      tokenizer_(tokenizer),
      system_(std::move(system)),
      end_(token_for(tokenizer, kind == Kind::llama3  ? "<|eot_id|>"
                                : kind == Kind::gemma ? "<end_of_turn>"
                                                      : kEnd)) {}

std::optional<ChatFormat> ChatFormat::of(const Tokenizer& tokenizer) {
  const std::string text = tokenizer.chat_template();
  if (text.empty()) {
    if (tokenizer.token_of(kStart) && tokenizer.token_of(kEnd))
      return ChatFormat(Kind::chatml, tokenizer, "");
    return {};
  }
  if (has(text, "<|start_header_id|>"))
    return ChatFormat(Kind::llama3, tokenizer, has(text, "Cutting Knowledge") ? kDates : "");
  if (has(text, "<start_of_turn>")) return ChatFormat(Kind::gemma, tokenizer, "");
  if (has(text, kStart) && has(text, "last_query_index")) return ChatFormat(Kind::qwen3, tokenizer, "");
  if (has(text, kStart) && !has(text, "<think>"))
    return ChatFormat(Kind::chatml, tokenizer, default_system(text));
  fail("chat",
       "the chat template must be that of ChatML, Qwen 3, Llama 3 or Gemma, got another, which begins ",
       files::in_quotes(text.substr(0, 60)), ".");
}

Example ChatFormat::rendered(const std::vector<Message>& messages, bool asks) const {
  check_roles(messages);
  Writer w{tokenizer_};
  size_t first = 0;
  const bool has_system = messages[0].role == "system";
  std::string prefix;  // of the first user's message, for Gemma, which has no system messages
  if (kind_ == Kind::llama3) w.token("<|begin_of_text|>");
  if (kind_ == Kind::gemma) {
    w.token("<bos>");
    if (has_system) prefix = messages[0].content + "\n\n";
    first = has_system ? 1 : 0;
  }
  /// Writes the tokens that begin a turn. Returns the text between them and its content.
  const auto begin = [&](std::string_view role) -> std::string {
    if (kind_ == Kind::llama3) {
      w.token("<|start_header_id|>");
      w.text(role);
      w.token("<|end_header_id|>");
      return "\n\n";
    }
    w.token(kind_ == Kind::gemma ? "<start_of_turn>" : kStart);
    return concat(kind_ == Kind::gemma && role == "assistant" ? "model" : role, "\n");
  };
  const auto end = [&](bool counts) {
    w.token(end_, counts);
    if (kind_ != Kind::llama3) w.text("\n");
  };
  if (!system_.empty() && (!has_system || kind_ == Kind::llama3)) {
    w.text(concat(begin("system"), system_, has_system ? stripped(messages[0].content) : ""));
    end(false);
    first = has_system ? 1 : 0;
  }
  size_t last_question = messages.size();
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == "user") last_question = i;
  for (size_t i = first; i < messages.size(); ++i) {
    const auto& [role, content] = messages[i];
    const bool trims = kind_ == Kind::llama3 || kind_ == Kind::gemma;
    std::string text(trims ? stripped(content) : content);
    std::string before = begin(role);
    if (role != "assistant") {
      w.text(concat(before, prefix, text));
      prefix.clear();
      end(false);
      continue;
    }
    // An answer is encoded apart from what precedes it, as when the model writes it.
    if (kind_ == Kind::qwen3) {
      const std::string_view thoughts = thoughts_of(text);
      const bool thinks = i > last_question && (i + 1 == messages.size() || !thoughts.empty());
      const std::string answer(without_thoughts(text));
      text = thinks && !thoughts.empty() ? concat("<think>\n", thoughts, "\n</think>\n\n", answer) : answer;
      if (thinks && thoughts.empty()) {
        text = answer.substr(std::min(answer.find_first_not_of('\n'), answer.size()));
        before += "<think>\n\n</think>\n\n";
      }
    }
    w.text(before);
    w.text(text, true);
    end(true);
  }
  if (asks) w.text(begin("assistant"));
  return std::move(w.example);
}

Example ChatFormat::example(const std::vector<Message>& messages) const { return rendered(messages, false); }

std::vector<int32_t> ChatFormat::prompt(const std::vector<Message>& messages) const {
  return rendered(messages, true).tokens;
}

// -- files of examples

namespace {

/// An example of one object.
Example example_of(const files::Field& line, const Tokenizer& tokenizer,
                   const std::optional<ChatFormat>& chat) {
  if (line.has("messages")) {
    if (!chat)
      line.at("messages")
          .refuse("needs a tokenizer with a chat template or with the tokens of ChatML, got neither.");
    std::vector<Message> messages;
    for (const files::Field& one : line.at("messages").items())
      messages.push_back({std::string(one.at("role").text()), std::string(one.at("content").text())});
    return chat->example(messages);
  }
  const bool has_prompt = line.has("prompt");
  if (!has_prompt && !line.has("text"))
    fail("examples", "must have messages, prompt and completion, or text.");
  if (has_prompt && chat)
    return chat->example({{"user", std::string(line.at("prompt").text())},
                          {"assistant", std::string(line.at("completion").text())}});
  Writer w{tokenizer};
  w.example = sequence_of(has_prompt ? line.at("prompt").text() : "", tokenizer);
  w.example.counts.assign(w.example.tokens.size(), false);
  w.text(line.at(has_prompt ? "completion" : "text").text(), true);
  if (const std::vector<int32_t> ends = tokenizer.eos(); !ends.empty()) w.token(ends[0], true);
  return std::move(w.example);
}

}  // namespace

std::string Examples::note() const {
  std::string text;
  const auto add = [&](int64_t count, const std::string& what) {
    if (count > 0) text += concat(text.empty() ? "" : "; ", count, " ", what);
  };
  add(bad_lines, "bad lines were skipped");
  add(cut_examples, concat("examples were longer than the context and lost ", cut_tokens, " tokens"));
  add(without_answer, "examples without a token that counts were left out");
  return text;
}

Examples read_examples(std::string_view jsonl, const std::string& file, const Tokenizer& tokenizer,
                       const ExampleRules& rules) {
  return read_examples({Source{file, std::string(jsonl), file}}, tokenizer, rules);
}

Examples read_examples(const std::vector<Source>& sources, const Tokenizer& tokenizer,
                       const ExampleRules& rules) {
  const std::optional<ChatFormat> chat = ChatFormat::of(tokenizer);
  Examples result;
  const auto add = [&](size_t source, const std::string& file, int64_t number, std::string_view object) {
    Example one;
    try {
      const files::Json json(object, "examples", concat(file, ":", number));
      one = example_of(json.root(), tokenizer, chat);
    } catch (const Error& e) {
      if (!rules.skips_bad) {
        if (has(e.what(), concat(file, ":", number))) throw;
        fail("examples", files::plain(file), ":", number, ": ", e.what());
      }
      ++result.bad_lines;
      return;
    }
    if (rules.all_count) std::fill(one.counts.begin(), one.counts.end(), true);
    if (const auto most = static_cast<size_t>(rules.most_tokens); most > 0 && one.tokens.size() > most) {
      result.cut_tokens += static_cast<int64_t>(one.tokens.size() - most);
      ++result.cut_examples;
      one.tokens.resize(most);
      one.counts.resize(most);
    }
    if (one.tokens.size() < 2 ||
        std::find(one.counts.begin() + 1, one.counts.end(), true) == one.counts.end()) {
      ++result.without_answer;
      return;
    }
    result.examples.push_back(std::move(one));
    result.lines.push_back(number);
    result.sources.push_back(source);
  };
  for (size_t i = 0; i < sources.size(); ++i)
    each_object(sources[i], [&](int64_t line, std::string_view object) {
      add(i, sources[i].place(), line, object);
      return true;
    });
  if (result.examples.empty()) {
    const std::string note = result.note();
    fail("examples", files::plain(sources.front().place()),
         " must have an example with an answer within the context, got none", note.empty() ? "" : ": ", note,
         ".");
  }
  return result;
}

}  // namespace gradus::data
