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

Records::Record record_of(const files::Field& line) {
  const auto text = [&](const char* key) { return std::string(line.at(key).text()); };
  if (line.given("messages")) {
    check_members(line, {"messages"});
    std::vector<Message> messages;
    for (const files::Field& one : line.at("messages").items()) messages.push_back(message_of(one));
    return {.kind = Records::Kind::conversation, .messages = std::move(messages)};
  }
  if (line.given("prompt")) {
    check_members(line, {"prompt", "completion"});
    return {.kind = Records::Kind::question,
            .messages = {{"user", text("prompt")}, {"assistant", text("completion")}}};
  }
  if (!line.has("text")) line.refuse("must have messages, prompt and completion, or text.");
  check_members(line, {"text"});
  return {.kind = Records::Kind::text, .messages = {{"", text("text")}}};
}

/// The example of a record without a chat format.
Example joined_example(const std::vector<Message>& messages, const Tokenizer& tokenizer) {
  Example example{.tokens = tokenizer.encode_from_start(messages.size() > 1 ? messages[0].content : ""),
                  .counts = {}};
  example.counts.assign(example.tokens.size(), false);
  const auto add = [&](const std::vector<int32_t>& tokens) {
    example.tokens.insert(example.tokens.end(), tokens.begin(), tokens.end());
    example.counts.resize(example.tokens.size(), true);
  };
  add(tokenizer.encode(messages.back().content));
  if (const std::vector<int32_t> ends = tokenizer.eos(); !ends.empty()) add({ends[0]});
  return example;
}

}  // namespace

std::string Examples::note() const {
  return counts_note(
      {{bad_lines, "bad lines were skipped"},
       {cut_examples, concat("examples were longer than the context and lost ", cut_tokens, " tokens")},
       {without_answer, "examples without a token that counts were left out"},
       {line_ends, kLineEnds}});
}

Records read_records(const std::vector<Source>& sources, const TextRules& rules, bool skips_bad) {
  Records result;
  for (const Source& source : sources) {
    const std::string place = concat(source.place(), ":");
    each_object(source, [&](int64_t line, std::string_view object) {
      try {
        const files::Json json(object, "examples", place + std::to_string(line), line);
        Records::Record& record = result.all.emplace_back(record_of(json.root()));
        record.source = static_cast<uint32_t>(result.files.size());
        record.line = line;
        for (Message& message : record.messages) {
          result.line_ends += rules.unify_line_ends(message.content);
          if (message.reasoning) result.line_ends += rules.unify_line_ends(*message.reasoning);
          result.bytes += message.content.size() + (message.reasoning ? message.reasoning->size() : 0) + 2;
        }
      } catch (const Error&) {
        if (!skips_bad) throw;
        ++result.bad_lines;
      }
      return true;
    });
    result.files.push_back(source.place());
  }
  if (result.all.empty())
    fail("examples", files::plain(sources.front().place()), " must have an example, got none",
         result.bad_lines > 0 ? concat(" but ", result.bad_lines, " bad lines.") : ".");
  return result;
}

std::string texts_of(const Records& records) {
  std::string texts = "system\nuser\nassistant\n";
  texts.reserve(texts.size() + records.bytes);
  for (const Records::Record& record : records.all)
    for (const Message& message : record.messages) {
      if (message.reasoning) texts.append(*message.reasoning).append("\n");
      texts.append(message.content).append("\n");
    }
  return texts;
}

Examples read_examples(const Records& records, const Tokenizer& tokenizer, const ExampleRules& rules) {
  Examples result;
  result.bad_lines = records.bad_lines;
  result.line_ends = records.line_ends;
  result.lines.reserve(records.all.size());
  result.sources.reserve(records.all.size());
  const auto place = [&](const Records::Record& record) {
    return concat(files::plain(records.files[record.source]), ":", record.line);
  };
  std::optional<ChatFormat> chat;
  const auto is_text = [](const Records::Record& record) { return record.kind == Records::Kind::text; };
  if (!std::ranges::all_of(records.all, is_text)) chat = ChatFormat::of(tokenizer, rules.chat_format);
  for (const Records::Record& record : records.all) {
    if (record.kind == Records::Kind::conversation && !chat)
      fail("examples", place(record),
           ": messages needs a tokenizer with a chat template, got none. Hint: ", Option{"chat-format"},
           " chooses a format: ", listed(chat_format_names()), ".");
    Example one;
    try {
      one = chat && !is_text(record) ? chat->example(record.messages)
                                     : joined_example(record.messages, tokenizer);
    } catch (const Error& e) {
      if (!rules.skips_bad) fail("examples", place(record), ": ", files::without_op(e.what()));
      ++result.bad_lines;
      continue;
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
      continue;
    }
    result.examples.add(one);
    result.lines.push_back(record.line);
    result.sources.push_back(record.source);
  }
  if (result.examples.empty()) {
    const std::string note = result.note();
    fail("examples", files::plain(records.files.front()),
         " must have an example with an answer within the context, got none", note.empty() ? "" : ": ", note,
         ".");
  }
  return result;
}

}  // namespace gradus::data
