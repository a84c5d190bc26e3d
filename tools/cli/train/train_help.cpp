#include "gradus/tools/cli/train/train_help.hpp"

#include <iomanip>
#include <sstream>

#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {
namespace {

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

std::string train_footer(const std::string& program) {
  std::string text;
  for (const models::Architecture* row : models::architectures()) {
    text += concat("Presets of --arch ", row->name, ", with ", train::preset(row->presets[0].name).optimizer,
                   ":\n");
    for (const models::Preset& preset : row->presets) text += concat("  ", preset_line(*row, preset), "\n");
  }
  return concat(text,
                "With --init-from: 200 steps of about 2,048 tokens, --block at most 512, --lr 3e-4,\n"
                "--warmup 20, evaluations and checkpoints every 50 steps.\n"
                "Flags override the config file, which overrides the preset.\n\nExamples:\n  ",
                program, " train --preset tiny --corpus stories\n  ", program,
                " train --text my.txt --tokenizer byte --out out/my --steps 5000\n  ", program,
                " train --heads 8 --kv-heads 2 --embd 256\n  ", program,
                " train --text my.txt --minutes 3 --members 4\n  ", program,
                " train --init-from out/my --text other.txt\n  ", program, " train --out out/my --resume");
}

}  // namespace gradus::cli
