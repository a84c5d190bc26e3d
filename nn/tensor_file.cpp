// open_tensors(): see safetensors.hpp.
#include "gradus/files/error.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::nn {
namespace {

constexpr size_t kMark = 14;  // bytes that tell the formats apart

enum class Format { safetensors, zip, pickle };

/// What a file is, by structures that exclude each other. In safetensors, bytes 4 to 7 are 0, as the length
/// of the header is below 2^32, and the next one is {. There, an archive has a compression method, and a
/// pickle opcodes, or the end of a number that no dictionary begins with. The name of
/// a file decides only whose error describes other bytes.
Format format_of(const std::filesystem::path& path, std::string_view begin) {
  const auto protocol = begin.size() > 2 && begin[0] == '\x80' ? begin[1] : '\0';
  if (begin.size() > 8 && begin.substr(4, 5) == std::string_view("\0\0\0\0{", 5)) return Format::safetensors;
  const auto begins = [&](std::string_view mark) {  // which may be cut
    return begin.size() >= 2 && mark.starts_with(begin.substr(0, mark.size()));
  };
  if (begins("PK\3\4") || begins("PK\5\6")) return Format::zip;
  if (protocol >= 2 && protocol <= 5 && begin[2] != '\0') return Format::pickle;
  if (path.extension() == ".safetensors" || begin.starts_with("version ")) return Format::safetensors;
  fail("tensors", files::plain(path.string()),
       " must be safetensors (a length of 8 bytes, then {), an archive of PyTorch (PK), or a pickle of "
       "protocol 2 "
       "to 5, got ",
       begin.empty() ? "an empty file"
                     : concat("a file that begins with ", files::in_quotes(begin.substr(0, 9))),
       ".");
}

}  // namespace

std::unique_ptr<TensorFile> open_tensors(const std::filesystem::path& path,
                                         const files::FileChecksum* expected, TensorFile::Compared compared) {
  std::string begin(kMark, '\0');
  std::error_code ignored;
  if (std::ifstream stream; std::filesystem::is_regular_file(path, ignored) &&
                            (stream.open(path, std::ios::binary), stream.is_open())) {
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<size_t>(stream.gcount()));
    if (const Format format = format_of(path, begin); format != Format::safetensors)
      return files::needed(files::foreign_tensors().open_checkpoint, "tensors",
                           concat(path.string(), format == Format::zip ? ", a checkpoint of PyTorch,"
                                                                       : ", a pickle,"))(path, begin);
  }
  return std::make_unique<SafetensorsFile>(path, expected, compared);
}

}  // namespace gradus::nn
