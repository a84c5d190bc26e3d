// gradus merge: writes a model with the updates of its adapter in the weights.
#include <filesystem>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/models/adapter.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {
namespace {

struct MergeFlags {
  std::string folder, adapter, out;
};

int merge(const MergeFlags& flags) {
  std::error_code ignored;
  if (std::filesystem::exists(flags.out) && !std::filesystem::is_empty(flags.out, ignored))
    fail("merge", "--out must be a new or an empty folder, got ", flags.out, ".");
  train::check_memory(models::generation_memory(models::check_pretrained(flags.folder)), "free some.");
  models::merge_pretrained(flags.folder, flags.adapter, flags.out);
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
