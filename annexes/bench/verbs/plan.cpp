// gradus plan: predicts the time and the memory of a training step on several machines, and how many of them
// pay.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gradus/annexes/bench/step_model.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/setting_flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/plan.hpp"

namespace gradus::cli {
namespace {

using train::Setting;
using train::TrainConfig;

constexpr double kPays = 0.9;       // of the time of the step of fewer machines
constexpr double kMpiBytes = 25e6;  // of a rank: the library and its buffers, as measured with Open MPI

struct PlanFlags {
  SettingFlags settings;
  int64_t vocab = 65, machines = 8, threads = 0;
  std::string network = "1GbE";
  double seconds = 10;
  bool json = false;
};

TrainConfig settled(const PlanFlags& flags) {
  const TrainConfig& given = flags.settings.config;
  TrainConfig config = flags.settings.given(train::preset(
      flags.settings.is_given("preset") ? given.preset : train::usual_preset(given.model.arch)));
  if (flags.settings.auto_precision)
    config.precision = kernels::isa_in_use<kernels::Bf16Unit>() == kernels::Bf16Unit::widened
                           ? DType::float32
                           : DType::bfloat16;
  config.model.vocab_size = flags.vocab;
  config.validate();
  config.model.validate();
  return config;
}

/// Without --micro, machines have equal work if that is possible.
plan::Split split_of(const TrainConfig& config, int64_t machines, bool has_micro) {
  const int64_t windows = config.batch * config.accum;
  const int64_t micro = has_micro ? config.micro : windows % machines == 0 ? machines : windows;
  if (micro == 1) return {1, config.batch, config.accum};
  return {micro, windows / micro, (micro + machines - 1) / machines};
}

/// A number of machines, and what is predicted for it.
struct Prediction {
  int64_t machines = 1, micro = 1;
  plan::StepTime time;
  double memory = 0;  ///< bytes, of the machine that needs the most
};

Prediction predict(TrainConfig config, int64_t machines, bool has_micro, const plan::Network& network,
                   double seconds) {
  const plan::Split split = split_of(config, machines, has_micro);
  const plan::Work work = plan::rehearse(config, split, machines, seconds);
  config.batch = split.windows;
  const models::MemoryEstimate bytes = train::training_memory(config);
  const plan::StepTime time = plan::step_time(work, network);
  double memory = bytes.total() + time.received + (machines > 1 ? kMpiBytes : 0);
  for (int64_t passes = split.micro > 1 ? split.passes : 1; passes > 1; passes /= 2)
    memory += bytes.gradients;  // sums of earlier micro-batches
  return {machines, split.micro, time, memory};
}

/// Prints a row for each, with the names of the columns as keys of JSON.
void print(const std::vector<Prediction>& all, double tokens, bool is_json) {
  std::vector<TableRow> rows(1);
  for (const auto& [machines, micro, t, memory] : all) {
    nlohmann::ordered_json json{{"event", "machines"}, {"machines", machines}, {"micro", micro}};
    rows.push_back({std::to_string(machines), std::to_string(micro)});
    rows.front() = {"machines", "micro"};
    const double total = t.total(), faster = all.front().time.total() / total;
    for (const auto& [name, value] :
         std::initializer_list<std::pair<std::string, double>>{{"step_ms", 1e3 * total},
                                                               {"compute_ms", 1e3 * t.compute},
                                                               {"gradients_ms", 1e3 * t.gradients},
                                                               {"update_ms", 1e3 * t.update},
                                                               {"parameters_ms", 1e3 * t.parameters},
                                                               {"latency_ms", 1e3 * t.latency},
                                                               {"messages_ms", 1e3 * t.messages},
                                                               {"times_faster", faster},
                                                               {"tokens_per_s", tokens / total},
                                                               {"memory_mb", memory / 1e6}}) {
      json[name] = value;
      rows.front().push_back(name.substr(0, name.find("_ms")));
      rows.back().push_back(decimals(value, value >= 100 ? 0 : name == "times_faster" ? 2 : 1));
    }
    if (is_json) std::cout << json << "\n";
  }
  size_t i = 0;
  while (i + 1 < all.size() && all[i + 1].time.total() < kPays * all[i].time.total()) ++i;
  if (is_json)
    std::cout << nlohmann::ordered_json{{"event", "done"}, {"machines_that_pay", all[i].machines}}
              << std::endl;
  else
    std::cout << table(rows, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) << "Up to " << all[i].machines
              << (all[i].machines == 1 ? " machine pays" : " machines pay")
              << ": each doubling shortens the step by a tenth at least." << std::endl;
}

int plan_verb(const PlanFlags& flags) {
  if (!(flags.seconds > 0 && flags.seconds < 1e6))
    fail("plan", "--seconds must be above 0 and finite, got ", flags.seconds, ".");
  const plan::Network network = plan::network_from(flags.network);
  const TrainConfig config = settled(flags);
  if (flags.threads > 0) set_num_threads(static_cast<int>(flags.threads));
  train::check_memory(train::training_memory(config), "plan a smaller model, or a smaller batch.");
  if (!flags.json)
    std::cout << "model    " << config.preset << ": " << models::sizes(config.model) << "; "
              << grouped(config.model.num_parameters()) << " parameters; steps of "
              << config.batch * config.accum << " windows\nnetwork  " << decimals(8e-6 * network.bandwidth, 0)
              << " Mbit/s, " << 1e3 * network.latency << " ms one way\nmachine  each is like this one, with "
              << num_threads() << (num_threads() == 1 ? " thread" : " threads")
              << ": compute and update are measured here, the rest is simulated\n"
              << std::endl;
  const int rows = 1 + static_cast<int>(std::bit_width(static_cast<uint64_t>(flags.machines - 1)));
  std::vector<Prediction> all;
  for (int64_t next = 1; all.empty() || all.back().machines < flags.machines; next *= 2)
    all.push_back(predict(config, std::min(next, flags.machines), flags.settings.is_given("micro"), network,
                          flags.seconds / rows));
  print(all, train::tokens_per_step(config), flags.json);
  return kDone;
}

constexpr const char* kPlanFooter =
    R"(A machine is a rank of MPI, see train --ranks. In milliseconds of a step: compute
is forward and backward on the busiest machine; gradients are on the wire after
backward; update is that of the busiest owner of parameters; parameters are on the
wire after it; latency is that of messages that all wait for; messages is the time
that messages take from the computation, if it uses all cores. Without --micro, it
is chosen so that machines have equal work, if the windows of a step allow it. For
another network, give --network the rate of TCP and half of the round trip time.

Examples:
  $ plan --preset midi --machines 8
  $ plan --preset gpt2 --vocab 50257 --machines 16 --network 25GbE
  $ plan --batch 64 --network 200Mbit,1.5ms --threads 1)";

}  // namespace

Action add_plan(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<PlanFlags>();
  add_value(verb, "--machines", flags->machines, "N", "Predict for 1, 2, 4 and so on up to N machines",
            kThreads)
      ->capture_default_str();
  add_value(verb, "--network", flags->network, "NAME",
            "1GbE, 2.5GbE, 10GbE, 25GbE, 100GbE, or rate and delay:\n200Mbit,1.5ms")
      ->capture_default_str();
  add_value(verb, "--vocab", flags->vocab, "N", "Size of the vocabulary")->capture_default_str();
  add_value(verb, "--seconds", flags->seconds, "S",
            "Time to measure, in all; at least two steps for each row")
      ->capture_default_str();
  add_value(verb, "--threads", flags->threads, "N", "Threads of a machine [one per core]", kThreads);
  verb.add_flag("--json", flags->json, "Print a JSON line for each number of machines");
  verb.option_defaults()->group("Settings of train");
  for (const Setting& row : train::settings())
    if (row.has(Setting::kSize) || row.key == "optimizer" || row.key == "dropout" ||
        (row.has(Setting::kLoop) && row.group == train::SettingGroup::learning))
      flags->settings.add(verb, row);
  set_usual_flags(verb, {"--machines", "--network", "--vocab", "--threads", "--json", "--preset", "--layers",
                         "--embd", "--block", "--batch", "--micro"});
  verb.footer(with_program(kPlanFooter, program));
  return {[flags] { return plan_verb(*flags); }};
}

}  // namespace gradus::cli
