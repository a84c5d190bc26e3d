// safetensors: named tensors in one file, as the Hugging Face tools read and write them.
//
// Layout: 8 bytes little-endian header length N, N bytes of JSON, then the values, packed and little-endian.
// The reader is strict: a file that passes its checks has no byte unaccounted for. Nothing in a file can make
// it allocate more than a small multiple of the file's own size. Thread-safety: a SafetensorsFile belongs to
// one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Texts by name, which stand in the header under __metadata__.
using Metadata = std::map<std::string, std::string>;

/// Where one tensor lies in a file.
struct SafetensorsEntry {
  std::string name;             ///< the key in the header
  std::string dtype;            ///< as in the file: F32, BF16, ...
  Shape shape;                  ///< outermost dimension first
  uint64_t begin = 0, end = 0;  ///< bytes, counted from the first value of the file
};

/// What a file holds.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the order of their values
  Metadata metadata;                      ///< empty if the file has none
};

/// Reads the JSON of a header that is followed by `data_bytes` bytes of values. `file` is named in errors.
/// Throws Error unless it is an object without duplicate keys, of known dtypes, whose values follow one
/// another from 0 to data_bytes without hole or overlap and have the size that shape and dtype give.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                           const std::string& file);

/// A file that is open, to read single tensors of it.
class SafetensorsFile {
 public:
  /// Which bytes are compared with the checksum.
  enum class Compared { all, header };
  /// Opens the file and checks its header. If a checksum is given, compares all bytes with it first, or
  /// the header alone. Throws Error, naming the file, if it cannot be read, is malformed or was changed.
  explicit SafetensorsFile(const std::filesystem::path& path, const files::FileChecksum* expected = nullptr,
                           Compared compared = Compared::all);

  const SafetensorsHeader& header() const { return header_; }  ///< checked
  /// The values of one entry of header(). F32, F16, BF16 and F64 become float32 (F64 stays if keep_float64),
  /// I64 int64, BOOL bool. Throws Error for any other dtype.
  Tensor read(const SafetensorsEntry& entry, bool keep_float64 = false);

 private:
  DType loaded_as(const SafetensorsEntry& entry, bool keep_float64) const;

  std::string name_;
  std::ifstream stream_;
  uint64_t data_start_ = 0;
  SafetensorsHeader header_;
};

/// All tensors of a file. Throws as SafetensorsFile does.
StateDict load_safetensors(const std::filesystem::path& path, bool keep_float64 = false,
                           const files::FileChecksum* expected = nullptr);

/// Writes the file atomically (see files::write_atomically, also for what is thrown). The same tensors give
/// the same bytes: widest dtype first, then by name.
void save_safetensors(const std::filesystem::path& path, const StateDict& tensors,
                      const Metadata& metadata = {{"format", "pt"}});
/// The same as a file of that name in an update. Its parts are the header and each tensor.
void save_safetensors(files::FolderUpdate& update, const std::string& name, const StateDict& tensors,
                      const Metadata& metadata = {{"format", "pt"}});

}  // namespace gradus::nn
