// open_tensors(): see safetensors.hpp.
#include "gradus/files/error.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::nn {
namespace {

/// ", a checkpoint of PyTorch," or ", a pickle," for a file of that format; null for any other, which is read
/// as safetensors. The formats exclude each other: in safetensors, bytes 4 to 7 are 0, as the length of the
/// header is below 2^32, and the next byte is {. An archive has a compression method in these places. A
/// pickle has opcodes, or the end of a number that no dictionary begins with.
const char* foreign_format(std::string_view begin) {
  const auto protocol = begin.size() > 2 && begin[0] == '\x80' ? begin[1] : '\0';
  if (begin.size() > 8 && begin.substr(4, 5) == std::string_view("\0\0\0\0{", 5)) return nullptr;
  const auto begins = [&](std::string_view mark) {  // which may be cut
    return begin.size() >= 2 && mark.starts_with(begin.substr(0, mark.size()));
  };
  if (begins("PK\3\4") || begins("PK\5\6")) return ", a checkpoint of PyTorch,";
  return protocol >= 2 && protocol <= 5 && begin[2] != '\0' ? ", a pickle," : nullptr;
}

}  // namespace

std::unique_ptr<TensorFile> open_tensors(const std::filesystem::path& path,
                                         const files::FileChecksum* expected, TensorFile::Compared compared) {
  std::string begin(14, '\0');  // tells the formats apart
  std::error_code ignored;
  if (std::ifstream stream; std::filesystem::is_regular_file(path, ignored) &&
                            (stream.open(path, std::ios::binary), stream.is_open())) {
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<size_t>(stream.gcount()));
    if (const char* const format = foreign_format(begin))
      return files::needed(files::foreign_tensors().open_checkpoint, "tensors", path.string() + format)(
          path, begin);
  }
  return std::make_unique<SafetensorsFile>(path, expected, compared);
}

}  // namespace gradus::nn
