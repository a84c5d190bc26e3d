#include "gradus/tools/cli/info/info_files.hpp"

#include <algorithm>
#include <iostream>
#include <map>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/gguf/gguf.hpp"

namespace gradus::cli {
namespace {

constexpr uint64_t kShownElements = 4;  // of a list

struct ShownValue {
  std::string operator()(const std::string& text) const { return files::in_quotes(text); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(uint8_t number) const { return concat(unsigned{number}); }
  std::string operator()(int8_t number) const { return concat(int{number}); }
  std::string operator()(const gguf::List& list) const {
    std::string text = concat(grouped(static_cast<int64_t>(list.count)), " of ", gguf::name(list.of), ":");
    const uint64_t count = std::min(list.count, kShownElements);
    for (uint64_t i = 0; i < count; ++i) text += concat(i == 0 ? " " : ", ", list.shown(i));
    return list.count > count ? text + ", ..." : text;
  }
  template <class Number>
  std::string operator()(Number number) const {
    return concat(number);
  }
};

constexpr size_t kWidest = 64;  // a column; a name may be longer

std::string shape_text(const std::vector<uint64_t>& shape) {
  return concat("(", joined(shape), shape.size() == 1 ? ",)" : ")");
}

}  // namespace

int info_of_gguf(const std::filesystem::path& file, std::optional<int64_t> batch) {
  if (batch) fail("info", "--batch must be left out for a GGUF file, got ", *batch, ".");
  const gguf::Header header = gguf::read_header(file);
  std::vector<TableRow> rows{{"key", "type", "value"}};
  for (const auto& [key, value] : header.keys)
    rows.push_back({files::plain(key), std::string(gguf::name(static_cast<gguf::ValueType>(value.index()))),
                    std::visit(ShownValue{}, value)});
  std::cout << table(rows, {}, kWidest);

  rows = {{"tensor", "type", "shape"}};
  uint64_t numbers = 0, bytes = 0;
  std::map<std::string_view, int64_t> types;
  for (const gguf::Tensor& tensor : header.tensors) {
    rows.push_back({files::plain(tensor.name), std::string(tensor.type.name), shape_text(tensor.shape)});
    numbers += tensor.bytes / tensor.type.bytes * tensor.type.block;
    bytes += tensor.bytes;
    ++types[tensor.type.name];
  }
  std::cout << table(rows, {}, kWidest);
  const auto count_of = [](const auto& type) { return concat(type.second, " ", type.first); };
  std::cout << "file        " << shell_path(file.string()) << ": GGUF, " << header.keys.size() << " keys, "
            << header.tensors.size() << " tensors (" << joined(types, ", ", count_of) << ")\n"
            << "numbers     " << grouped(static_cast<int64_t>(numbers)) << " in "
            << byte_size(static_cast<double>(bytes)) << "\n";
  return kDone;
}

}  // namespace gradus::cli
