// safetensors: named tensors in a file, as the Hugging Face tools read and write them.
//
// Layout: 8 bytes little-endian header length N, N bytes of JSON, then the values, packed and little-endian.
// The reader is strict: every byte of a file must belong to the header or to a tensor. It allocates at most a
// small multiple of the file's size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Texts by name, the member __metadata__ of the header.
using Metadata = std::map<std::string, std::string>;

/// A tensor's place in a file.
struct SafetensorsEntry {
  std::string name;             ///< the key in the header
  std::string dtype;            ///< as in the file: F32, BF16, ...
  Shape shape;                  ///< outermost dimension first
  uint64_t begin = 0, end = 0;  ///< bytes, counted from the first value of the file
};

/// The header of a file.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the order of their values
  Metadata metadata;                      ///< empty if the file has none
};

/// Reads the JSON of a header that is followed by `data_bytes` bytes of values. `file` is named in errors.
/// Throws Error unless it is an object without duplicate keys, of known dtypes, whose values fill 0 to
/// data_bytes without gap or overlap and have the size of their shape and dtype.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                           const std::string& file);

/// An open file, for reading single tensors. Not thread-safe.
class SafetensorsFile {
 public:
  /// Which bytes are compared with the checksum.
  enum class Compared { all, header };
  /// Opens the file and checks its header. If a checksum is given, compares all bytes with it first, or
  /// the header alone. Throws Error, naming the file, if it cannot be read, is malformed or was changed.
  explicit SafetensorsFile(const std::filesystem::path& path, const files::FileChecksum* expected = nullptr,
                           Compared compared = Compared::all);

  const SafetensorsHeader& header() const { return header_; }  ///< valid
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

/// Writes the file atomically (see files::write_atomically, also for its errors). The same tensors give
/// the same bytes: widest dtype first, then by name.
void save_safetensors(const std::filesystem::path& path, const StateDict& tensors,
                      const Metadata& metadata = {{"format", "pt"}});
/// The same as a file of that name in an update. Its parts are the header and each tensor.
void save_safetensors(files::FolderUpdate& update, const std::string& name, const StateDict& tensors,
                      const Metadata& metadata = {{"format", "pt"}});

/// The name of the one file in its folder.
inline constexpr const char* kTensorFile = "model.safetensors";
/// The name of the list of shards in its folder.
inline constexpr const char* kTensorIndex = "model.safetensors.index.json";

/// The file of each tensor, by the tensor's name.
using SafetensorsIndex = std::map<std::string, std::string>;

/// Reads the text of an index: the object weight_map, a file name for each tensor. Ignores its other fields.
/// `file` is named in errors. Throws Error unless there are tensors, in at most 512 files, whose names
/// contain no folder.
SafetensorsIndex parse_safetensors_index(std::string_view json, const std::string& file);

/// The tensors of a model's folder: one file, model.safetensors, or several (shards) that
/// model.safetensors.index.json lists, as Hugging Face's transformers writes large models. Not thread-safe.
class SafetensorsFolder {
 public:
  /// Opens model.safetensors, or else all shards of the index. Compares files with the folder's checksums, if
  /// it has them: all bytes, or the headers. Throws Error, naming the file, as SafetensorsFile does, and
  /// unless index and shards have the same tensors.
  explicit SafetensorsFolder(const files::FolderSnapshot& folder,
                             SafetensorsFile::Compared compared = SafetensorsFile::Compared::all);

  const std::string& name() const { return name_; }  ///< path of the file or the index, for errors
  /// Each tensor's entry in its file, by the tensor's name.
  const std::map<std::string, const SafetensorsEntry*>& entries() const { return entries_; }
  /// The values of the tensor of that name in entries(); see SafetensorsFile::read.
  Tensor read(const std::string& name, bool keep_float64 = false);

 private:
  std::string name_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, const SafetensorsEntry*> entries_;
  std::map<std::string, SafetensorsFile*> file_of_;
};

}  // namespace gradus::nn
