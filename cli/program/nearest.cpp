#include "gradus/cli/program/nearest.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

constexpr size_t kLongestTyped = 64;  // The table of distances is quadratic.

/// Insertions, deletions, substitutions and exchanges of neighbours that lead from one word to the other
/// (the optimal string alignment distance).
size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// The word in lower case, without leading dashes, and with - for _.
std::string simplified(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string simple(word);
  for (char& c : simple) c = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return simple;
}

/// Nothing if the words are far apart. A beginning ranks after mistyped words.
std::optional<size_t> distance(std::string_view typed, std::string_view known) {
  const std::string a = simplified(typed), b = simplified(known);
  if (a.empty() || a.size() > kLongestTyped || b.size() > kLongestTyped) return {};
  const size_t count = slips(a, b);
  if (count <= std::clamp<size_t>(a.size() / 3, 1, 3)) return count;
  return a.size() >= 3 && b.starts_with(a) ? std::optional<size_t>(4) : std::nullopt;
}

}  // namespace

std::string nearest(std::string_view typed, const std::vector<std::string>& known) {
  std::map<size_t, std::vector<std::string>> near;
  for (const std::string& word : known)
    if (const std::optional<size_t> far = distance(typed, word)) near[*far].push_back(word);
  return near.empty() || near.begin()->second.size() > 1 ? "" : near.begin()->second.front();
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known,
                         std::string_view more) {
  const std::string word = nearest(typed, known);
  if (word.empty()) return more.empty() ? "" : concat(" Hint: ", more);
  return concat(" Hint: did you mean ", word, "?", more.empty() ? "" : " ", more);
}

void check_choice(std::string_view op, std::string_view flag, std::string_view typed,
                  const std::vector<std::string>& known) {
  if (std::ranges::find(known, typed) != known.end()) return;
  fail(op, flag, " must be ", listed(known), ", got ", files::in_quotes(typed), ".",
       did_you_mean(typed, known));
}

}  // namespace gradus::cli
