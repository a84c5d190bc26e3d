#include "gradus/tools/bench/compare.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "gradus/autograd/error.hpp"

namespace gradus::bench {
namespace {

using nlohmann::json;

/// The file that carries parameters and batches to the twin; it goes with this.
class WeightsFile {
 public:
  WeightsFile() {
    std::string name = (std::filesystem::temp_directory_path() / "gradus-bench-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw RunError("[bench] the temporary folder must be writable, got an error.");
    folder_ = name;
  }
  ~WeightsFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;
  std::string path() const { return (folder_ / "weights.safetensors").string(); }

 private:
  std::filesystem::path folder_;
};

using Losses = std::vector<double>;

/// The first of each, as many as there are bounds. Throws RunError unless they are so near, relatively.
double apart(const Workload& w, const char* other, const Losses& ours, const Losses& theirs,
             const std::vector<double>& bounds) {
  double worst = ours.size() == theirs.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min({ours.size(), theirs.size(), bounds.size()}); ++i) {
    const double by = std::abs(ours[i] - theirs[i]) / std::abs(theirs[i]);
    worst = by <= bounds[i] ? std::max(worst, by) : INFINITY;
  }
  if (std::isfinite(worst)) return worst;
  throw RunError(concat("[bench] gradus and ", other, " must find the same losses in ", w.name, ", got ",
                        json(ours).dump(), " and ", json(theirs).dump(), "."));
}

bool is_rounded(const Workload& w) { return w.task != Task::generate && w.dtype == DType::bfloat16; }

/// How far PyTorch's first results are from ours. Throws RunError if it computes something else.
double difference(const Workload& w, const std::string& ours, const std::string& theirs) {
  const json a = json::parse(ours), b = json::parse(theirs);
  if (a.contains("tokens") && a.at("tokens") != b.at("tokens"))
    throw RunError(concat("[bench] gradus and PyTorch must write the same tokens in ", w.name, ", got ",
                          a.at("tokens").dump(), " and ", b.at("tokens").dump(), "."));
  // The third loss is that of updated parameters. PyTorch also rounds what products give, to bfloat16, and
  // AdamW's first step takes little more than the gradients' signs: a third loss of its own, 2 % from that
  // which float32 finds.
  const std::vector<double> bounds = is_rounded(w) ? Losses{1e-3, 1e-3} : Losses{1e-4, 1e-4, 1e-3};
  return apart(w, "PyTorch", a.at("losses"), b.at("losses"), bounds);
}

/// Throws RunError if rounding changes what is computed.
void check_rounding(const Workload& w, const std::string& ours, const std::string& unrounded) {
  apart(w, "gradus in float32", json::parse(ours).at("losses"), json::parse(unrounded).at("losses"),
        {1e-3, 1e-3, 1e-2});
}

std::vector<OpTime> op_times(const json& answer) {
  std::vector<OpTime> ops;
  for (const json& op : answer.at("ops")) ops.push_back({op.at("op"), op.at("forward"), op.at("backward")});
  return ops;
}

/// One side's turns, put together.
struct Side {
  std::vector<double> medians;
  double min = INFINITY;

  void add(const Turn& turn) {
    medians.push_back(turn.ms_median);
    min = std::min(min, turn.ms_min);
  }
};

std::vector<double> ratios(const Side& over, const Side& under) {
  std::vector<double> all;
  for (size_t i = 0; i < over.medians.size(); ++i) all.push_back(over.medians[i] / under.medians[i]);
  return all;
}

}  // namespace

Command worker_command(const Workload& w, const std::string& program, int threads, const char* role) {
  return {{program, "bench", "--worker", role, "--shape", to_text(w), "--threads", std::to_string(threads)}};
}

Result compare(const Workload& w, const CompareOptions& options) {
  const bool with_torch = options.torch && !is_in_tiles(w.dtype);
  std::optional<WeightsFile> file = with_torch ? std::make_optional<WeightsFile>() : std::nullopt;
  Command steps_command = worker_command(w, options.program, options.threads, "steps");
  if (file) steps_command.words.insert(steps_command.words.end(), {"--weights", file->path()});
  Contender gradus("gradus", steps_command);
  Contender floor("the floor", worker_command(w, options.program, options.threads, "floor"));
  std::optional<Contender> torch, float32;
  if (is_rounded(w)) {
    Workload plain = w;
    plain.dtype = DType::float32;
    float32.emplace("gradus in float32", worker_command(plain, options.program, options.threads, "steps"));
    check_rounding(w, gradus.greeting(), float32->greeting());
  }
  Result result{.workload = w, .threads = options.threads};
  if (with_torch) {
    torch.emplace("PyTorch", torch_command(*options.torch, w, options.threads, file->path()));
    result.torch.emplace().difference = difference(w, gradus.greeting(), torch->greeting());
    file.reset();
  }

  constexpr double kEver = 1e9;
  const double seconds = options.steps > 0 ? kEver : options.seconds / options.rounds;
  const int64_t steps = options.steps > 0 ? (options.steps + options.rounds - 1) / options.rounds : 1'000'000;
  Side ours, bare, theirs, unrounded;
  for (int round = 0; round < options.rounds; ++round) {
    ours.add(gradus.run(seconds, steps));
    if (float32) unrounded.add(float32->run(seconds, steps));
    if (torch) theirs.add(torch->run(seconds, steps));
    bare.add(floor.run(seconds, steps));
  }

  result.peak_mib = gradus.peak_mib();
  result.ms_median = median(ours.medians);
  result.ms_min = ours.min;
  result.tokens_per_s = 1e3 * static_cast<double>(w.tokens()) / result.ms_median;
  result.floor_ms = median(bare.medians);
  result.floor_ratio = median(ratios(ours, bare));
  if (float32) result.float32_ratio = median(ratios(ours, unrounded));
  if (torch) {
    result.torch->ms_median = median(theirs.medians);
    result.torch->ms_min = theirs.min;
    result.torch->peak_mib = torch->peak_mib();
    result.torch->ratios = ratios(theirs, ours);
    result.torch->ratio = median(result.torch->ratios);
  }
  if (options.ops) {
    const double enough = std::clamp(300.0 / result.ms_median, 1.0, 100.0);  // a third of a second, or a step
    const json answer = json::parse(gradus.ask(concat("ops ", static_cast<int64_t>(enough))));
    result.ops = op_times(answer);
    result.ops_ms = answer.at("ms");
  }
  return result;
}

}  // namespace gradus::bench
