#include "gradus/tools/cli/sample/prompt_input.hpp"

#include <iostream>
#include <iterator>
#include <utility>

#include "gradus/data/text.hpp"

namespace gradus::cli {

std::string read_prompt(const std::string& flag, const data::Tokenizer& tokenizer) {
  const bool piped = flag == "-";
  std::string bytes = piped ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : flag;
  std::string prompt =
      clean_prompt(piped ? "the prompt on the standard input" : "--prompt", std::move(bytes), tokenizer);
  if (piped && prompt.ends_with('\n')) prompt.pop_back();
  (void)tokenizer.encode(prompt);
  return prompt;
}

std::string clean_prompt(const std::string& name, std::string bytes, const data::Tokenizer& tokenizer) {
  return data::make_text({{name, std::move(bytes)}}, data::TextRules::of(tokenizer)).text;
}

}  // namespace gradus::cli
