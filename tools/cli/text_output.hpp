// What people read: notes on the standard error stream, and text as a model writes it.
#pragma once

#include <iosfwd>
#include <string>

#include "gradus/autograd/random.hpp"
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

/// Writes prompt and continuation, each token as it comes. Without a prompt the model begins after a line
/// end, or what its vocabulary has first. Throws Error for a prompt with characters that the vocabulary
/// lacks.
void write_sample(const models::GPT& model, const data::Tokenizer& tokenizer, const std::string& prompt,
                  const models::SampleOptions& options, Generator& generator, std::ostream& out);

}  // namespace gradus::cli
