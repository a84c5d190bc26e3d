#include "gradus/tools/bench/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>

#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/temporary_folder.hpp"
#include "gradus/tools/embedded.hpp"

namespace gradus::bench {
namespace {

using Losses = std::vector<double>;

/// A list of numbers in a worker's answer; empty if the answer lacks it.
std::vector<double> numbers(const std::string& answer, const char* key) {
  const files::Json json(answer, "bench", "a worker's answer");
  std::vector<double> all;
  if (json.root().has(key))
    for (const files::Field& item : json.root().at(key).items()) all.push_back(item.number());
  return all;
}

std::string shown(const std::vector<double>& all) {
  return concat("[", joined(all, ", ", [](double x) { return concat(std::setprecision(17), x); }), "]");
}

/// The largest relative difference of the first losses, as many as there are bounds. Throws RunError if one
/// is larger than its bound.
double difference(const Workload& w, const char* other, const Losses& ours, const Losses& theirs,
                  const std::vector<double>& bounds) {
  double worst = ours.size() == theirs.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min({ours.size(), theirs.size(), bounds.size()}); ++i) {
    const double by = std::abs(ours[i] - theirs[i]) / std::abs(theirs[i]);
    worst = by <= bounds[i] ? std::max(worst, by) : INFINITY;
  }
  if (std::isfinite(worst)) return worst;
  throw RunError("[bench] gradus and ", other, " must find the same losses in ", w.name, ", got ",
                 shown(ours), " and ", shown(theirs), ".");
}

bool is_rounded(const Workload& w) { return w.task != Task::generate && w.dtype == DType::bfloat16; }

/// The difference of PyTorch's first losses from ours. Throws RunError if PyTorch's results differ.
double torch_difference(const Workload& w, const std::string& ours, const std::string& theirs) {
  const auto a = numbers(ours, "tokens"), b = numbers(theirs, "tokens");
  if (a != b)
    throw RunError("[bench] gradus and PyTorch must write the same tokens in ", w.name, ", got ", shown(a),
                   " and ", shown(b), ".");
  // The third loss is that of updated parameters. In bfloat16 it is not compared: PyTorch also rounds the
  // results of products, and AdamW's first step uses little more than the signs of the gradients, so that
  // PyTorch's third loss differs by 2 % from the one in float32.
  const std::vector<double> bounds = is_rounded(w) ? Losses{1e-3, 1e-3} : Losses{1e-4, 1e-4, 1e-3};
  return difference(w, "PyTorch", numbers(ours, "losses"), numbers(theirs, "losses"), bounds);
}

/// The turns of one side.
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

Torch find_torch(const std::string& python) {
  std::vector<std::string> candidates{python};
  if (python.empty()) candidates = {"python3", "/usr/bin/python3"};
  for (const std::string& candidate : candidates) {
    const auto [text, code] =
        output_of({{candidate, "-c",
                    "import importlib.util as u, sys; sys.exit(9) if not u.find_spec('torch') else 0\n"
                    "import torch; print('torch', torch.__version__)"}});
    if (code == 0 && text.starts_with("torch ")) return {candidate, text.substr(6, text.find('\n') - 6)};
  }
  fail("bench", "--vs torch needs a Python with PyTorch, got none as ", joined(candidates, " or "),
       ". Hint: install it (Debian: python3-torch), or name a Python by --python.");
}

Command torch_command(const Torch& torch, const Workload& workload, int threads, const std::string& weights) {
  const std::string count = std::to_string(threads);
  Command command{{torch.python, "-c", std::string(tools::embedded_file("bench/torch_twin.py")),
                   to_text(workload), count, weights},
                  {{"OMP_NUM_THREADS", count}, {"OPENBLAS_NUM_THREADS", count}}};
  std::vector<std::pair<std::string, std::string>> wishes = {{"OPENBLAS_CORETYPE", kernels::blas_kernels()},
                                                             {"MALLOC_MMAP_THRESHOLD_", "4294967296"},
                                                             {"MALLOC_TRIM_THRESHOLD_", "8589934592"},
                                                             {"MALLOC_TOP_PAD_", "268435456"}};
  if (kernels::isa_name(kernels::available_isas().front()) == "v4")
    wishes.emplace_back("ATEN_CPU_CAPABILITY", "avx512");
  for (const auto& wish : wishes)
    if (!wish.second.empty() && !std::getenv(wish.first.c_str())) command.environment.push_back(wish);
  return command;
}

Command worker_command(const Workload& w, const CompareOptions& options, const char* role) {
  return {{options.program, "bench", "--worker", role, "--shape", to_text(w), "--threads",
           std::to_string(options.threads)}};
}

Result compare(const Workload& w, const CompareOptions& options) {
  const bool with_torch = options.torch && !is_in_tiles(w.dtype);
  std::optional<files::TemporaryFolder> folder;  // for the parameters and batches of the PyTorch twin
  std::string weights;
  if (with_torch) weights = folder.emplace() / "weights.safetensors";
  Command steps_command = worker_command(w, options, "steps");
  if (with_torch) steps_command.words.insert(steps_command.words.end(), {"--weights", weights});
  Contender gradus("gradus", steps_command);
  Contender floor("the floor", worker_command(w, options, "floor"));
  std::optional<Contender> torch, float32;
  if (is_rounded(w) && options.float32) {
    Workload plain = w;
    plain.dtype = DType::float32;
    float32.emplace("gradus in float32", worker_command(plain, options, "steps"));
    difference(w, "gradus in float32", numbers(gradus.greeting(), "losses"),
               numbers(float32->greeting(), "losses"), {1e-3, 1e-3, 1e-2});
  }
  Result result{.workload = w, .threads = options.threads};
  if (with_torch) {
    torch.emplace("PyTorch", torch_command(*options.torch, w, options.threads, weights));
    result.torch.emplace().difference = torch_difference(w, gradus.greeting(), torch->greeting());
    folder.reset();
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
  result.floor_min = bare.min;
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
    const files::Json answer(gradus.ask(concat("ops ", static_cast<int64_t>(enough))), "bench",
                             "a worker's answer");
    for (const files::Field& op : answer.root().at("ops").items())
      result.ops.push_back(
          {std::string(op.at("op").text()), op.at("forward").number(), op.at("backward").number()});
    result.ops_ms = answer.root().at("ms").number();
  }
  return result;
}

}  // namespace gradus::bench
