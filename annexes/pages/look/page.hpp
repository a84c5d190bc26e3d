// The page of `gradus look --html`: what a decoder computes for a text. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gradus/annexes/pages/look/look.hpp"

namespace gradus::pages {

struct TextPage {
  std::string title, model;                           ///< the name of the model, and its shape
  std::string file;                                   ///< from which the text was read, or ""
  int64_t token_count = 0, vocab_size = 0;            ///< tokens of the whole text; V
  const look::Look& look;                             ///< with heads; borrowed
  std::function<std::string(int64_t token)> text_of;  ///< the text of a token
};

/// The page. Losses and probabilities are rounded to 7 decimals; differences of losses are float32; weights
/// of attention are rounded to 1/65535, and given for as many of the first tokens as fit into 2 MB.
std::string text_page(const TextPage& page);

}  // namespace gradus::pages
