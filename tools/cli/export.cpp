// gradus export: a trained model in the files of other programs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/cli/program/choices.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/export/gguf_file.hpp"
#include "gradus/tools/export/npz.hpp"
#include "gradus/tools/export/pytorch.hpp"
#include "gradus/tools/export/web.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

struct ExportFlags {
  std::string folder, to, out, type = "f32";
  bool type_given = false, overwrite = false, quiet = false;
};

/// What a model can be written as.
struct Format {
  std::string name;
  bool is_folder;
  std::string mark;  ///< what such a file begins with, or the first file that such a folder gets
  void (*write)(const train::TrainedModel& trained, const ExportFlags& flags);
  std::string next;  ///< what one may do with it; PATH stands for where it is
};

/// What programs call the model: the last part of its folder's path.
std::string model_name(const std::string& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return files::plain((whole.has_filename() ? whole : whole.parent_path()).filename().string());
}

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      {"gguf", false, "GGUF",
       [](const train::TrainedModel& trained, const ExportFlags& flags) {
         exports::write_gguf(trained, model_name(flags.folder), flags.type, flags.out);
       },
       "opens in llama.cpp and what stands on it"},
      {"pytorch", true, "check.safetensors",
       [](const train::TrainedModel& trained, const ExportFlags& flags) {
         exports::write_pytorch(trained, flags.out);
       },
       "python3 PATH/check.py; python3 PATH/sample.py"},
      {"npz", false, "PK",
       [](const train::TrainedModel& trained, const ExportFlags& flags) {
         exports::write_npz(trained, flags.out);
       },
       "in Python, numpy.load(PATH)"},
      {"web", true, "model-data.js",
       [](const train::TrainedModel& trained, const ExportFlags& flags) {
         exports::write_web(trained, model_name(flags.folder), flags.out);
       },
       "open PATH/index.html in a browser"},
  };
  return all;
}

/// Whether an archive begins with an array of NumPy's.
bool begins_with_array(std::string_view archive) {
  constexpr size_t kName = 30, kNameSize = 26;  // APPNOTE, 4.3.7
  if (archive.size() < kName) return false;
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(archive[at])); };
  return archive.substr(kName, byte(kNameSize) | byte(kNameSize + 1) << 8).ends_with(".npy");
}

/// Whether what is there was written as such.
bool is_of(const Format& format, const fs::path& out) {
  std::error_code ignored;
  if (format.is_folder) return fs::exists(out / format.mark, ignored);
  if (!fs::is_regular_file(out, ignored)) return false;  // To open a pipe would wait for its writer.
  std::string beginning(4096, '\0');
  std::ifstream file(out, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<size_t>(file.gcount()));
  return beginning.starts_with(format.mark) && (format.name != "npz" || begins_with_array(beginning));
}

/// Whether a folder holds nothing, or nothing but files that an export which was stopped had not finished.
bool is_free(const fs::path& folder) {
  std::error_code refused;
  for (fs::directory_iterator entry(folder, refused), end; !refused && entry != end; entry.increment(refused))
    if (entry->path().extension() != ".tmp") return false;
  if (refused)
    throw RunError(concat("[export] ", folder, " must be readable, got '", refused.message(), "'."));
  return true;
}

/// What is there is not replaced unasked, and nothing but an earlier export at all.
void check_out(const ExportFlags& flags, const Format& format) {
  const fs::path out = flags.out;
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(out, ignored))) return;
  if (fs::is_directory(out, ignored) != format.is_folder)
    fail("export", "--out must be a ", format.is_folder ? "folder" : "file", " for --to ", flags.to, ", got ",
         out, ", a ", format.is_folder ? "file." : "folder.");
  if (format.is_folder && is_free(out)) return;
  if (!is_of(format, out))
    fail("export", "--out must be new or an earlier export --to ", flags.to, ", got ", out,
         ", which is something else.");
  if (!flags.overwrite)
    fail("export", "--out must be new, got ", out, ", which is there. Hint: --overwrite replaces it.");
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.push_back(format.name);
  return names;
}

int export_model(const ExportFlags& flags) {
  check_choice("export", "--to", flags.to, format_names());
  check_choice("export", "--type", flags.type, exports::gguf_types());
  if (flags.type_given && flags.to != "gguf")
    fail("export", "--type must come with --to gguf, got --to ", flags.to, ".");
  const Format& format =
      *std::find_if(formats().begin(), formats().end(), [&](const Format& f) { return f.name == flags.to; });
  check_out(flags, format);
  const models::DecoderConfig config = models::check_pretrained(flags.folder);
  const auto& known = models::architecture(config.arch).exports;
  if (flags.to != "npz" && std::find(known.begin(), known.end(), flags.to) == known.end())
    fail("export", "--to must be npz for a model of --arch ", config.arch, ", got ", flags.to, ".");
  train::check_memory(models::generation_memory(config), "free some.");
  const train::TrainedModel trained = train::load_trained(flags.folder);
  const fs::path folder = format.is_folder ? fs::path(flags.out) : fs::path(flags.out).parent_path();
  if (!folder.empty()) files::make_folders(folder);
  format.write(trained, flags);

  std::string next = format.next;
  const std::string path = shell_path(flags.out);
  const std::string there =
      format.name == "npz" ? files::json_text(files::plain(flags.out)) : path;  // as Python has it
  for (size_t at = 0; (at = next.find("PATH", at)) != next.npos; at += there.size())
    next.replace(at, 4, there);
  People(flags.quiet).line(concat("wrote   ", path, "\nmore    ", next));
  return kDone;
}

}  // namespace

Action add_export(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<ExportFlags>();
  verb.add_option("folder", flags->folder,
                  "Run folder, or any with config.json, model.safetensors, tokenizer")
      ->type_name("DIR")
      ->required();
  choices(verb.add_option("--to", flags->to,
                          "gguf: one file for llama.cpp and what stands on it\n"
                          "pytorch: a folder with the model as a page of PyTorch\n"
                          "npz: the weights for NumPy\n"
                          "web: a page that writes text in any browser"),
          format_names)
      ->type_name("NAME")
      ->required()
      ->take_last();
  verb.add_option("--out", flags->out, "File (gguf, npz) or folder (pytorch, web) to write")
      ->type_name("PATH")
      ->required()
      ->take_last();
  CLI::Option* const type =
      choices(
          verb.add_option("--type", flags->type, "gguf: matrices as f32, f16, or q8_0, 8 bits with scales"),
          exports::gguf_types)
          ->type_name("NAME")
          ->take_last()
          ->capture_default_str();
  verb.add_flag("--overwrite", flags->overwrite, "Replace what is at --out");
  verb.add_flag("--quiet", flags->quiet, "Nothing for people but errors");
  verb.footer(concat("Examples:\n  ", program, " export out/kjv-mini --to gguf --out kjv.gguf\n  ", program,
                     " export out/kjv-mini --to web --out page"));
  return {[=] {
    flags->type_given = type->count() > 0;
    return export_model(*flags);
  }};
}

}  // namespace gradus::cli
