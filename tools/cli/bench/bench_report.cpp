#include "gradus/tools/cli/bench/bench_report.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/terminal.hpp"

namespace gradus::cli {
namespace {

namespace bench = bench;
using Json = nlohmann::ordered_json;

/// Three significant digits, and all digits before the point.
std::string short_ms(double ms) { return decimals(ms, ms < 1 ? 4 : ms < 10 ? 2 : ms < 100 ? 1 : 0); }

struct Column {
  const char* name;
  size_t width;
};
constexpr Column kColumns[] = {{"workload", 8},  {"ms", 8},       {"min", 8},      {"tokens/s", 8},
                               {"peak MiB", 8},  {"floor ms", 8}, {"of floor", 8}, {"torch ms", 8},
                               {"torch MiB", 9}, {"faster", 6}};
constexpr size_t kWithoutTorch = 7;
constexpr Column kScalingColumns[] = {{"varied", 6},    {"size", 5},  {"measured", 9},
                                      {"predicted", 9}, {"floor", 9}, {"of predicted", 12}};

/// A row of the table in Markdown; all cells but the first are aligned right.
std::string row(std::span<const Column> columns, const std::vector<std::string>& cells) {
  std::string line = "|";
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string cell = i < cells.size() ? cells[i] : "";
    const std::string space(columns[i].width - std::min(columns[i].width, cell.size()), ' ');
    line += concat(" ", i == 0 ? cell + space : space + cell, " |");
  }
  return line + "\n";
}

std::string head(std::span<const Column> columns) {
  std::vector<std::string> names, dashes;
  for (const auto& [name, width] : columns) {
    names.emplace_back(name);
    dashes.push_back(dashes.empty() ? std::string(width, '-') : std::string(width - 1, '-') + ":");
  }
  return row(columns, names) + row(columns, dashes);
}

/// The most expensive ops, and the sum of the others: "linear 41 + 22 %, gelu 5 + 6 %, ...".
std::string shares(const bench::Result& r) {
  constexpr size_t kShown = 6;
  std::string text;
  double rest = r.ops_ms;
  for (size_t i = 0; i < std::min(kShown, r.ops.size()); ++i) {
    const bench::OpTime& op = r.ops[i];
    const auto percent = [&](double ms) { return decimals(100 * ms / r.ops_ms, 0); };
    text += concat(text.empty() ? "" : ", ", op.op, " ", percent(op.forward),
                   op.backward > 0 ? concat(" + ", percent(op.backward)) : "", " %");
    rest -= op.forward + op.backward;
  }
  return concat(text, ", other ", decimals(100 * rest / r.ops_ms, 0), " %");
}

std::string torch_note(const bench::Result& r) {
  std::string pairs;
  for (const double ratio : r.torch->ratios) pairs += concat(" ", decimals(ratio, 2));
  return concat(r.workload.name, ": torch over gradus", pairs, "; same loss, ", std::scientific,
                std::setprecision(0), r.torch->difference, " apart",
                r.workload.task == bench::Task::generate ? "; same tokens" : "");
}

Json to_json(const bench::Result& r) {
  Json json{{"event", "workload"},      {"workload", r.workload.name}, {"threads", r.threads},
            {"ms_median", r.ms_median}, {"ms_min", r.ms_min},          {"tokens_per_s", r.tokens_per_s},
            {"peak_mib", r.peak_mib}};
  const bool reads = r.workload.task == bench::Task::generate;
  json["gemm_floor_ms"] = reads ? Json(nullptr) : Json(r.floor_ms);
  if (reads) json["read_floor_ms"] = r.floor_ms;
  json["floor_ratio"] = r.floor_ratio;
  json["gflop"] = bench::operations(r.workload) / 1e9;
  if (r.float32_ratio > 0) json["float32_ratio"] = r.float32_ratio;
  Json ops = Json::object();
  for (const bench::OpTime& op : r.ops)
    ops[op.op] = {{"forward", op.forward / r.ops_ms}, {"backward", op.backward / r.ops_ms}};
  json["op_shares"] = ops;
  if (r.torch)
    json["torch"] = {{"ms_median", r.torch->ms_median}, {"ms_min", r.torch->ms_min},
                     {"peak_mib", r.torch->peak_mib},   {"ratio", r.torch->ratio},
                     {"ratios", r.torch->ratios},       {"difference", r.torch->difference}};
  return json;
}

}  // namespace

void BenchReport::print_machine(const Machine& m, const Peak& peak, int threads,
                                const std::string& torch) const {
  if (json_) {
    std::cout << Json{{"event", "machine"},
                      {"cpu", m.cpu},
                      {"cores", m.cores},
                      {"load", m.load},
                      {"date", m.date},
                      {"system", m.system},
                      {"gradus", GRADUS_VERSION},
                      {"level", m.level},
                      {"compiler", m.compiler},
                      {"blas", m.blas},
                      {"units", m.units},
                      {"peak_gflops", peak.gflops},
                      {"unit", peak.unit},
                      {"bf16_gflops", peak.bf16_gflops},
                      {"read_gb_s", peak.read_gb_s},
                      {"torch", torch.empty() ? Json(nullptr) : Json(torch)},
                      {"threads", threads}}
              << std::endl;
    return;
  }
  std::cout << m.cpu << ", " << m.cores << (m.cores == 1 ? " core, " : " cores, ") << threads
            << (threads == 1 ? " thread" : " threads") << " used; load before " << decimals(m.load, 1) << "; "
            << m.system << "; " << m.date << "\n"
            << "peak " << decimals(peak.gflops, 0) << " GFLOP/s in float32, " << decimals(peak.bf16_gflops, 0)
            << " in bfloat16 (" << peak.unit << "), " << decimals(peak.read_gb_s, 1) << " GB/s read"
            << (m.units.empty() ? "" : "; has " + m.units) << "\n"
            << "gradus " << GRADUS_VERSION << " (" << m.level << ", " << m.compiler << "), " << m.blas
            << (torch.empty() ? "" : ", PyTorch " + torch) << "\n"
            << std::endl;
}

void BenchReport::begin(const Machine& machine, const Peak& peak, const bench::CompareOptions& options) {
  print_machine(machine, peak, options.threads, options.torch ? options.torch->version : "");
  if (json_) return;
  columns_ = std::size(kColumns);
  if (!options.torch) columns_ = kWithoutTorch;
  std::cout << head(std::span(kColumns).first(columns_)) << std::flush;
}

void BenchReport::begin_scaling(const Machine& machine, const Peak& peak,
                                const bench::CompareOptions& options) {
  print_machine(machine, peak, options.threads, "");
  if (json_) return;
  std::cout << "microseconds a token; predicted: from the floor and the operations outside products\n\n"
            << head(kScalingColumns) << std::flush;
}

void BenchReport::add(const bench::ScalingPoint& p) {
  const double us = 1e3 / static_cast<double>(p.workload.tokens());
  if (json_) {
    std::cout << Json{{"event", "point"},
                      {"varied", p.varied},
                      {"value", p.value},
                      {"us_per_token", us * p.ms},
                      {"predicted_us_per_token", us * p.predicted_ms},
                      {"floor_us_per_token", us * p.floor_ms},
                      {"gflop", bench::operations(p.workload) / 1e9},
                      {"over_predicted", p.over_predicted()},
                      {"slow", p.slow()}}
              << std::endl;
    return;
  }
  std::cout << row(kScalingColumns, {p.varied, std::to_string(p.value), decimals(us * p.ms, 3),
                                     decimals(us * p.predicted_ms, 3), decimals(us * p.floor_ms, 3),
                                     decimals(p.over_predicted(), 2) + (p.slow() ? " SLOW" : "")})
            << std::flush;
  if (p.slow())
    notes_.push_back(concat(p.varied, " ", p.value, ": slower than its operations predict by more than ",
                            decimals(100 * (bench::kSlow - 1), 0), " %"));
}

void BenchReport::add(const bench::Result& r) {
  if (json_) {
    std::cout << to_json(r) << std::endl;
    return;
  }
  const auto whole = [](double value) { return grouped(static_cast<int64_t>(value)); };
  std::vector<std::string> cells{r.workload.name,           short_ms(r.ms_median), short_ms(r.ms_min),
                                 whole(r.tokens_per_s),     whole(r.peak_mib),     short_ms(r.floor_ms),
                                 decimals(r.floor_ratio, 2)};
  if (r.torch) {
    cells.insert(cells.end(),
                 {short_ms(r.torch->ms_median), whole(r.torch->peak_mib), decimals(r.torch->ratio, 2)});
    notes_.push_back(torch_note(r));
  }
  std::cout << row(std::span(kColumns).first(columns_), cells) << std::flush;
  notes_.push_back(
      concat(r.workload.name, ": ", shares(r),
             r.float32_ratio > 0 ? concat("; ", decimals(r.float32_ratio, 2), " of float32") : ""));
}

void BenchReport::end() {
  if (json_) {
    std::cout << Json{{"event", "done"}} << std::endl;
    return;
  }
  std::cout << "\n";
  for (const std::string& note : notes_) std::cout << note << "\n";
  std::cout << std::flush;
}

}  // namespace gradus::cli
