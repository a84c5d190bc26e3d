#include "gradus/annexes/formats/foreign/read_rules.hpp"

#include <functional>
#include <map>
#include <stdexcept>

#include "gradus/files/plain.hpp"

namespace gradus::foreign {

using data::pairs::compiled, data::pairs::Normalization, data::pairs::replaced, data::pairs::Rules,
    data::pairs::Split;
using files::Field;

namespace {

constexpr size_t kMostParts = 16;     // of a normalizer, or cuts, each of which takes a part of the stack
constexpr size_t kLongestText = 256;  // bytes of a text that is replaced, or is put before another

/// Throws Error unless the field is one of a list of names.
[[noreturn]] void refuse_name(const Field& name, std::string_view known) {
  name.refuse("must be ", known, ", got ", name.shown(), ".");
}

bool is_on(const Field& object, std::string_view key) {
  const auto flag = object.given(key);
  return flag && flag->flag();
}

Field type_of(const Field& step) {
  if (!step.is_object()) step.refuse("must be an object, got ", step.shown(), ".");
  return step.at("type");
}

/// Calls read(step) for the steps of a member, which may be a Sequence with a list of them, or missing.
void each_step(const Field& root, std::string_view key, std::string_view list,
               const std::function<void(const Field&)>& read) {
  const auto step = root.given(key);
  if (!step) return;
  if (type_of(*step).text() != "Sequence") return read(*step);
  for (const Field& one : step->at(list).items()) read(one);
}

std::string string_pattern(const Field& step) {
  const Field pattern = step.at("pattern");
  if (!pattern.is_object() || !pattern.has("String"))
    pattern.refuse("must be a String, got ", pattern.shown(), ".");
  std::string text(pattern.at("String").text());
  if (text.empty() || text.size() > kLongestText)
    pattern.at("String").refuse("must have 1 to ", kLongestText, " bytes, got ", text.size(), ".");
  return text;
}

Normalization read_normalization(const Field& step) {
  const Field type = type_of(step);
  if (type.text() == "NFC") return {Normalization::Kind::nfc, "", ""};
  if (type.text() == "Prepend")
    return {Normalization::Kind::prepend, "", std::string(step.at("prepend").text())};
  if (type.text() == "Replace")
    return {Normalization::Kind::replace, string_pattern(step), std::string(step.at("content").text())};
  refuse_name(type, "NFC, Prepend, Replace or a Sequence of them");
}

Split with_pattern(Split split, const Field& place) {
  try {
    split.pattern = compiled(split.expression);
  } catch (const std::invalid_argument& e) {
    place.refuse("must be a regular expression, got ", place.shown(), ": ", e.what(), ".");
  }
  return split;
}

Split read_split(const Field& step) {
  using Behavior = Split::Behavior;
  static const std::map<std::string, Behavior> kBehaviors = {
      {"Isolated", Behavior::isolated},
      {"MergedWithPrevious", Behavior::merged_with_previous},
      {"inverted Removed", Behavior::matches}};
  const Field behavior = step.at("behavior"), pattern = step.at("pattern");
  const std::string name = concat(is_on(step, "invert") ? "inverted " : "", behavior.text());
  const auto known = kBehaviors.find(name);
  if (known == kBehaviors.end())
    behavior.refuse("must be Isolated, MergedWithPrevious or, with invert, Removed, got ",
                    files::in_quotes(name), ".");
  const auto expression = pattern.given("Regex");
  if (expression && expression->text().empty()) pattern.refuse("must not be empty.");
  const std::string literal = expression ? "" : replaced(string_pattern(step), "\\E", "\\E\\\\E\\Q");
  return with_pattern(
      {expression ? std::string(expression->text()) : concat("\\Q", literal, "\\E"), known->second}, pattern);
}

/// Adds the cuts of a step. Returns whether it is a ByteLevel.
bool read_words(const Field& step, std::vector<Split>& splits) {
  const Field type = type_of(step);
  if (type.text() == "Split") {
    splits.push_back(read_split(step));
  } else if (type.text() == "Digits") {
    splits.push_back(with_pattern({is_on(step, "individual_digits") ? "\\p{N}" : "\\p{N}+"}, step));
  } else if (type.text() == "ByteLevel") {
    must_be_off(step, "add_prefix_space");
    const auto words = step.given("use_regex");
    if (!words || words->flag()) splits.emplace_back();
    return true;
  } else {
    refuse_name(type, "Split, Digits, ByteLevel or a Sequence of them");
  }
  return false;
}

/// Throws Error for decoders that do not give the texts of tokens. Returns what a space is in them.
std::string read_decoder(const Field& root, bool of_characters) {
  std::string space;
  each_step(root, "decoder", "decoders", [&](const Field& step) {
    const Field type = type_of(step);
    if (!of_characters) {
      if (type.text() != "ByteLevel") refuse_name(type, "ByteLevel");
    } else if (type.text() == "Replace") {
      space = string_pattern(step);
      const Field content = step.at("content");
      if (content.text() != " ") content.refuse("must be a space, got ", content.shown(), ".");
    } else if (type.text() != "ByteFallback" && type.text() != "Fuse" && type.text() != "Strip") {
      refuse_name(type, "Replace, ByteFallback, Fuse, Strip or a Sequence of them");
    }
  });
  return space;
}

}  // namespace

bool is_of_characters_only(const Field& root) {
  return !root.given("pre_tokenizer") && !root.given("normalizer") &&
         !is_on(root.at("model"), "byte_fallback");
}

Rules read_rules(const Field& root) {
  const Field model = root.at("model");
  Rules rules{.splits = {}};
  bool of_bytes = false;
  each_step(root, "normalizer", "normalizers", [&](const Field& step) {
    if (rules.normalizer.size() == kMostParts) step.refuse("must be one of at most ", kMostParts, " steps.");
    rules.normalizer.push_back(read_normalization(step));
  });
  each_step(root, "pre_tokenizer", "pretokenizers", [&](const Field& step) {
    if (of_bytes) step.refuse("must not follow a ByteLevel, which comes last.");
    if (rules.splits.size() == kMostParts) step.refuse("must be one of at most ", kMostParts, " steps.");
    of_bytes = read_words(step, rules.splits);
  });
  rules.of_characters = is_on(model, "byte_fallback");
  if (of_bytes == rules.of_characters)
    model.refuse("must have either byte_fallback or a ByteLevel before it, got ",
                 of_bytes ? "both." : "neither.");
  rules.ignore_merges = is_on(model, "ignore_merges");
  rules.space = read_decoder(root, rules.of_characters);
  return rules;
}

Template read_template(const Field& root, int64_t tokens) {
  Template result;
  size_t count = 0;
  each_step(root, "post_processor", "processors", [&](const Field& step) {
    const Field type = type_of(step);
    if (type.text() == "ByteLevel") return;
    if (type.text() != "TemplateProcessing")
      refuse_name(type, "ByteLevel, TemplateProcessing or a Sequence of them");
    std::vector<int32_t>* place = &result.prefix;
    for (const Field& piece : step.at("single").items()) {
      if (++count > kMostParts) piece.refuse("must be one of at most ", kMostParts, " pieces.");
      if (piece.has("Sequence")) {
        if (place == &result.suffix) piece.refuse("must be the only Sequence.");
        place = &result.suffix;
        continue;
      }
      const Field special = step.at("special_tokens").at(piece.at("SpecialToken").at("id").text());
      for (const Field& token : special.at("ids").items()) {
        place->push_back(static_cast<int32_t>(token.integer(0, tokens - 1)));
        if (place->size() > kMostParts) token.refuse("must be one of at most ", kMostParts, " tokens.");
      }
    }
    if (place == &result.prefix) step.at("single").refuse("must have the Sequence of the text.");
  });
  return result;
}

}  // namespace gradus::foreign
