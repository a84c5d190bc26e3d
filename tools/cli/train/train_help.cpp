#include "gradus/tools/cli/train/train_help.hpp"

#include <iomanip>
#include <sstream>

#include "gradus/files/error.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {
namespace {

/// What is worth knowing of a preset beside its numbers.
std::string about_preset(const std::string& name) {
  if (name == "tiny") return "seconds";
  if (name == "nano") return "minutes, as in nanoGPT";
  if (name == "mini") return "minutes (default)";
  if (name == "midi") return "half an hour";
  if (name == "gpt2") return "the shape of GPT-2";
  return "hours";
}

std::string preset_line(const std::string& name) {
  const train::TrainConfig config = train::preset(name);
  std::ostringstream line;
  line << std::left << std::setw(5) << name << std::right << std::setw(3) << config.model.n_layer
       << " layers, " << config.model.n_head << " heads, " << std::setw(3) << config.model.n_embd
       << " wide, block " << std::setw(4) << config.model.block_size << "; " << std::setw(6) << config.steps
       << " steps of " << config.batch;
  if (config.accum > 1) line << " x " << config.accum;
  if (name == models::preset_names().front()) line << " windows";
  if (config.model.dropout > 0) line << ", dropout " << config.model.dropout;
  line << ": " << about_preset(name);
  return line.str();
}

}  // namespace

std::string train_footer(const std::string& program) {
  std::string text;
  for (const std::string& name : models::preset_names())
    text += concat(text.empty() ? "Presets: " : "         ", preset_line(name), "\n");
  return concat(text,
                "mini, midi and maxi are llamas that Muon trains, the others GPT-2s for AdamW.\n"
                "--init-from: 200 steps, --lr 3e-4, --warmup 20, looking and saving every 50.\n"
                "Flags win over the config file, which wins over the preset.\n\nExamples:\n  ",
                program, " train --preset tiny --corpus stories\n  ", program,
                " train --text my.txt --tokenizer byte --out out/my --steps 5000\n  ", program,
                " train --heads 8 --kv-heads 2 --embd 256\n  ", program,
                " train --init-from out/my --text other.txt\n  ", program, " train --out out/my --resume");
}

}  // namespace gradus::cli
