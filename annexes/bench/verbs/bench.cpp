// gradus bench: measures the speed of steps, and compares it with the limits of the machine.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gradus/annexes/bench/measure.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/machine.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Three significant digits, and all digits before the point.
std::string short_ms(double ms) { return decimals(ms, ms < 1 ? 4 : ms < 10 ? 2 : ms < 100 ? 1 : 0); }

// The names of columns, padded to their widths.
constexpr std::string_view kColumns[] = {"workload", "      ms", "     min", "tokens/s",
                                         "peak MiB", "floor ms", "of floor"};

/// A row of the table in Markdown; all cells except the first are aligned right.
std::string row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t width = kColumns[i].size();
    const std::string space(width - std::min(width, cells[i].size()), ' ');
    line += concat(" ", i == 0 ? cells[i] + space : space + cells[i], " |");
  }
  return line + "\n";
}

std::string head() {
  std::string dashes = "|";
  for (const std::string_view name : kColumns)
    dashes += concat(" ", std::string(name.size() - 1, '-'), dashes == "|" ? "-" : ":", " |");
  return concat("| ", joined(kColumns, " | "), " |\n", dashes, "\n");
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

Json to_json(const bench::Result& r) {
  Json json{{"event", "workload"},
            {"workload", r.workload.name},
            {"shape", bench::to_text(r.workload)},
            {"threads", num_threads()},
            {"ms_median", r.ms_median},
            {"ms_min", r.ms_min},
            {"tokens_per_s", r.tokens_per_s},
            {"peak_mib", r.peak_mib},
            {"losses", r.losses}};
  const bool reads = r.workload.task == bench::Task::generate;
  json["gemm_floor_ms"] = reads ? Json(nullptr) : Json(r.floor_ms);
  if (reads) json["read_floor_ms"] = r.floor_ms;
  json["floor_ratio"] = r.floor_ratio;
  json["gflop"] = bench::operations(r.workload) / 1e9;
  if (reads) json["tokens"] = r.tokens;
  Json ops = Json::object();
  for (const bench::OpTime& op : r.ops)
    ops[op.op] = {{"forward", op.forward / r.ops_ms}, {"backward", op.backward / r.ops_ms}};
  json["op_shares"] = ops;
  return json;
}

/// Prints the machine, and the head of the table.
void print_machine(bool json) {
  const int threads = num_threads();
  const Machine m = this_machine();
  const Peak peak = measure_peak();
  if (json) {
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
            << "\n\n"
            << head() << std::flush;
}

std::string row_of(const bench::Result& r) {
  const auto whole = [](double value) { return grouped(static_cast<int64_t>(value)); };
  return row({r.workload.name, short_ms(r.ms_median), short_ms(r.ms_min), whole(r.tokens_per_s),
              whole(r.peak_mib), short_ms(r.floor_ms), decimals(r.floor_ratio, 2)});
}

struct BenchFlags {
  std::vector<std::string> workloads;
  int64_t threads = 0;  ///< 0: one per core
  int64_t steps = 0;    ///< 0: by seconds
  double seconds = 5;
  std::vector<std::string> precisions;
  std::string save;
  bool json = false;
  std::vector<std::string> moved;  ///< of flags that are scripts now
};

void check(const BenchFlags& flags, const CLI::App& verb) {
  const auto given = [&](const char* flag) { return verb.get_option(flag)->count() > 0; };
  if (!(flags.seconds > 0 && flags.seconds < 1e6))
    fail("bench", "--seconds must be above 0 and finite, got ", flags.seconds, ".");
  if (given("--steps") && given("--seconds"))
    fail("bench", "--steps and --seconds must not come together, got both.");
  if (given("--vs"))
    fail("bench",
         "PyTorch must be compared by a script, got --vs. Hint: `python3 annexes/bench/compare.py "
         "./gradus W1`, in the folder of the sources.");
  if (given("--scaling") || given("--plot"))
    fail("bench",
         "sizes must be varied in a loop of --workload, got --scaling. Hint: `--workload 'train gpt2 4 4 "
         "256 128 8 256 0 float32'` is one size; `gradus bench --help` says which number is which.");
}

/// The workloads in each precision; with --precision and no names, those that bf16 supports.
std::vector<bench::Workload> chosen(const BenchFlags& flags) {
  const std::vector<bench::Workload> selected = bench::select_workloads(flags.workloads);
  if (flags.precisions.empty()) return selected;
  std::vector<bench::Workload> all;
  for (const bench::Workload& workload : selected) {
    if (flags.workloads.empty() && workload.task == bench::Task::generate) continue;
    for (const std::string& precision : flags.precisions)
      all.push_back(bench::with_precision(workload, train::precision_from(precision)));
  }
  return all;
}

int bench_verb(const BenchFlags& flags, const CLI::App& verb) {
  check(flags, verb);
  if (flags.threads > 0) set_num_threads(static_cast<int>(flags.threads));
  const std::vector<bench::Workload> workloads = chosen(flags);
  if (!flags.save.empty() && workloads.size() != 1)
    fail("bench", "--save must come with one workload, got ", workloads.size(), ".");
  if (!flags.save.empty())
    files::check_replaceable("bench", "--save", flags.save, [](std::string_view text) {
      return text.find(R"({"__metadata__":{"gradus":"bench"})") == 8;  // after the length of the header
    });
  print_machine(flags.json);
  std::string last = flags.json ? "{\"event\":\"done\"}\n" : "\n";
  for (const bench::Workload& workload : workloads) {
    const bench::Result result = bench::measure(workload, {flags.seconds, flags.steps, flags.save});
    std::cout << (flags.json ? to_json(result).dump() + "\n" : row_of(result)) << std::flush;
    if (!flags.json) last += concat(result.workload.name, ": ", shares(result), "\n");
  }
  std::cout << last << std::flush;
  return kDone;
}

constexpr const char* kBenchFooter = R"(Workloads: layers, heads, width, block, batch, vocabulary
  W0              1  2  16    8  4     32   all overhead
  W1, W1d         4  4 128   64 12     65   nano; W1d with dropout 0.1
  W2, W2n         6  6 384  256  8     65   dropout 0.2; W2n without
  W3             12 12 768   64  4  50257   GPT-2 124M
  W4-W2n, W4-W3  forward and loss only, without a graph
  W5-W1, W5-W3   greedy generation of 64 tokens; times are per token
  W5-W3h         the same with weights in bfloat16
  W5-W3q8, -q4   the same with weights of 8 or 4 bits
  W6              4  4 128  128 12     65   mini: llama and Muon
  W7              6  4 256  256  8     65   midi: llama and Muon
A step is forward, loss, backward, clipping at 1.0 and AdamW, or in W6 and
W7 the recipe of train's presets. The floor is
the time of its matrix products alone, by BLAS or at nine tenths of the
machine's peak, whichever is less. For W5, it is the time to read all
parameters once. In bf16, it is computed from the peak of the bf16 unit.
Steps and floor take turns, five times each; `of floor` is the median of the
turns' ratios. Another shape is its task (train, forward, generate),
architecture, layers, heads, width, block, batch, vocabulary, dropout, dtype.

Examples:
  $ bench --workload W1,W2
  $ bench --workload W0 --steps 1000 --json
  $ bench --precision float32,bf16 --workload W2n,W3
  $ bench --workload 'train llama 4 4 128 256 12 65 0 float32')";

std::vector<std::string> workload_names() { return column(bench::workloads(), &bench::Workload::name); }

}  // namespace

Action add_bench(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<BenchFlags>();
  suggest(add_value(verb, "--workload", flags->workloads, "W1,...",
                    "Run only these; W4 and W5 select all W4-... and W5-..."),
          workload_names)
      ->delimiter(',');
  add_value(verb, "--threads", flags->threads, "N", "Threads [one per core]", kThreads);
  add_value(verb, "--seconds", flags->seconds, "S", "Measured time of a workload, and of its floor");
  one_of(verb,
         add_value(verb, "--precision", flags->precisions, "NAME,...",
                   "Precision of training: float32, bf16, or both [float32]"),
         train::precision_names)
      ->delimiter(',');
  add_value(verb, "--steps", flags->steps, "N", "Measured steps, instead of seconds", {1, 1'000'000});
  add_value(verb, "--save", flags->save, "FILE", "Also write the parameters and batches, in safetensors");
  verb.add_flag("--json", flags->json, "Print a JSON line for each workload");
  for (const char* one : {"--vs,--python", "--plot"}) verb.add_option(one, flags->moved)->group("");
  verb.add_flag("--scaling,--quick")->group("");
  verb.footer(with_program(kBenchFooter, program));
  return {[&verb, flags] { return bench_verb(*flags, verb); }};
}

}  // namespace gradus::cli
