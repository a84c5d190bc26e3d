#include "gradus/tools/export/export.hpp"

#include <algorithm>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/utf8.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/tools/embedded.hpp"
#include "gradus/tools/export/encodings.hpp"

namespace gradus::exports {
namespace {

constexpr int64_t kCheckedTokens = 32;

/// The greedy continuation of a line break, or of token 0.
std::vector<int64_t> greedy_tokens(const train::TrainedModel& trained) {
  const bool has_end = trained.tokenizer.has(U'\n');
  const int64_t first = has_end ? trained.tokenizer.encode("\n").front() : 0;
  std::vector<int64_t> tokens{first};
  const int64_t more = std::min(kCheckedTokens, trained.model.config().block_size) - 1;
  Generator unused(0);
  const auto next =
      models::generate(trained.model, tokens, {.max_new_tokens = more, .temperature = 0}, unused);
  tokens.insert(tokens.end(), next.begin(), next.end());
  return tokens;
}

/// The logits of each position: (T, V).
Tensor logits_of(const models::Decoder& model, const std::vector<int64_t>& tokens) {
  const auto state = model.make_state();
  std::vector<Tensor> rows;
  for (const int64_t token : tokens)
    rows.push_back(model.decode(tensor(std::vector<int64_t>{token}, {1, 1}), *state));
  return cat(rows, 0);
}

/// A text that the vocabulary can encode, with details that tokenizers treat differently if it can.
std::string checked_text(const data::Tokenizer& tokenizer, const std::vector<int64_t>& tokens) {
  const std::string written = tokenizer.decode(std::vector<int32_t>(tokens.begin(), tokens.end()));
  if (tokenizer.kind() == "char") return written;
  const std::string text = "It's  12 o'clock,\n\nthe “naïve” café’s \t 日本語 ½.  ";
  return files::is_utf8(written) ? text + written : text;
}

std::string check_json(const data::Tokenizer& tokenizer, const std::string& text) {
  return concat("{\"text\": ", files::json_text(text), ", \"tokens\": [", joined(tokenizer.encode(text)),
                "]}\n");
}

}  // namespace

void write_pytorch(const train::TrainedModel& trained, const std::filesystem::path& folder) {
  const NoGrad no_grad;
  must_follow_gpt2(trained.tokenizer, "pytorch");
  const std::vector<int64_t> tokens = greedy_tokens(trained);
  files::FolderUpdate update(folder);
  nn::save_safetensors(update, "check.safetensors",  // identifies the folder, so first
                       {{"tokens", tensor(tokens, {static_cast<int64_t>(tokens.size())})},
                        {"logits", logits_of(trained.model, tokens)}});
  std::map<std::string, std::string> files = data::tokenizer_files(trained.tokenizer);
  files["vocab.json"] = trained.tokenizer.to_json();  // tokenizer.py reads no tokenizer.json
  if (std::string merges = trained.tokenizer.to_merges(); !merges.empty()) files["merges.txt"] = merges;
  for (const auto& [name, text] : files) update.write(name, text);
  update.write("check.json", check_json(trained.tokenizer, checked_text(trained.tokenizer, tokens)));
  update.write("text.json", concat("{\"prefix\": [", joined(trained.tokenizer.prefix()), "], \"ends\": [",
                                   joined(trained.tokenizer.eos()), "]}\n"));
  for (const std::string name : {"model.py", "tokenizer.py", "sample.py", "check.py"})
    update.write(name, tools::embedded_file("export/pytorch/" + name));
  models::save_pretrained(trained.model, update);  // and config.json, so last
  update.commit_without_list();
  if (trained.tokenizer.kind() != "bpe") std::filesystem::remove(folder / "merges.txt");  // of another model
}

}  // namespace gradus::exports
