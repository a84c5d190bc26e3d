// Text for users: messages on the standard error stream, samples, and events for other programs.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/models/generate.hpp"

namespace gradus::cli {

/// A value of nlohmann::json in one line, without LF; bytes that are not UTF-8 become U+FFFD.
template <class Json>
std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Messages on the standard error stream, unless quiet.
class Messages {
 public:
  explicit Messages(bool quiet) : quiet_(quiet) {}
  void line(const std::string& text) const;

 private:
  bool quiet_;
};

/// The sample at the end of a run, on the standard output, or with `json` on the standard error stream.
void write_last_sample(const Messages& messages, bool json, const std::function<void(std::ostream&)>& write);

/// JSON lines on the standard output, one per event. A run continues if they cannot be written.
class EventStream {
 public:
  /// Writes the line. After the first failure it prints a note on standard error and writes nothing more.
  void write(const std::string& line);
  /// Throws RunError, at the end of a run, if lines were lost, unless the reader has closed its end.
  void finish();

 private:
  void check();
  bool lost_ = false, gone_ = false;
};

/// Makes a write to a closed pipe fail instead of ending the program.
void turn_closed_pipes_into_errors();

/// Conditions that end a sample before it has all its tokens, besides the tokens and the strings that
/// end a text (Tokenizer::eos(), stop_strings()), which are not written.
struct TextEnd {
  std::vector<std::string> stop = {};      ///< the sample ends before these strings
  std::function<bool()> interrupted = {};  ///< asked after each token
  std::optional<int32_t> token = {};       ///< ends the sample too, as the end of an answer
};

/// The tokens that a text begins with for a model: Tokenizer::encode_from_start(); of an empty text without a
/// prefix, a line end, or token 0 if the vocabulary has none. Throws Error as encode().
std::vector<int64_t> prompt_tokens(const data::Tokenizer& tokenizer, const std::string& prompt);

/// Writes what the model continues the tokens with, token by token. Returns that text.
std::string write_continuation(const models::Decoder& model, const data::Tokenizer& tokenizer,
                               const std::vector<int64_t>& tokens, const models::SampleOptions& options,
                               Generator& generator, std::ostream& out, const TextEnd& end = {});

/// Writes the prompt and its continuation, token by token. Throws Error for a prompt with characters that the
/// vocabulary lacks, and for an empty stop string.
void write_sample(const models::Decoder& model, const data::Tokenizer& tokenizer, const std::string& prompt,
                  const models::SampleOptions& options, Generator& generator, std::ostream& out,
                  const TextEnd& end = {});

}  // namespace gradus::cli
