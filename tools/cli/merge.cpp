// gradus merge: writes a model with the updates of its adapter in the weights.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/models/adapter.hpp"
#include "gradus/models/config_json.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

struct MergeFlags {
  std::string folder, adapter, out;
};

// In the order in which they are put in place: without config.json, the last one, a folder has no model.
constexpr const char* kOthers[] = {"tokenizer_config.json",
                                   "special_tokens_map.json",
                                   "added_tokens.json",
                                   "chat_template.jinja",
                                   "generation_config.json",
                                   "merges.txt",
                                   "vocab.json",
                                   "tokenizer.json",
                                   "meta.pkl"};

/// Whether a folder is missing, empty, or what a stopped merge left: its files, of which the last is
/// unfinished.
bool is_unused(const fs::path& out) {
  if (!fs::exists(fs::symlink_status(out))) return true;
  if (!fs::is_directory(out)) return false;
  const bool is_stopped = fs::exists(out / "config.json.tmp") && !fs::exists(out / "config.json");
  return std::all_of(
      fs::directory_iterator(out), fs::directory_iterator(), [&](const fs::directory_entry& entry) {
        const fs::path name = entry.path().filename();
        const bool is_own = name == nn::kTensorFile ||
                            std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers);
        return name.extension() == ".tmp" || (is_stopped && is_own);
      });
}

void write_merged(const MergeFlags& flags, const models::Decoder& model, const files::FolderSnapshot& base) {
  nn::StateDict state = models::stored_state(model);
  const nn::TensorFolder stored(base, nn::SafetensorsFile::Compared::header);
  const auto all_are = [&](std::string_view dtype) {
    return std::all_of(stored.entries().begin(), stored.entries().end(),
                       [&](const auto& entry) { return entry.second->dtype == dtype; });
  };
  const bool is_half = all_are("BF16");
  if (is_half)
    for (auto& [name, values] : state) values = values.to(DType::bfloat16);
  files::make_folders(flags.out);
  files::FolderUpdate update(flags.out);
  for (const char* other : kOthers)
    if (base.has(other)) update.write(other, base.text(other));
  nn::save_safetensors(update, nn::kTensorFile, state);
  update.write("config.json", base.has("config.json") && (is_half || all_are("F32"))
                                  ? base.text("config.json")
                                  : models::to_json(model.config()));
  update.commit_without_list();
}

int merge(const MergeFlags& flags) {
  if (!is_unused(flags.out)) fail("merge", "--out must be a new or an empty folder, got ", flags.out, ".");
  train::check_memory(models::generation_memory(models::check_pretrained(flags.folder), 0, 0), "free some.");
  const fs::path place = flags.adapter.empty() ? flags.folder : flags.adapter;
  files::read_folder(place, [&](const files::FolderSnapshot& files) {
    if (!files.has(models::kAdapterConfig)) fail("merge", place, " must have an adapter, got none.");
    const fs::path base = flags.adapter.empty() ? models::base_of(files) : fs::path(flags.folder);
    models::Decoder model = models::load_with_adapter(base, files, models::load_config(base));
    nn::merge_lora(model);
    files::read_folder(base, [&](const files::FolderSnapshot& from) { write_merged(flags, model, from); });
  });
  Messages(false).line("wrote   " + shell_path(flags.out));
  return kDone;
}

}  // namespace

Action add_merge(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<MergeFlags>();
  add_argument(verb, "folder", flags->folder, "DIR",
               "Folder of an adapter: a LoRA run, or PEFT's files; or, with\n--adapter, of the base model");
  add_value(verb, "--adapter", flags->adapter, "DIR", "Folder of the adapter");
  add_value(verb, "--out", flags->out, "DIR", "Folder to write: config.json, model.safetensors, tokenizer")
      ->required();
  verb.footer(with_program(R"(The weights are bfloat16 if all of the base model's are, else float32.

Examples:
  $ merge out/my-lora --out out/my-model
  $ merge Qwen3-0.6B --adapter out/my-lora --out out/my-model)",
                           program));
  return {[flags] { return merge(*flags); }};
}

}  // namespace gradus::cli
