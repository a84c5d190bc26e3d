#include "gradus/tools/plots/log_csv.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "gradus/files/error.hpp"

namespace gradus::plots {
namespace {

constexpr std::array kNumbers = {"step", "elapsed_s", "loss", "val_loss", "lr", "grad_norm", "tokens_per_s"};

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"") == text.npos) return text;
  std::string quoted;
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return "\"" + quoted + "\"";
}

/// The shortest text that is read back as the same number; a whole number without an exponent.
std::string digits(double value) {
  if (value == std::trunc(value) && std::fabs(value) < 0x1p53) return concat(static_cast<int64_t>(value));
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.begin(), buffer.end(), value).ptr};
}

}  // namespace

std::string csv_header() {
  std::string line = "run,event";
  for (const char* name : kNumbers) line += concat(",", name);
  return line + "\n";
}

std::string csv_rows(const std::string& name, const pages::LoggedRun& run) {
  std::string rows;
  const auto add = [&](const char* event, const pages::Columns& columns) {
    const size_t count = columns.empty() ? 0 : columns.at("step").size();
    for (size_t i = 0; i < count; ++i) {
      rows += concat(quoted(name), ",", event);
      for (const char* key : kNumbers) {
        const auto values = columns.find(key);
        rows +=
            "," + (values == columns.end() || std::isnan(values->second[i]) ? "" : digits(values->second[i]));
      }
      rows += "\n";
    }
  };
  add("step", run.steps());
  add("eval", run.evaluations());
  return rows;
}

}  // namespace gradus::plots
