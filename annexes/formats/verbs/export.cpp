// gradus export: writes a trained model in the formats of other programs, or with an adapter in its weights.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gradus/annexes/formats/export/export.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/sample/model_flags.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/stored/adapter.hpp"
#include "gradus/models/stored/config_json.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/models/stored/stored_form.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGGUFAdapter = "gguf-adapter";

struct ExportFlags {
  std::string folder, adapter, to, out, type = "f32";
  bool merge = false, type_given = false, overwrite = false, quiet = false;
};

struct Format {
  std::string name;
  bool is_folder;
  std::string mark;  ///< the first bytes of such a file, or the first file that is written into such a folder
  void (*write)(const train::TrainedModel& trained, const ExportFlags& flags);
  std::string next;  ///< how to use it; PATH is its place
};

/// The name of the model in the file: the last part of its folder's path.
std::string model_name(const std::string& folder) {
  return files::plain(files::absolute_path(folder).filename().string());
}

const std::vector<Format>& formats() {
  using Model = train::TrainedModel;
  using Flags = ExportFlags;
  static const std::vector<Format> all = {
      {"gguf", false, "GGUF",
       [](const Model& model, const Flags& flags) {
         exports::write_gguf(model, model_name(flags.folder), flags.type, flags.out);
       },
       "opens in llama.cpp and programs that use it"},
      {kGGUFAdapter, false, "GGUF",
       [](const Model& model, const Flags& flags) {
         exports::write_gguf_adapter(model, model_name(flags.folder), flags.out);
       },
       "llama-cli --model BASE.gguf --lora PATH"},
      {"web", true, "model-data.js",
       [](const Model& model, const Flags& flags) {
         exports::write_web(model, model_name(flags.folder), flags.out);
       },
       "open PATH/index.html in a browser"},
  };
  return all;
}

/// Whether the file or folder is an earlier export in this format.
bool is_of(const Format& format, const fs::path& out) {
  std::error_code ignored;
  if (format.is_folder) return fs::exists(out / format.mark, ignored);
  if (!fs::is_regular_file(out, ignored)) return false;  // Opening a pipe waits for its writer.
  std::string beginning(format.mark.size(), '\0');
  std::ifstream file(out, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return beginning == format.mark;
}

/// Whether a folder is empty, except for unfinished files of a stopped export.
bool is_free(const fs::path& folder) {
  std::error_code refused;
  for (fs::directory_iterator entry(folder, refused), end; !refused && entry != end; entry.increment(refused))
    if (entry->path().extension() != ".tmp") return false;
  if (refused) throw RunError("[export] ", folder, " must be readable, got '", refused.message(), "'.");
  return true;
}

/// Throws Error unless --out is new, or an earlier export that may be replaced.
void check_out(const ExportFlags& flags, const Format& format) {
  const fs::path out = flags.out;
  std::error_code ignored;
  const bool is_new = !fs::exists(fs::symlink_status(out, ignored));
  if (is_new ? !out.has_filename() && !format.is_folder : fs::is_directory(out, ignored) != format.is_folder)
    fail("export", "--out must be a ", format.is_folder ? "folder" : "file", " for --to ", flags.to, ", got ",
         out, ", a ", format.is_folder ? "file." : "folder.");
  if (is_new) return;
  if (format.is_folder && is_free(out)) return;
  if (!is_of(format, out))
    fail("export", "--out must be new or an earlier export --to ", flags.to, ", got ", out,
         ", which is something else.");
  if (!flags.overwrite)
    fail("export", "--out must be new, got ", out, ", which is there. Hint: --overwrite replaces it.");
}

std::vector<std::string> format_names() { return column(formats(), &Format::name); }

/// Calls use(base, adapter, files) with the folders of an adapter and of the model under it, and the
/// adapter's files. Throws Error, naming `flag`, if there is no adapter.
template <class F>
auto with_adapter(const ExportFlags& flags, const std::string& flag, const F& use) {
  const fs::path place = flags.adapter.empty() ? flags.folder : flags.adapter;
  return files::read_folder(place, [&](const files::FolderSnapshot& files) {
    if (!files.has(models::kAdapterConfig))
      fail("export", flag, " needs an adapter, got ", place, ", which has none.");
    return use(flags.adapter.empty() ? models::base_of(files) : fs::path(flags.folder), files);
  });
}

/// The model, with an adapter's updates in its weights, or, for an export of the adapter, apart from them.
train::TrainedModel load(const ExportFlags& flags) {
  if (flags.to != kGGUFAdapter) return train::load_trained(flags.folder, {}, flags.adapter);
  return with_adapter(
      flags, concat("--to ", kGGUFAdapter), [&](const fs::path& base, const files::FolderSnapshot& files) {
        data::Tokenizer tokenizer = train::load_tokenizer(flags.folder);
        models::DecoderConfig config = models::load_config(base);
        config.vocab_size = tokenizer.vocab_size();
        return train::TrainedModel{models::load_with_adapter(base, files, config), std::move(tokenizer)};
      });
}

// -- export --merge

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

/// Whether a folder is missing, empty, or what a stopped merge left, of which the last file is unfinished.
bool is_unused(const fs::path& out) {
  if (!fs::exists(fs::symlink_status(out))) return true;
  if (!fs::is_directory(out)) return false;
  return is_free(out) || (fs::exists(out / "config.json.tmp") && !fs::exists(out / "config.json"));
}

/// The base's config.json, with the dtype of numbers that were converted to float32.
std::string merged_config(const models::Decoder& model, const files::FolderSnapshot& base,
                          bool is_converted) {
  if (!base.has(models::kConfig)) return models::to_json(model.config());
  if (!is_converted) return base.text(models::kConfig);
  auto json = nlohmann::ordered_json::parse(base.text(models::kConfig));
  for (const char* key : {"dtype", "torch_dtype"})
    if (json.contains(key)) json[key] = "float32";
  return json.dump(2) + "\n";
}

void write_merged(const std::string& out, const models::Decoder& model, const files::FolderSnapshot& base) {
  nn::StateDict state = models::stored_state(model);
  const nn::TensorFolder stored(base, nn::SafetensorsFile::Compared::header);
  const auto all_are = [&](std::string_view dtype) {
    return std::all_of(stored.entries().begin(), stored.entries().end(),
                       [&](const auto& entry) { return entry.second->dtype == dtype; });
  };
  const bool is_half = all_are("BF16");
  if (is_half)
    for (auto& [name, values] : state) values = values.to(DType::bfloat16);
  files::make_folders(out);
  files::FolderUpdate update(out);
  for (const char* other : kOthers)
    if (base.has(other)) update.write(other, base.text(other));
  nn::save_safetensors(update, nn::kTensorFile, state);
  update.write(models::kConfig, merged_config(model, base, /*is_converted=*/!is_half && !all_are("F32")));
  update.commit_without_list();
}

int merge(const ExportFlags& flags) {
  if (!is_unused(flags.out)) fail("export", "--out must be a new or an empty folder, got ", flags.out, ".");
  train::check_memory(models::generation_memory(models::check_pretrained(flags.folder), 0, 0), "free some.");
  with_adapter(flags, "--merge", [&](const fs::path& base, const files::FolderSnapshot& files) {
    models::Decoder model = models::load_with_adapter(base, files, models::load_config(base));
    nn::merge_lora(model);
    files::read_folder(base,
                       [&](const files::FolderSnapshot& from) { write_merged(flags.out, model, from); });
  });
  Messages(flags.quiet).line("wrote   " + shell_path(flags.out));
  return kDone;
}

// -- the verb

int export_model(const ExportFlags& flags) {
  if (flags.merge) return merge(flags);
  if (flags.to.empty()) fail("export", "there must be --to NAME or --merge, got none.");
  if (flags.to == "pytorch" || flags.to == "npz")
    fail("export", "--to must be ", listed(format_names()), ", got ", flags.to,
         ". Hint: Python's transformers and safetensors open the folder as it is.");
  check_choice("export", "--to", flags.to, format_names());
  if (flags.type_given && flags.to != "gguf")
    fail("export", "--type must come with --to gguf, got --to ", flags.to, ".");
  const Format& format =
      *std::find_if(formats().begin(), formats().end(), [&](const Format& f) { return f.name == flags.to; });
  check_out(flags, format);
  const models::DecoderConfig config = models::check_pretrained(flags.folder);
  check_single("export", config, flags.folder);
  const auto& known = models::stored_form(config.arch).exports;
  const std::string_view kind = flags.to == kGGUFAdapter ? "gguf" : std::string_view(flags.to);
  if (known.empty())
    fail("export", "the model must be of an architecture that other programs have, got --arch ", config.arch,
         ".");
  if (std::find(known.begin(), known.end(), kind) == known.end())
    fail("export", "--to must be ", joined(known, " or "), " for a model of --arch ", config.arch, ", got ",
         flags.to, ".");
  if (flags.to == "web" && config.attention != models::AttentionVariant())
    fail("export",
         "--to must be gguf for a model with scaled positions, a window, biases or another head_dim, got "
         "web.");
  train::check_memory(models::generation_memory(config, 0, 0), "free some.");
  const train::TrainedModel trained = load(flags);
  const fs::path folder = format.is_folder ? fs::path(flags.out) : fs::path(flags.out).parent_path();
  if (!folder.empty()) files::make_folders(folder);
  format.write(trained, flags);

  std::string next = format.next;
  const std::string path = shell_path((fs::path(flags.out) / ".").parent_path());  // "a/" is "a"
  if (const size_t at = next.find("PATH"); at != next.npos) next.replace(at, 4, path);
  Messages(flags.quiet).line(concat("wrote   ", path, "\nmore    ", next));
  return kDone;
}

}  // namespace

Action add_export(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<ExportFlags>();
  add_argument(verb, "folder", flags->folder, "DIR",
               "Run folder, or a folder with config.json, model.safetensors\nand a tokenizer");
  CLI::Option* const to = add_value(verb, "--to", flags->to, "NAME",
                                    "gguf: one file for llama.cpp and programs that use it\n"
                                    "gguf-adapter: a LoRA adapter alone, for llama.cpp's --lora\n"
                                    "web: a page that writes text in any browser");
  suggest(to, format_names);
  add_value(verb, "--adapter", flags->adapter, "DIR",
            "Folder of a LoRA adapter of the model, in PEFT's files");
  add_value(verb, "--out", flags->out, "PATH", "File (gguf) or folder (web, --merge) to write")->required();
  CLI::Option* const type = add_value(verb, "--type", flags->type, "NAME",
                                      "gguf: type of the matrices: f32, f16, or q8_0 (8 bits with scales)");
  one_of(verb, type, exports::gguf_types);
  CLI::Option* const overwrite = verb.add_flag("--overwrite", flags->overwrite, "Replace what is at --out");
  verb.add_flag("--merge", flags->merge,
                "Instead of --to: write a model of the same form with the updates\n"
                "of the adapter in its weights")
      ->excludes(to, type, overwrite);
  verb.add_flag("--quiet", flags->quiet, "Print errors only");
  verb.footer(with_program(
      R"(With --merge, the folder is that of an adapter (a LoRA run, or PEFT's files), or with --adapter
that of the base model. The weights are bfloat16 if all of the base model's are, else float32.

Examples:
  $ export out/kjv-mini --to gguf --out kjv.gguf
  $ export out/kjv-mini --to web --out page
  $ export out/my-lora --merge --out out/my-model
  $ export Qwen3-0.6B --adapter out/my-lora --merge --out out/my-model)",
      program));
  return {[=] {
    flags->type_given = type->count() > 0;
    return export_model(*flags);
  }};
}

}  // namespace gradus::cli
