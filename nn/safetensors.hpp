// Named tensors in files: safetensors, as the Hugging Face tools read and write them, and for reading
// PyTorch's checkpoints (.pt, .pth, .bin), which tensor_file.cpp has.
//
// Layout of safetensors: 8 bytes little-endian header length N, N bytes of JSON, then the values, packed and
// little-endian. The reader is strict: every byte of a file must belong to the header or to a tensor. Readers
// allocate at most a small multiple of the file's size.
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
#include "gradus/files/error.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::files {
struct FileChecksum;
class FolderSnapshot;
class FolderUpdate;
}  // namespace gradus::files

namespace gradus::nn {

/// Texts by name: the member __metadata__ of the header, or the values of a checkpoint that are no tensors.
using Metadata = std::map<std::string, std::string>;

/// Bits of one number of a dtype as safetensors names it; 0 for an unknown one.
uint64_t dtype_bits(std::string_view dtype);

/// A tensor's place in a file.
struct TensorEntry {
  std::string name;             ///< the key in the header, or keys of nested dictionaries joined by points
  std::string dtype;            ///< as safetensors names it: F32, BF16, ...
  Shape shape;                  ///< outermost dimension first
  uint64_t begin = 0, end = 0;  ///< bytes, counted from the first value of the file or of the storage
};

/// The header of a file.
struct TensorHeader {
  std::vector<TensorEntry> entries;  ///< in the order of their values
  Metadata metadata;                 ///< empty if the file has none
  std::string state = {};            ///< the beginning of the names of a model's tensors, such as "model."
};

/// Reads the JSON of a header that is followed by `data_bytes` bytes of values. `file` is named in errors.
/// Throws Error unless it is an object without duplicate keys, of known dtypes, whose values fill 0 to
/// data_bytes without gap or overlap and have the size of their shape and dtype.
TensorHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& file);

/// An open file, for reading single tensors. Not thread-safe.
class TensorFile {
 public:
  /// Which bytes are compared with the checksum.
  enum class Compared { all, header };
  virtual ~TensorFile() = default;

  const TensorHeader& header() const { return header_; }  ///< valid
  /// The values of one entry of header(). F32, F16, BF16 and F64 become float32 (F64 stays if keep_float64),
  /// I64 int64, BOOL bool. Throws Error for any other dtype.
  Tensor read(const TensorEntry& entry, bool keep_float64 = false);
  /// The values of a weight, float32. Throws Error, also for int64 and bool, and unless all values are
  /// finite, naming the first one that is not.
  Tensor read_weight(const TensorEntry& entry);

 protected:
  /// Errors begin with "[op] name: ".
  TensorFile(const char* op, std::string name) : op_(op), name_(std::move(name)) {}
  /// A stream that gives the values of an entry of header(), packed, in the order of its indices.
  virtual std::istream& values(const TensorEntry& entry) = 0;
  /// Throws Error: "[op] name: ", then the parts.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(op_, name_, ": ", parts...);
  }

  const char* op_;       ///< as given to the constructor
  std::string name_;     ///< as given to the constructor
  TensorHeader header_;  ///< what header() returns

 private:
  DType loaded_as(const TensorEntry& entry, bool keep_float64) const;
};

/// A safetensors file.
class SafetensorsFile final : public TensorFile {
 public:
  /// Opens the file and checks its header. If a checksum is given, compares all bytes with it first, or
  /// the header alone. Throws Error, naming the file, if it cannot be read, is malformed or was changed.
  explicit SafetensorsFile(const std::filesystem::path& path, const files::FileChecksum* expected = nullptr,
                           Compared compared = Compared::all);

 private:
  std::istream& values(const TensorEntry& entry) override;

  std::ifstream stream_;
  uint64_t data_start_ = 0;
};

/// Opens a file of any of these formats, which its first bytes tell. The annex `formats` reads
/// all but safetensors: the pickle of a checkpoint runs no code, its tensors may be views, and a plain pickle
/// has metadata only. Throws Error, naming the file, if it cannot be read or is malformed, and in a program
/// without the annex; for safetensors see SafetensorsFile.
std::unique_ptr<TensorFile> open_tensors(const std::filesystem::path& path,
                                         const files::FileChecksum* expected = nullptr,
                                         TensorFile::Compared compared = TensorFile::Compared::all);

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

/// Whether a folder has one of the files that TensorFolder opens by their names.
bool has_tensors(const files::FolderSnapshot& folder);

/// The tensors of a model's folder: one file, model.safetensors, or several (shards) that
/// model.safetensors.index.json lists, as Hugging Face's transformers writes large models; or else the same
/// of pytorch_model.bin, or model.pth or ckpt.pt; or the file that the folder was opened by. Of a checkpoint,
/// the model's tensors alone. Not thread-safe.
class TensorFolder {
 public:
  /// Opens the file or all shards of the index. Compares files with the folder's checksums, if
  /// it has them: all bytes, or the headers. Throws Error, naming the file, as SafetensorsFile does, and
  /// unless index and shards have the same tensors.
  explicit TensorFolder(const files::FolderSnapshot& folder,
                        TensorFile::Compared compared = TensorFile::Compared::all);

  const std::string& name() const { return name_; }  ///< path of the file or the index, for errors
  /// The paths of the files with the tensors, in the order of their names.
  const std::vector<std::filesystem::path>& paths() const { return paths_; }
  /// The header of paths()[i].
  const TensorHeader& header(size_t i) const { return files_[i]->header(); }
  /// Each tensor's entry in its file, by the tensor's name.
  const std::map<std::string, const TensorEntry*>& entries() const { return entries_; }
  /// The values of the tensor of that name in entries(); see TensorFile::read_weight.
  Tensor read_weight(const std::string& name) { return file_of_.at(name)->read_weight(*entries_.at(name)); }

 private:
  std::string name_;
  std::vector<std::filesystem::path> paths_;
  std::vector<std::unique_ptr<TensorFile>> files_;
  std::map<std::string, const TensorEntry*> entries_;
  std::map<std::string, TensorFile*> file_of_;
};

}  // namespace gradus::nn
