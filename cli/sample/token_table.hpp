// gradus eval --tokens: the probability of each token of a text, and of the next.
#pragma once

#include "gradus/data/text.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli {

struct TokenTable {
  int64_t top = 10;   ///< how many of the most likely tokens
  bool all = false;   ///< after each token, not only at the end
  bool json = false;  ///< one object instead of lines
};

/// Prints a line or an object for each token of the text, and the most likely next ones, loss and perplexity.
void print_tokens(const train::TrainedModel& trained, const data::Example& text, const TokenTable& how);

}  // namespace gradus::cli
