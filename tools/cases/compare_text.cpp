// Printed tensors, character for character.
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <sstream>

#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/cases/compare.hpp"

namespace gradus::cases {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// The form of a number in a text, and its length there.
struct Token {
  size_t length;
  int decimals = 0;
  bool point = false, scientific = false, boolean = false;
};

size_t digits_at(std::string_view text, size_t i) {
  const size_t start = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  return i - start;
}

// 12, -1.50, 2., 1e-05, inf, nan, True; none if no number starts at i.
std::optional<Token> token_at(std::string_view text, size_t i) {
  const size_t start = i;
  Token token{};
  const auto finish = [&](size_t end) -> std::optional<Token> {
    if (end < text.size() && is_word(text[end])) return {};
    token.length = end - start;
    return token;
  };
  for (const std::string_view word : {"True", "False"})
    if (text.substr(i).starts_with(word)) {
      token.boolean = true;
      return finish(i + word.size());
    }
  if (text[i] == '-') ++i;
  for (const std::string_view word : {"inf", "nan"})
    if (text.substr(i).starts_with(word)) return finish(i + word.size());
  const size_t whole = digits_at(text, i);
  if (whole == 0) return {};
  i += whole;
  if (i < text.size() && text[i] == '.') {
    token.point = true;
    token.decimals = static_cast<int>(digits_at(text, i + 1));
    i += 1 + static_cast<size_t>(token.decimals);
  }
  if (i < text.size() && text[i] == 'e') {
    const size_t sign = i + 1 < text.size() && (text[i + 1] == '-' || text[i + 1] == '+') ? 1 : 0;
    token.scientific = true;
    i += 1 + sign + digits_at(text, i + 1 + sign);
  }
  return finish(i);
}

std::string written(double x, const Token& token) {
  if (token.boolean) return x != 0 ? "True" : "False";
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  const char* format = token.scientific ? "%.*e" : "%.*f";
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, format, token.decimals, x)), '\0');
  std::snprintf(text.data(), text.size() + 1, format, token.decimals, x);
  return text + (token.point && token.decimals == 0 ? "." : "");
}

/// A text whose numbers are replaced by ours in the same form, and how many numbers it has.
struct Filled {
  std::string text;
  size_t numbers = 0;
};

Filled fill(const Tensor& x, const std::string& layout) {
  const auto values = x.to(DType::float64).to_vector<double>();
  Filled filled;
  const size_t bracket = layout.find('[');
  size_t i = bracket == std::string::npos ? 0 : bracket;  // a label comes before it
  filled.text = layout.substr(0, i);
  while (i < layout.size()) {
    const bool may_start = i == 0 || !is_word(layout[i - 1]);
    const auto token = may_start ? token_at(layout, i) : std::nullopt;
    if (!token) {
      filled.text += layout[i++];
      continue;
    }
    if (filled.numbers < values.size()) filled.text += written(values[filled.numbers], *token);
    ++filled.numbers;
    i += token->length;
  }
  return filled;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string first_difference(const std::string& ours, const std::string& theirs) {
  const auto a = lines_of(ours), b = lines_of(theirs);
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  const auto line = [i](const auto& lines) {
    return i < lines.size() ? files::in_quotes(lines[i], 200) : "missing";
  };
  return concat("line ", i + 1, " must be ", line(b), ", got ", line(a));
}

// The text of x in the form of `text`.
Filled printed(const Tensor& x, const std::string& text) {
  const auto with_label = [&](size_t start, const std::string& printed) {
    return Filled{text.substr(0, start) + printed, static_cast<size_t>(x.numel())};
  };
  if (const size_t start = text.find("tensor("); start != std::string::npos)
    return with_label(start, torch_string(x));
  const size_t start = text.find(std::string(static_cast<size_t>(x.dim()), '['));
  if (x.dim() > 0 && start != std::string::npos && text.find(',', start) == std::string::npos)
    return with_label(start, numpy_string(x));
  return fill(x, text);
}

}  // namespace

Verdict compare_text(const Tensor& x, const std::string& text) {
  const Filled ours = printed(x, text);
  const auto count = static_cast<size_t>(x.numel());
  constexpr double kMeaningless = std::numeric_limits<double>::infinity();
  if (ours.numbers != count)
    return {kMeaningless,
            concat("the text must have the ", count, " numbers of ", x.shape(), ", got ", ours.numbers)};
  if (ours.text == text) return {};
  return {kMeaningless, first_difference(ours.text, text)};
}

}  // namespace gradus::cases
