#include "gradus/cli/train/train_flags.hpp"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <sstream>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/cli/program/config_file.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/cli/train/init_from.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/optimizers/registry.hpp"
#include "gradus/train/trace.hpp"

namespace gradus::cli {
namespace {

using train::Setting;
using train::TrainConfig;

constexpr int64_t kBpeVocab = 4096;

bool is_tokenizer_kind(const std::string& name) {
  const std::vector<std::string> kinds = data::Tokenizer::kinds();
  return std::ranges::find(kinds, name) != kinds.end();
}

std::string preset_line(const models::Architecture& row, const models::Preset& preset) {
  const train::TrainConfig config = train::preset(preset.name);
  const std::string heads =
      row.positions == models::Positions::recurrent ? "no" : concat(config.model.n_head);
  std::ostringstream line;
  line << std::left << std::setw(5) << preset.name << std::right << std::setw(3) << config.model.n_layer
       << " layers, " << std::setw(2) << heads << " heads, " << std::setw(3) << config.model.n_embd
       << " wide, block " << std::setw(4) << config.model.block_size << "; " << std::setw(6) << config.steps
       << " steps of " << config.batch;
  if (config.accum > 1) line << " x " << config.accum;
  if (preset.name == models::preset_names().front()) line << " windows";
  if (config.model.dropout > 0) line << ", dropout " << config.model.dropout;
  line << ": " << preset.about;
  return line.str();
}

}  // namespace

void TrainFlags::add_to(CLI::App& verb) {
  using train::SettingGroup;
  const auto add_group = [&](const char* title, SettingGroup group) {
    verb.option_defaults()->group(title);
    for (const Setting& row : train::settings())
      if (row.group == group) settings_.add(verb, row);
  };
  add_group("Text", SettingGroup::text);
  add_group("Model", SettingGroup::model);
  add_group("Learning", SettingGroup::learning);
  add_group("Run", SettingGroup::run);
  add_value(verb, "--sample-every", sample_every, "STEPS",
            "Steps between samples; 0: one sample at the end only", kFrom0);
  add_value(verb, "--out", out, "DIR", "Run folder [out/<text>-<preset>]");
  verb.add_flag("--resume", resume, "Continue from the last checkpoint in that folder");
  verb.add_flag("--overwrite", overwrite, "Replace the run in that folder");
  add_value(verb, "--stop-after", stop_after, "N", "Save and stop after this many steps; --resume continues",
            kFrom1);
  add_value(verb, "--threads", threads, "N", "Threads; results do not depend on them [one per core]",
            kThreads);
  add_value(verb, "--ranks", ranks, "N", "Start this many processes that train together (MPI); see --micro",
            kThreads);
  add_value(verb, "--members", members, "N",
            "Train N models with the seeds from --seed on, as many at a time as\nthere are threads: an "
            "ensemble, which predicts with their mean\nprobabilities: a lower loss where a text is read five "
            "times or more",
            kThreads);
  add_value(verb, "--config", config_file, "FILE",
            "TOML file of settings, with flags as keys; flags override it");

  verb.option_defaults()->group("Output");
  verb.add_flag("--json", json, "Print a JSON line for each event on the standard output");
  verb.add_flag("--quiet", quiet, "Print errors only");
  verb.add_flag("--tensorboard", tensorboard,
                "Write the losses to DIR/tensorboard, for TensorBoard; a resumed\nrun continues");
  add_value(verb, "--profile", profile, "FILE", "Write the time of each operation; ui.perfetto.dev opens it");
  add_value(verb, "--profile-after", profile_after, "N",
            "Steps before the profile; fewer if the run is short", kFrom0);
  add_value(verb, "--profile-steps", profile_steps, "N", "Steps to profile", kFrom1);
  set_usual_flags(verb, {"--text", "--corpus", "--tokenizer", "--preset", "--init-from", "--lora", "--steps",
                         "--minutes", "--out", "--resume", "--threads", "--quiet"});
}

void TrainFlags::settle(CLI::App& verb) {
  if (!config_file.empty()) apply_config(config_file, verb);
  config = settings_.config;
  check_tokenizer();
  if (plans_vocab()) config.tokenizer = "bpe";
  settle_precision();

  if (!is_given("preset") && !config.init_from.empty())
    config.preset = train::usual_preset(models::DecoderConfig{}.arch);  // whose optimizer is AdamW
  else if (!is_given("preset") && is_given("arch"))
    config.preset = train::usual_preset(config.model.arch);
  config = on_preset(config.preset);

  if (!resume) config.validate();  // resumed() does it for a resumed run.
  check_others();
}

void TrainFlags::check_others() const {
  if (!profile.empty()) {
    const std::filesystem::path file = std::filesystem::absolute(profile);
    files::check_replaceable("train", "--profile", file,
                             [](std::string_view text) { return text.starts_with(train::kTraceBegin); });
  }
  const auto refuse_both = [](const std::string& a, const char* b, bool both) {
    if (both) fail("train", a, " and ", b, " must not come together, got both.");
  };
  for (const std::string flag : {"val-tokens", "val-text"})
    refuse_both("--" + flag, "--val-fraction", is_given(flag) && is_given("val-fraction"));
  if (is_given("teacher-weight") && config.teacher.empty() && !resume)
    fail("train", "--teacher-weight must come with --teacher, got it alone.");
  refuse_both("--steps", "--minutes", is_given("steps") && config.minutes > 0);
  refuse_both("--earlier-steps", "--minutes", is_given("earlier-steps") && config.minutes > 0);
  refuse_both("--resume", "--overwrite", resume && overwrite);
}

TrainConfig TrainFlags::on_preset(const std::string& name) const {
  const TrainConfig preset = train::preset(name);
  TrainConfig merged = settings_.given(preset);
  merged.preset = name;
  merged.precision = config.precision;
  merged.tokenizer = config.tokenizer;
  if (merged.optimizer != preset.optimizer && !is_given("lr"))
    merged.lr = train::optimizer_kind(merged.optimizer).usual_rate;
  if (merged.lr != preset.lr && !is_given("min-lr")) merged.min_lr = preset.min_lr > 0 ? merged.lr / 10 : 0;
  for (std::string& file : merged.text)
    if (file != "-") file = files::absolute_path(file);
  if (!merged.val_text.empty() && merged.val_text != "-")
    merged.val_text = files::absolute_path(merged.val_text);
  for (const Setting& row : train::settings())
    if (row.has(train::Setting::kPath))
      row.visit(merged, []<class T>(T& path) {
        if constexpr (std::is_same_v<T, std::string>)
          if (!path.empty() && !is_tokenizer_kind(path)) path = files::absolute_path(path);
      });
  if (!merged.teacher.empty() && merged.init_from.empty() && !resume) {
    if (is_given("tokenizer") || is_given("vocab"))
      fail("train", "--tokenizer and --vocab must be left out with --teacher, whose tokenizer the run gets.");
    merged.tokenizer = merged.teacher;
  }
  if (merged.tokenizer == "bpe" && !is_given("vocab")) merged.vocab = kBpeVocab;
  if (!merged.init_from.empty() && !resume)
    begin_with_model(merged, [&](std::string_view flag) { return is_given(flag); });
  return merged;
}

void TrainFlags::check_tokenizer() const {
  const std::vector<std::string> kinds = data::Tokenizer::kinds();
  if (!is_tokenizer_kind(config.tokenizer) && !std::filesystem::exists(config.tokenizer))
    fail("train", "--tokenizer must be ", listed(kinds),
         ", or the path of a tokenizer's folder or tokenizer.json, got ", files::in_quotes(config.tokenizer),
         ", which does not exist.", did_you_mean(config.tokenizer, kinds));
}

bool TrainFlags::plans_vocab() const {
  const auto is_none_given = [&](std::initializer_list<const char*> flags) {
    return std::ranges::none_of(flags, [&](const char* flag) { return is_given(flag); });
  };
  return config.minutes > 0 && !resume &&
         is_none_given({"tokenizer", "vocab", "tokens", "init-from", "teacher"});
}

void TrainFlags::settle_precision() {
  const bool is_auto = settings_.auto_precision || (config.minutes > 0 && !is_given("precision"));
  if (is_auto && !resume)
    config.precision = kernels::isa_in_use<kernels::Bf16Unit>() == kernels::Bf16Unit::widened
                           ? DType::float32
                           : DType::bfloat16;
}

TrainConfig TrainFlags::resumed(const TrainConfig& saved) const {
  TrainConfig result = saved;
  for (const Setting& row : train::settings()) {
    const bool is_auto = row.key == "precision" && settings_.auto_precision;  // keeps the run's precision
    if (!is_given(row.key) || is_auto || row.is_equal(config, saved)) continue;
    // Only adapters read the model that they began with again.
    const std::string before = row.text(saved);
    if (!row.has(train::Setting::kResumable) || (row.key == "init-from" && saved.lora == 0) ||
        (row.key == "teacher" && before.empty()))
      fail("train", "--", row.key, " of a resumed run must stay ", before.empty() ? "unset" : before,
           ", got ", row.text(config), ". Hint: leave it out, or start a new run with another --out.");
    row.copy(config, result);
  }
  // The text may have moved; its checksum is compared after reading.
  if (is_given("text") && !is_given("corpus")) result.corpus.clear();
  if (is_given("corpus") && !is_given("text")) result.text.clear();
  result.validate();
  return result;
}

std::string train_footer(const std::string& program) {
  std::string text;
  for (const models::Architecture* row : models::architectures()) {
    text += concat("Presets of --arch ", row->name, ", with ", train::preset(row->presets[0].name).optimizer,
                   ":\n");
    for (const models::Preset& preset : row->presets) text += concat("  ", preset_line(*row, preset), "\n");
  }
  return text + with_program(
                    R"(With --init-from: 200 steps of about 2,048 tokens, --block at most 512, --lr 3e-4,
--warmup 20, evaluations and checkpoints every 50 steps.
Flags override the config file, which overrides the preset.

Examples:
  $ train --preset tiny --corpus stories
  $ train --text my.txt --tokenizer byte --out out/my --steps 5000
  $ train --heads 8 --kv-heads 2 --embd 256
  $ train --text my.txt --minutes 3 --members 4
  $ train --init-from out/my --text other.txt
  $ train --out out/my --resume)",
                    program);
}

}  // namespace gradus::cli
