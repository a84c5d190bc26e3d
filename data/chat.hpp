// ChatFormat: how a conversation becomes the tokens that a model was trained with, and examples made of
// conversations. The formats are those of the chat templates of ChatML, Qwen 3, Llama 3 and Gemma; a template
// is recognised by what it contains, and no template is executed. Thread-safe: values do not change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradus/data/dataset.hpp"
#include "gradus/data/text.hpp"
#include "gradus/data/tokenizer.hpp"

namespace gradus::data {

/// A turn of a conversation.
struct Message {
  std::string role;     ///< system, user or assistant
  std::string content;  ///< its text, in which the text of special tokens has no meaning
};

/// The tokenizer with the tokens and the template of ChatML. Throws Error as Tokenizer::with_special() and
/// with_chat_template().
Tokenizer with_chat(const Tokenizer& tokenizer);

class ChatFormat {
 public:
  /// The format of the tokenizer's chat template; without a template, ChatML if the tokenizer has its tokens.
  /// None if it has neither. Throws Error for another template, and if the vocabulary lacks a token of it.
  static std::optional<ChatFormat> of(const Tokenizer& tokenizer);

  /// The tokens of a conversation as one example, in which the answers of the assistant count, with the token
  /// that ends each. Throws Error for an empty conversation and an unknown role.
  Example example(const std::vector<Message>& messages) const;
  /// The tokens after which the model writes an answer. Throws as above.
  std::vector<int32_t> prompt(const std::vector<Message>& messages) const;
  /// The token that ends an answer.
  int32_t end() const { return end_; }

 private:
  enum class Kind : uint8_t { chatml, qwen3, llama3, gemma };
  ChatFormat(Kind kind, const Tokenizer& tokenizer, std::string system);
  Example rendered(const std::vector<Message>& messages, bool asks) const;

  Kind kind_;
  Tokenizer tokenizer_;
  std::string system_;  // ChatML: the default message of the system; Llama 3: what precedes one. May be empty
  int32_t end_;
};

/// Options of read_examples().
struct ExampleRules {
  bool all_count = false;   ///< whether all tokens count, not only those of answers
  bool skips_bad = false;   ///< whether bad lines are counted, not refused
  int64_t most_tokens = 0;  ///< longer examples are cut at their ends
};

/// The examples of files, and what was left out.
struct Examples {
  std::vector<Example> examples;
  std::vector<int64_t> lines;   ///< of the examples in their files, counted from 1
  std::vector<size_t> sources;  ///< the index of the source of each example
  int64_t bad_lines = 0, cut_tokens = 0, cut_examples = 0, without_answer = 0;

  /// One line about what was left out; "" if nothing was.
  std::string note() const;
};

/// The examples of JSON lines (one JSON object on each line) or of a JSON array of such objects: {"messages":
/// [{"role": ..., "content": ...},
/// ...]}, {"prompt": ..., "completion": ...}, which is a question with its answer if the tokenizer has a chat
/// format, else both texts joined, or {"text": ...}, of which all tokens count. Other keys are ignored.
/// Each source is read by itself. Throws Error, naming the file and the line, for an object that is none of
/// these, and if there is no example.
Examples read_examples(const std::vector<Source>& sources, const Tokenizer& tokenizer,
                       const ExampleRules& rules);
/// The same for one text; `file` is for errors.
Examples read_examples(std::string_view jsonl, const std::string& file, const Tokenizer& tokenizer,
                       const ExampleRules& rules);

}  // namespace gradus::data
