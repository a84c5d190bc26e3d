#include "gradus/data/stories.hpp"

#include "gradus/data/grammar.hpp"

namespace gradus::data {
namespace {

const Grammar& grammar() {
  static const Grammar stories(stories_rules());
  return stories;
}

}  // namespace

std::string write_stories(uint64_t seed, size_t min_bytes) {
  Generator generator(seed);
  std::string text;
  text.reserve(min_bytes + 4096);
  while (text.size() < min_bytes) text += grammar().write(generator);
  return text;
}

double stories_entropy() { return grammar().entropy() / grammar().mean_size(); }

}  // namespace gradus::data
