// gradus plan: predicts the time and the memory of a training step on several machines, and how many of them
// pay. This measures what one machine computes; plan.py simulates the rest.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gradus/annexes/bench/measure.hpp"
#include "gradus/annexes/bench/verbs/python.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/setting_flags.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/trainer/gradient_exchange.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::bench {
std::string_view embedded_file(std::string_view path);
}

namespace gradus::cli {
namespace {

using Json = nlohmann::ordered_json;
using train::Setting;
using train::TrainConfig;

constexpr int64_t kMostSteps = 100;

struct PlanFlags {
  SettingFlags settings;
  int64_t vocab = 65, machines = 8, threads = 0;
  std::string network = "1GbE";
  double seconds = 10;
  bool json = false;
  std::vector<int64_t> measured;  ///< numbers of machines: plan.py asks for what is measured
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

struct StepTimes {
  double pass, update;  ///< seconds up to the end of backward, and after it
};

/// Medians over about `seconds` of steps. Sets `early` to how long before the end of backward the gradient of
/// each parameter is there.
StepTimes measure_step(train::Trainer& trainer, nn::NamedParameters& parameters, double seconds,
                       std::vector<double>& early) {
  std::vector<double> arrived(parameters.size());
  std::vector<HookHandle> hooks;
  const int64_t origin = steady_nanoseconds();
  for (size_t i = 0; i < parameters.size(); ++i)
    hooks.push_back(parameters[i].second.register_hook([&arrived, origin, i](const Tensor&) {
      arrived[i] = static_cast<double>(steady_nanoseconds() - origin) * 1e-9;
    }));
  Profile profile;
  trainer.profile_into(&profile);
  (void)bench::take_turn(seconds, kMostSteps, [&] { (void)trainer.step(); });
  trainer.profile_into(nullptr);
  for (HookHandle& hook : hooks) hook.remove();
  std::vector<double> passes, updates;
  double end = 0;  // of backward
  for (const ProfileEvent& event : profile.events()) {
    if (event.name == "clip") end = event.start;
    if (event.name != "step") continue;
    passes.push_back(end - event.start);
    updates.push_back(event.end - end);
  }
  for (const double time : arrived) early.push_back(std::max(0.0, end - std::max(time, end - passes.back())));
  return {bench::median(passes), bench::median(updates)};
}

/// What a machine of several does in a step, in seconds and bytes: medians over about `seconds` of steps on
/// random tokens. Without --micro, machines have equal work if that is possible.
Json work_of(TrainConfig config, int64_t machines, bool has_micro, double seconds) {
  const int64_t windows = config.batch * config.accum;
  const int64_t micro = has_micro ? config.micro : windows % machines == 0 ? machines : windows;
  const int64_t passes = micro == 1 ? config.accum : (micro + machines - 1) / machines;  // of the busiest
  if (micro > 1) config.batch = windows / micro;
  config.accum = config.micro = 1;
  const models::MemoryEstimate bytes = train::training_memory(config);
  Generator init(0);
  models::Decoder model(config.model, init);
  const auto random_windows = [&](int64_t count, Generator& generator) -> data::Batch {
    const int64_t block = config.model.block_size;
    const Tensor tokens = randint(0, config.model.vocab_size, {count, block + 1}, generator);
    return {tokens.slice(1, 0, block).contiguous(), tokens.slice(1, 1, block + 1).contiguous()};
  };
  train::Trainer trainer(model, train::decoder_recipe(model, random_windows, config));
  nn::NamedParameters parameters = model.named_parameters();
  std::vector<double> costs, early;
  for (const nn::NamedParameter& one : parameters)
    costs.push_back(trainer.recipe().optimizer->update_cost(one));
  const std::vector<int> owner = train::owners(costs, static_cast<int>(machines));
  const StepTimes times = measure_step(trainer, parameters, seconds, early);
  double owned = 0;  // by machine 0, which has the most expensive parameter
  for (size_t i = 0; i < costs.size(); ++i) owned += owner[i] == 0 ? costs[i] : 0;
  const double share = owned / std::accumulate(costs.begin(), costs.end(), 0.0);
  Json parts = Json::array();
  for (size_t i = 0; i < costs.size(); ++i)
    parts.push_back({parameters[i].second.numel(), costs[i], early[i], owner[i]});
  const int cores = kernels::available_cores();
  return {{"machines", machines},
          {"micro", micro},
          {"passes", passes},
          {"pass", times.pass},
          {"update", share * times.update},
          {"memory", {bytes.total(), bytes.gradients}},
          {"value_bytes", element_size(config.wire)},
          {"busy_cores", num_threads() < cores ? 0 : cores},  // 0: messages find a free one
          {"parts", parts}};
}

int plan_verb(const PlanFlags& flags, const CLI::App& verb) {
  if (!(flags.seconds > 0 && flags.seconds < 1e6))
    fail("plan", "--seconds must be above 0 and finite, got ", flags.seconds, ".");
  const TrainConfig config = settled(flags);
  if (flags.threads > 0) set_num_threads(static_cast<int>(flags.threads));
  for (const int64_t machines : flags.measured)
    std::cout << work_of(config, machines, flags.settings.is_given("micro"),
                         flags.seconds / static_cast<double>(flags.measured.size()))
              << std::endl;
  if (!flags.measured.empty()) return kDone;
  train::check_memory(train::training_memory(config), "plan a smaller model, or a smaller batch.");
  const Json facts{{"machines", flags.machines},
                   {"network", flags.network},
                   {"json", flags.json},
                   {"threads", num_threads()},
                   {"model", concat(config.preset, ": ", models::sizes(config.model))},
                   {"parameters", config.model.num_parameters()},
                   {"windows", config.batch * config.accum},
                   {"block", config.model.block_size}};
  std::vector<std::string> words;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& value : option->results())
      words.push_back(concat("--", option->get_lnames().front(), "=", value));
  become_python("plan", concat(bench::embedded_file("tools.py"), bench::embedded_file("plan.py")),
                json_line(facts), words);
}

}  // namespace

Action add_plan(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<PlanFlags>();
  add_value(verb, "--machines", flags->machines, "N", "Predict for 1, 2, 4 and so on up to N machines",
            kThreads);
  add_value(verb, "--network", flags->network, "NAME",
            "1GbE, 2.5GbE, 10GbE, 25GbE, 100GbE, or rate and delay:\n200Mbit,1.5ms");
  add_value(verb, "--vocab", flags->vocab, "N", "Size of the vocabulary");
  add_value(verb, "--seconds", flags->seconds, "S",
            "Time to measure, in all; at least two steps for each row");
  add_value(verb, "--threads", flags->threads, "N", "Threads of a machine [one per core]", kThreads);
  add_value(verb, "--measure", flags->measured, "N", "", kThreads)->group("");
  verb.add_flag("--json", flags->json, "Print a JSON line for each number of machines");
  verb.option_defaults()->group("Settings of train");
  for (const Setting& row : train::settings())
    if (row.has(Setting::kSize) || row.key == "optimizer" || row.key == "dropout" ||
        (row.has(Setting::kLoop) && row.group == train::SettingGroup::learning))
      flags->settings.add(verb, row);
  set_usual_flags(verb, {"--machines", "--network", "--vocab", "--threads", "--json", "--preset", "--layers",
                         "--embd", "--block", "--batch", "--micro"});
  verb.footer(with_program(help_of(bench::embedded_file("plan.py")), program));
  return {[&verb, flags] { return plan_verb(*flags, verb); }};
}

}  // namespace gradus::cli
