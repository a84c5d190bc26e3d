#include "gradus/tools/plots/log_csv.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "gradus/files/error.hpp"
#include "gradus/tools/plots/loss_plot.hpp"

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

std::string csv_rows(const std::string& name, const std::filesystem::path& run) {
  std::string rows;
  read_log(run, [&](const files::Field& record) {
    const std::string_view event = record.at("event").text();
    if (event != "step" && event != "eval") return;
    rows += concat(quoted(name), ",", event);
    for (const char* key : kNumbers) {
      const auto value = record.find(key);
      rows += "," + (value && value->is_number() ? digits(value->number()) : "");
    }
    rows += "\n";
  });
  return rows;
}

}  // namespace gradus::plots
