// Examples from JSONL: which members a line may have, and what they mean.
#include <algorithm>
#include <span>

#include "gradus/data/chat.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::data {
namespace {

// Members that say nothing about what the model learns.
constexpr files::Harmless kOfLines[] = {
    {"id idx index uuid prompt_id conversation_id ", "names the line"},
    {"source dataset origin url ", "says where the line is from"},
    {"author license date timestamp ", "says who wrote it, when, and who may use it"},
    {"language lang category topic tags title metadata meta ", "describes the text"},
};
constexpr files::Harmless kOfMessages[] = {{"id ", "names the message"},
                                           {"date timestamp ", "says when it was written"}};

void check_members(const files::Field& object, std::initializer_list<std::string_view> known,
                   std::span<const files::Harmless> harmless = kOfLines) {
  files::check_members(object, {known.begin(), known.size()}, harmless);
}

Message message_of(const files::Field& one) {
  check_members(one, {"role", "content", "reasoning_content", "weight"}, kOfMessages);
  Message message{std::string(one.at("role").text()), std::string(one.at("content").text())};
  if (const auto reasoning = one.given("reasoning_content")) message.reasoning = reasoning->text();
  if (const auto weight = one.given("weight")) {
    message.counts = weight->integer(0, 1) == 1;
    if (message.counts && message.role != "assistant")
      weight->refuse("must be 0, or of an answer, got 1 for ", files::in_quotes(message.role), ".");
  }
  return message;
}

/// An example of one object. `chat` gives the format, which a {"text"} does not need.
template <class Format>
Example example_of(const files::Field& line, const Tokenizer& tokenizer, Format&& chat) {
  if (line.has("messages")) {
    check_members(line, {"messages"});
    const std::optional<ChatFormat>& format = chat();
    if (!format)
      line.at("messages")
          .refuse("needs a tokenizer with a chat template, got none. Hint: ", Option{"chat-format"},
                  " chooses a format: ", listed(chat_format_names()), ".");
    std::vector<Message> messages;
    for (const files::Field& one : line.at("messages").items()) messages.push_back(message_of(one));
    return format->example(messages);
  }
  const bool has_prompt = line.has("prompt");
  if (!has_prompt && !line.has("text"))
    fail("examples", "must have messages, prompt and completion, or text.");
  has_prompt ? check_members(line, {"prompt", "completion"}) : check_members(line, {"text"});
  if (has_prompt && chat())
    return chat()->example({{"user", std::string(line.at("prompt").text())},
                            {"assistant", std::string(line.at("completion").text())}});
  Example example{.tokens = tokenizer.encode_from_start(has_prompt ? line.at("prompt").text() : ""),
                  .counts = {}};
  example.counts.assign(example.tokens.size(), false);
  const auto add = [&](const std::vector<int32_t>& tokens, bool counts) {
    example.tokens.insert(example.tokens.end(), tokens.begin(), tokens.end());
    example.counts.resize(example.tokens.size(), counts);
  };
  add(tokenizer.encode(line.at(has_prompt ? "completion" : "text").text()), true);
  if (const std::vector<int32_t> ends = tokenizer.eos(); !ends.empty()) add({ends[0]}, true);
  return example;
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
  std::optional<std::optional<ChatFormat>> chat;  // none until an object needs it
  bool chooses = false;
  const auto format = [&]() -> const std::optional<ChatFormat>& {
    chooses = true;
    if (!chat) chat = ChatFormat::of(tokenizer, rules.chat_format);
    chooses = false;
    return *chat;
  };
  Examples result;
  const auto add = [&](size_t source, const std::string& file, int64_t number, std::string_view object) {
    Example one;
    try {
      const files::Json json(object, "examples", concat(file, ":", number));
      one = example_of(json.root(), tokenizer, format);
    } catch (const Error& e) {
      if (chooses) throw;
      if (!rules.skips_bad) {
        if (std::string_view(e.what()).find(concat(file, ":", number)) != std::string_view::npos) throw;
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
    result.examples.add(one);
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
