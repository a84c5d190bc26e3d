// join_formats_full() lets `gradus info` describe GGUF files, and `train` write files for TensorBoard.
#include <algorithm>

#include "gradus/annexes/formats/gguf/gguf.hpp"
#include "gradus/annexes/formats/tensorboard/event_files.hpp"
#include "gradus/cli/program/annexes.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

struct ShownValue {
  std::string operator()(const std::string& text) const { return files::in_quotes(text); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(uint8_t number) const { return concat(unsigned{number}); }
  std::string operator()(int8_t number) const { return concat(int{number}); }
  std::string operator()(const gguf::List& list) const {
    std::string text = concat(grouped(static_cast<int64_t>(list.count)), " of ", gguf::name(list.of), ":");
    const uint64_t count = std::min(list.count, uint64_t{4});
    for (uint64_t i = 0; i < count; ++i) text += concat(i == 0 ? " " : ", ", list.shown(i));
    return list.count > count ? text + ", ..." : text;
  }
  template <class Number>
  std::string operator()(Number number) const {
    return concat(number);
  }
};

Listing list_gguf(const std::filesystem::path& file) {
  const gguf::Header header = gguf::read_header(file);
  Listing listing;
  for (const gguf::Tensor& tensor : header.tensors)
    listing.entries.push_back({tensor.name, std::string(tensor.type.name),
                               concat("(", joined(tensor.shape), tensor.shape.size() == 1 ? ",)" : ")"), "",
                               tensor.bytes / tensor.type.bytes * tensor.type.block, tensor.bytes});
  for (const auto& [key, value] : header.keys)
    listing.metadata.push_back({key, std::string(gguf::name(static_cast<gguf::ValueType>(value.index()))),
                                std::visit(ShownValue{}, value)});
  listing.files = 1;
  listing.bytes = std::filesystem::file_size(file);
  return listing;
}

}  // namespace

void join_formats_full(Annexes& annexes) {
  annexes.event_files = [](const std::filesystem::path& folder, int64_t steps_done, train::Observer& next) {
    const auto files = std::make_shared<tensorboard::EventFileObserver>(folder, steps_done, next);
    return FileWriter{files, [files] { files->finish(); }};
  };
  annexes.list = [](const std::filesystem::path& file) {
    return gguf::is_gguf(file) ? std::optional(list_gguf(file)) : std::nullopt;
  };
}

}  // namespace gradus::cli
