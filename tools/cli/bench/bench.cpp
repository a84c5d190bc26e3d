// gradus bench: measures the speed of steps, and compares it with the limits of the machine and with PyTorch.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/tools/bench/compare.hpp"
#include "gradus/tools/bench/scaling.hpp"
#include "gradus/tools/bench/worker.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/machine.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/plots/svg.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::cli {
namespace {

namespace bench = bench;
using Json = nlohmann::ordered_json;

/// Three significant digits, and all digits before the point.
std::string short_ms(double ms) { return decimals(ms, ms < 1 ? 4 : ms < 10 ? 2 : ms < 100 ? 1 : 0); }

// The names of columns, padded to their widths.
constexpr std::string_view kColumns[] = {"workload", "      ms", "     min", "tokens/s",  "peak MiB",
                                         "floor ms", "of floor", "torch ms", "torch MiB", "faster"};
constexpr size_t kWithoutTorch = 7;
constexpr std::string_view kScalingColumns[] = {"varied",    " size",     " measured",
                                                "predicted", "    floor", "of predicted"};

/// A row of the table in Markdown; all cells except the first are aligned right.
std::string row(std::span<const std::string_view> columns, const std::vector<std::string>& cells) {
  std::string line = "|";
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string cell = i < cells.size() ? cells[i] : "";
    const std::string space(columns[i].size() - std::min(columns[i].size(), cell.size()), ' ');
    line += concat(" ", i == 0 ? cell + space : space + cell, " |");
  }
  return line + "\n";
}

std::string head(std::span<const std::string_view> columns) {
  std::string dashes = "|";
  for (const std::string_view name : columns)
    dashes += concat(" ", std::string(name.size() - 1, '-'), dashes == "|" ? "-" : ":", " |");
  return concat("| ", joined(columns, " | "), " |\n", dashes, "\n");
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

/// Prints the results, as a table in Markdown or as JSON lines.
class BenchReport {
 public:
  explicit BenchReport(bool json) : json_(json) {}

  void begin(const bench::CompareOptions& options) {
    print_machine(options.threads, options.torch ? options.torch->version : "");
    if (json_) return;
    columns_ = std::size(kColumns);
    if (!options.torch) columns_ = kWithoutTorch;
    std::cout << head(std::span(kColumns).first(columns_)) << std::flush;
  }

  void begin_scaling(const bench::CompareOptions& options) {
    print_machine(options.threads, "");
    if (json_) return;
    std::cout << "microseconds a token; predicted: from the floor and the operations outside products\n\n"
              << head(kScalingColumns) << std::flush;
  }

  void add(const bench::ScalingPoint& p) {
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

  void add(const bench::Result& r) {
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

  void end() {
    if (json_) {
      std::cout << Json{{"event", "done"}} << std::endl;
      return;
    }
    std::cout << "\n";
    for (const std::string& note : notes_) std::cout << note << "\n";
    std::cout << std::flush;
  }

 private:
  void print_machine(int threads, const std::string& torch) const {
    const Machine m = this_machine();
    const Peak peak = measure_peak();
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
              << (threads == 1 ? " thread" : " threads") << " used; load before " << decimals(m.load, 1)
              << "; " << m.system << "; " << m.date << "\n"
              << "peak " << decimals(peak.gflops, 0) << " GFLOP/s in float32, "
              << decimals(peak.bf16_gflops, 0) << " in bfloat16 (" << peak.unit << "), "
              << decimals(peak.read_gb_s, 1) << " GB/s read" << (m.units.empty() ? "" : "; has " + m.units)
              << "\n"
              << "gradus " << GRADUS_VERSION << " (" << m.level << ", " << m.compiler << "), " << m.blas
              << (torch.empty() ? "" : ", PyTorch " + torch) << "\n"
              << std::endl;
  }

  bool json_;
  size_t columns_ = 0;              // of the table
  std::vector<std::string> notes_;  // below the table
};

struct BenchFlags {
  std::vector<std::string> workloads;
  int64_t threads = 0;  ///< 0: one per core
  int64_t steps = 0;    ///< 0: by seconds
  double seconds = 5;
  std::string vs, python;
  std::vector<std::string> precisions;
  bool scaling = false, quick = false;
  std::string plot;
  bool json = false;

  std::string worker, shape, weights;  ///< of a worker process
};

void check(const BenchFlags& flags, const CLI::App& verb) {
  const auto given = [&](const char* flag) { return verb.get_option(flag)->count() > 0; };
  if (!(flags.seconds > 0 && flags.seconds < 1e6))
    fail("bench", "--seconds must be above 0 and finite, got ", flags.seconds, ".");
  if (given("--steps") && given("--seconds"))
    fail("bench", "--steps and --seconds must not come together, got both.");
  for (const char* flag : {"--workload", "--steps", "--vs"})
    if (flags.scaling && given(flag))
      fail("bench", "--scaling and ", flag, " must not come together, got both.");
  if (flags.scaling && flags.precisions.size() > 1)
    fail("bench", "--scaling must have one --precision, got ", flags.precisions.size(), ".");
  for (const char* flag : {"--plot", "--quick"})
    if (!flags.scaling && given(flag)) fail("bench", flag, " must come with --scaling, got it alone.");
  for (const std::string& precision : flags.precisions)
    check_choice("bench", "--precision", precision, train::precision_names());
  if (given("--plot")) plots::check_picture_file("bench", "--plot", flags.plot, "name another.");
  if (given("--vs")) check_choice("bench", "--vs", flags.vs, {"torch"});
}

int work(const BenchFlags& flags) {
  const bench::Workload workload = bench::workload_from(flags.shape);
  if (flags.worker == "steps")
    bench::run_steps(workload, flags.weights, std::cin, std::cout);
  else if (flags.worker == "floor")
    bench::run_floor(workload, std::cin, std::cout);
  else
    fail("bench", "--worker must be steps or floor, got '", flags.worker, "'.");
  return kDone;
}

/// The workloads in each precision; with --precision and no names, those that bf16 supports.
std::vector<bench::Workload> chosen(const BenchFlags& flags) {
  const std::vector<bench::Workload> selected = bench::select_workloads(flags.workloads);
  if (flags.precisions.empty()) return selected;
  std::vector<bench::Workload> all;
  for (const bench::Workload& workload : selected) {
    if (flags.workloads.empty() && workload.task == bench::Task::generate) continue;
    for (const std::string& precision : flags.precisions)
      all.push_back(train::precision_from(precision) == DType::bfloat16 ? bench::in_bfloat16(workload)
                                                                        : workload);
  }
  return all;
}

int measure(const BenchFlags& flags) {
  const std::vector<bench::Workload> workloads = chosen(flags);
  bench::CompareOptions options{
      .program = this_program(), .threads = num_threads(), .seconds = flags.seconds, .steps = flags.steps};
  if (!flags.vs.empty()) options.torch = bench::find_torch(flags.python);

  BenchReport report(flags.json);
  report.begin(options);
  for (const bench::Workload& workload : workloads) report.add(bench::compare(workload, options));
  report.end();
  return kDone;
}

int measure_scaling(const BenchFlags& flags, bool seconds_given) {
  const bench::CompareOptions options{.program = this_program(),
                                      .threads = num_threads(),
                                      .rounds = 3,
                                      .seconds = seconds_given ? flags.seconds : 2,
                                      .ops = false,
                                      .float32 = false};
  const DType dtype = flags.precisions.empty() ? DType::float32 : train::precision_from(flags.precisions[0]);
  BenchReport report(flags.json);
  report.begin_scaling(options);
  const std::vector<bench::ScalingPoint> points = bench::measure_scaling(
      options, flags.quick, dtype, [&](const bench::ScalingPoint& point) { report.add(point); });
  if (!flags.plot.empty())
    files::write_atomically(flags.plot, [&](std::ostream& out) { out << bench::scaling_plot(points); });
  report.end();
  return kDone;
}

int bench_verb(const BenchFlags& flags, const CLI::App& verb) {
  check(flags, verb);
  if (flags.threads > 0) set_num_threads(static_cast<int>(flags.threads));
  if (!flags.worker.empty()) return work(flags);
  return flags.scaling ? measure_scaling(flags, verb.get_option("--seconds")->count() > 0) : measure(flags);
}

constexpr const char* kBenchFooter = R"(Workloads: layers, heads, width, block, batch, vocabulary
  W0              1  2  16    8  4     32   all overhead
  W1, W1d         4  4 128   64 12     65   nano; W1d with dropout 0.1
  W2, W2n         6  6 384  256  8     65   dropout 0.2; W2n without
  W3             12 12 768   64  4  50257   GPT-2 124M
  W4-W2n, W4-W3  forward and loss only, without a graph
  W5-W1, W5-W3   greedy generation of 64 tokens; times are per token
  W5-W3h         the same with weights in bfloat16; PyTorch's are in float32
  W5-W3q8, -q4   the same with weights of 8 or 4 bits; without PyTorch
  W6              4  4 128  128 12     65   mini: llama and Muon
  W7              6  4 256  256  8     65   midi: llama and Muon
A step is forward, loss, backward, clipping at 1.0 and AdamW, or in W6 and
W7 the recipe of train's presets. The floor is
the time of its matrix products alone, by BLAS or at nine tenths of the
machine's peak, whichever is less. For W5, it is the time to read all
parameters once. In bf16, it is computed from the peak of the bf16 unit.
The programs take turns, five times each; in bf16, gradus in float32 takes
turns with them. Ratios are medians over the turns.

Examples:
  $ bench --workload W1,W2
  $ bench --vs torch --threads 1
  $ bench --workload W0 --steps 1000 --json
  $ bench --precision bf16 --workload W2n,W3
  $ bench --scaling --plot scaling.svg)";

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const bench::Workload& workload : bench::workloads()) names.push_back(workload.name);
  return names;
}

}  // namespace

Action add_bench(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<BenchFlags>();
  choices(add_value(verb, "--workload", flags->workloads, "W1,...",
                    "Run only these; W4 and W5 select all W4-... and W5-..."),
          workload_names)
      ->delimiter(',');
  add_value(verb, "--threads", flags->threads, "N", "Threads of each program [one per core]", kThreads);
  add_value(verb, "--seconds", flags->seconds, "S", "Measured time of a workload, for each program")
      ->capture_default_str();
  choices(add_value(verb, "--precision", flags->precisions, "NAME,...",
                    "Precision of training: float32, bf16, or both [float32]"),
          train::precision_names)
      ->delimiter(',');
  add_value(verb, "--steps", flags->steps, "N", "Measured steps, instead of seconds", {1, 1'000'000});
  choices(add_value(verb, "--vs", flags->vs, "NAME", "torch: also measure PyTorch, in turns with gradus"),
          [] { return std::vector<std::string>{"torch"}; });
  add_value(verb, "--python", flags->python, "FILE", "Python interpreter with PyTorch [python3]");
  verb.add_flag("--scaling", flags->scaling, "Measure time per token against block, width, layers, batch");
  add_value(verb, "--plot", flags->plot, "FILE", "With --scaling: also plot the times, in SVG");
  verb.add_flag("--quick", flags->quick, "With --scaling: use tiny sizes, to try it out");
  verb.add_flag("--json", flags->json, "Print a JSON line for each workload");
  for (const auto& [name, value] :
       {std::pair{"--worker", &flags->worker}, std::pair{"--shape", &flags->shape},
        std::pair{"--weights", &flags->weights}})
    verb.add_option(name, *value)->group("");  // only for the processes that bench starts
  verb.footer(with_program(kBenchFooter, program));
  return {[&verb, flags] { return bench_verb(*flags, verb); }};
}

}  // namespace gradus::cli
