// ChatFormat: how a conversation becomes the tokens that a model was trained with, and examples made of
// conversations. The formats are the rows of chat_formats.cpp; a chat template is known by its whole text,
// and none is executed. Thread-safe: values do not change.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gradus/data/dataset.hpp"
#include "gradus/data/text.hpp"
#include "gradus/data/tokenizer.hpp"

namespace gradus::data {

/// A turn of a conversation.
struct Message {
  std::string role;                        ///< system, user or assistant
  std::string content;                     ///< its text, in which the text of special tokens has no meaning
  std::optional<std::string> reasoning{};  ///< thoughts before an answer, for qwen3 only
  bool counts = true;                      ///< whether the loss counts an answer
};

/// The tokenizer with the tokens and the template of ChatML. Throws Error as Tokenizer::with_special() and
/// with_chat_template().
Tokenizer with_chat(const Tokenizer& tokenizer);

struct ChatFormatRow;  // data/chat_formats.hpp

/// The names of the formats.
std::vector<std::string> chat_format_names();

class ChatFormat {
 public:
  /// The format `name`, or that of the tokenizer's chat template if it is empty; none without a template.
  /// Throws Error for an unknown name or template, and if the vocabulary lacks a token of the format.
  static std::optional<ChatFormat> of(const Tokenizer& tokenizer, std::string_view name = "");

  /// The tokens of a conversation as one example, in which the answers of the assistant count, with the token
  /// that ends each: those of the template's text. Throws Error for an empty conversation, an unknown role,
  /// and an order of roles that the template refuses.
  Example example(const std::vector<Message>& messages) const;
  /// The tokens after which the model writes an answer. Throws as above.
  std::vector<int32_t> prompt(const std::vector<Message>& messages) const;
  /// The token that ends an answer.
  int32_t end() const { return end_; }

 private:
  class Writer;
  ChatFormat(const ChatFormatRow& row, const Tokenizer& tokenizer);
  void check(const std::vector<Message>& messages) const;
  Example rendered(const std::vector<Message>& messages, bool asks) const;

  const ChatFormatRow* row_;
  Tokenizer tokenizer_;
  std::vector<std::pair<std::string_view, int32_t>> tokens_;  // the special tokens in the texts of the row
  int32_t end_ = 0;
};

/// The objects of sources of examples, before a tokenizer reads them.
struct Records {
  /// The kind of an object. A text is stored as one message with an empty role.
  enum class Kind : uint8_t { text, question, conversation };
  struct Record {
    Kind kind;
    uint32_t source = 0;  ///< the index of its file
    std::vector<Message> messages;
    int64_t line = 0;  ///< where it begins in the file, counted from 1
  };
  std::vector<std::string> files;  ///< for errors
  std::deque<Record> all;
  int64_t bad_lines = 0;  ///< that were skipped
  int64_t line_ends = 0;  ///< CR LF and CR in strings, which became LF
  size_t bytes = 0;       ///< of all strings, each with a line end
};

/// The objects of JSON lines (one JSON object on each line) or of a JSON array of such objects: {"messages":
/// [{"role": ..., "content": ...}, ...]}, {"prompt": ..., "completion": ...}, or {"text": ...}. A message may
/// have a reasoning_content and a weight, 0 or 1. Other keys are refused, unless they are empty or only say
/// where the line is from. Strings are changed as texts are. Each source is read by itself. Throws Error,
/// naming the file and the line, for an object that is none of these, unless `skips_bad`, and if there is
/// none.
Records read_records(const std::vector<Source>& sources, const TextRules& rules, bool skips_bad = false);

/// Their texts, one after another: what a tokenizer is made from.
std::string texts_of(const Records& records);

/// Options of read_examples().
struct ExampleRules {
  std::string chat_format{};  ///< a name for ChatFormat::of()
  bool all_count = false;     ///< whether all tokens count, not only those of answers
  bool skips_bad = false;     ///< whether bad lines are counted, not refused
  int64_t most_tokens = 0;    ///< longer examples are cut at their ends
};

/// The examples of files, and what was left out or changed.
struct Examples {
  ExampleList examples;
  std::vector<int64_t> lines;   ///< of the examples in their files, counted from 1
  std::vector<size_t> sources;  ///< the index of the source of each example
  int64_t bad_lines = 0, cut_tokens = 0, cut_examples = 0, without_answer = 0, line_ends = 0;

  /// One line about that; "" if nothing was.
  std::string note() const;
};

/// The records as tokens. A prompt with its completion is a question with its answer if the tokenizer has a
/// chat format, else both texts joined; of a text, all tokens count. BOS precedes the last two, if the
/// post_processor has one, and an end token follows them. Throws Error, naming the file and the line, for a
/// record that the tokenizer or the format refuses, and if no example is left.
Examples read_examples(const Records& records, const Tokenizer& tokenizer, const ExampleRules& rules);

}  // namespace gradus::data
