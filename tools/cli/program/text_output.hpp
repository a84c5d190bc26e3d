// What people read: notes on the standard error stream, and text as a model writes it.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/models/generate.hpp"

namespace gradus::cli {

/// Lines for people on the standard error stream, or nothing at all.
class People {
 public:
  explicit People(bool quiet) : quiet_(quiet) {}
  void line(const std::string& text) const;

 private:
  bool quiet_;
};

/// What ends a text before it has all its tokens.
struct TextEnd {
  std::vector<std::string> stop = {};      ///< in what the model writes: the text ends before it
  std::function<bool()> interrupted = {};  ///< asked after each token
};

/// Writes prompt and continuation, each token as it comes. Without a prompt the model begins after a line
/// end, or what its vocabulary has first. Throws Error for a prompt with characters that the vocabulary
/// lacks, and for an empty string to stop at.
void write_sample(const models::Decoder& model, const data::Tokenizer& tokenizer, const std::string& prompt,
                  const models::SampleOptions& options, Generator& generator, std::ostream& out,
                  const TextEnd& end = {});

}  // namespace gradus::cli
