#include "readers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "data/small_vocabulary.hpp"
#include "gradus/annexes/formats/foreign/pickle.hpp"
#include "gradus/annexes/formats/foreign/zip.hpp"
#include "gradus/annexes/formats/gguf/gguf.hpp"
#include "gradus/data/chat.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/stored/adapter.hpp"
#include "gradus/models/stored/config_json.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/run_folder/checkpoint.hpp"
#include "gradus/train/train_json.hpp"
#include "gradus/train/trainer/loop_options.hpp"
#include "gradus/train/trainer/metrics.hpp"
#ifdef GRADUS_FUZZ_TOML
#include "gradus/cli/program/config_file.hpp"
#endif

namespace gradus::fuzz {
namespace {

const std::string kFile = "file";

void require(bool holds, const char* what) {
  if (!holds) throw Fault(what);
}

/// Bytes as a file, in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    for (ssize_t done = 0; !bytes.empty(); bytes.remove_prefix(static_cast<size_t>(done)))
      if ((done = ::write(descriptor_, bytes.data(), bytes.size())) <= 0)
        throw std::runtime_error("no file in memory");
  }
  ~MemoryFile() { ::close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void read_safetensors(std::string_view bytes) {
  const MemoryFile file(bytes);
  nn::SafetensorsFile opened(file.path());
  uint64_t end = 0;
  for (const nn::TensorEntry& entry : opened.header().entries) {
    require(entry.begin == end && entry.end >= end && entry.end <= bytes.size(), "values lie in the file");
    end = entry.end;
  }
  for (const nn::TensorEntry& entry : opened.header().entries) {
    const Tensor values = opened.read(entry);
    require(values.shape() == entry.shape, "values have their shape");
  }
}

/// Checkpoints of PyTorch.
void read_checkpoint(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto opened = nn::open_tensors(file.path());
  for (const nn::TensorEntry& entry : opened->header().entries)
    require(opened->read(entry).shape() == entry.shape, "values have their shape");
}

void read_pickle(std::string_view bytes) {
  const foreign::Pickle pickle = foreign::read_pickle(bytes, kFile);
  for (const auto& [name, tensor] : pickle.tensors)
    require(nn::dtype_bits(tensor.dtype) >= 8 && tensor.numel >= 0 && tensor.offset >= 0,
            "tensors have a place");
}

void read_zip(std::string_view bytes) {
  const MemoryFile file(bytes);
  const foreign::ZipFile archive(file.path());
  for (const auto& [name, entry] : archive.entries())
    require(archive.read(name).size() == entry.bytes, "a file has its size");
}

void read_index(std::string_view bytes) {
  for (const auto& [tensor, file] : nn::parse_safetensors_index(bytes, kFile))
    require(file.find('/') == file.npos && file != ".." && !file.empty(), "shards lie in the folder");
}

void read_config(std::string_view bytes) {
  const models::DecoderConfig config = models::config_from_json(bytes, kFile);
  config.validate();
  require(config.num_parameters() > 0, "a valid config has a size");
}

void read_adapter(std::string_view bytes) {
  const models::AdapterConfig config = models::adapter_config_from_json(bytes, kFile);
  require(config.rank > 0 && config.alpha > 0 && config.dropout >= 0 && config.dropout < 1,
          "an adapter that was read is valid");
}

void read_vocab(std::string_view bytes) {
  const data::Tokenizer tokenizer = data::Tokenizer::from_json(bytes);
  require(data::Tokenizer::from_json(tokenizer.to_json()) == tokenizer, "a vocabulary comes back");
}

void require_whole(const data::Tokenizer& tokenizer) {
  const std::string text = "ab abc  <|endoftext|>\xFF\n";
  const bool is_whole =
      tokenizer.kind() == "byte" || (tokenizer.kind() == "bpe" && tokenizer.pairs().follows_gpt2());
  if (is_whole) require(tokenizer.decode(tokenizer.encode(text)) == text, "a text comes back");
  if (tokenizer.kind() == "bpe") (void)tokenizer.decode(tokenizer.encode_with_specials(text));
  require(data::Tokenizer::from_tokenizer_json(tokenizer.to_tokenizer_json()) == tokenizer,
          "a tokenizer comes back");
}

void read_merges(std::string_view bytes) {
  static const std::string vocab =
      data::small_vocab("a b\nab c\n\xC4\xA0 a\n# #\n\xC4\xA0 ab\n\xC3\x82 \xC2\xA9\n", {"<|endoftext|>"});
  const data::Tokenizer tokenizer = data::Tokenizer::from_gpt2(vocab, bytes);
  require_whole(tokenizer);
  require(data::Tokenizer::from_gpt2(vocab, tokenizer.to_merges()) == tokenizer, "merges come back");
}

void read_examples(std::string_view bytes) {
  static const data::Tokenizer tokenizer = data::with_chat(data::Tokenizer::bytes());
  const data::Records records = data::read_records({{"examples.jsonl", std::string(bytes)}}, {});
  for (const data::Example& one : data::read_examples(records, tokenizer, {.most_tokens = 64}).examples)
    if (one.tokens.size() < 2 || one.tokens.size() > 64 || one.counts.size() != one.tokens.size())
      throw Fault("an example of another size");
}

void read_tokenizer(std::string_view bytes) { require_whole(data::Tokenizer::from_tokenizer_json(bytes)); }

void read_train(std::string_view bytes) {
  const std::string once = train::to_json(train::train_config_from_json(bytes));
  require(train::to_json(train::train_config_from_json(once)) == once, "a config comes back");
}

void read_recipe(std::string_view bytes) {
  const std::string once = train::to_json(train::loop_options_from_json(bytes, kFile));
  require(train::to_json(train::loop_options_from_json(once, kFile)) == once,
          "the options of a loop come back");
  require(train::is_loop_options(once, kFile), "the options of a loop are recognized");
}

void read_trainer(std::string_view bytes) {
  const std::string once = train::to_json(train::checkpoint_from_json(bytes, kFile));
  require(train::to_json(train::checkpoint_from_json(once, kFile)) == once, "a checkpoint comes back");
}

void read_metrics(std::string_view bytes) {
  const std::string kept = train::records_up_to(3, std::string(bytes));
  require(kept.size() <= bytes.size() + 1, "lines are dropped, not made");
  require(train::records_up_to(3, kept) == kept, "what was kept is kept");
}

#ifdef GRADUS_FUZZ_TOML
void read_toml(std::string_view bytes) {
  const std::vector<cli::ConfigItem> items = cli::parse_toml(bytes, "train", kFile);
  require(items.size() <= bytes.size(), "no more keys than bytes");
}
#endif

void read_gguf(std::string_view bytes) {
  const MemoryFile file(bytes);
  const gguf::Header header = gguf::read_header(file.path());
  for (const gguf::Tensor& tensor : header.tensors)
    require(tensor.bytes > 0 && header.data_start + tensor.begin + tensor.bytes <= bytes.size(),
            "tensors lie in the file");
  for (const auto& [key, value] : header.keys)
    if (const auto* const list = std::get_if<gguf::List>(&value))
      for (uint64_t i = 0; i < list->count; ++i) (void)list->shown(i);
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"safetensors", read_safetensors},
      {"checkpoint", read_checkpoint},
      {"pickle", read_pickle},
      {"zip", read_zip},
      {"index", read_index},
      {"adapter", read_adapter},
      {"config", read_config},
      {"vocab", read_vocab},
      {"merges", read_merges},
      {"examples", read_examples},
      {"tokenizer", read_tokenizer},
      {"train", read_train},
      {"recipe", read_recipe},
      {"trainer", read_trainer},
      {"metrics", read_metrics},
#ifdef GRADUS_FUZZ_TOML
      {"toml", read_toml},
#endif
      {"gguf", read_gguf},
  };
  return all;
}

const Reader& reader(std::string_view name) {
  const auto found = std::find_if(readers().begin(), readers().end(),
                                  [&](const Reader& reader) { return reader.name == name; });
  if (found == readers().end()) throw std::out_of_range("there is no reader " + std::string(name));
  return *found;
}

void try_to_read(const Reader& reader, std::string_view bytes) {
  try {
    reader.read(bytes);
  } catch (const Error& e) {
    const std::string shown = files::plain(e.what());
    require(shown.starts_with('['), "an error names its reader");
    require(shown.size() < 2000, "an error is short");
  }
}

}  // namespace gradus::fuzz
