// Checkpoints of PyTorch and plain pickles, for nn::open_tensors().
#include <algorithm>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <utility>

#include "gradus/annexes/formats/foreign/pickle.hpp"
#include "gradus/annexes/formats/foreign/readers.hpp"
#include "gradus/annexes/formats/foreign/zip.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::foreign {
namespace {

using nn::TensorEntry, nn::TensorFile, nn::dtype_bits;

constexpr std::string_view kOldCheckpoint = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19";

/// Gives bytes to a stream without a copy.
class BytesBuffer : public std::streambuf {
 public:
  void show(std::string_view bytes) {
    char* const begin = const_cast<char*>(bytes.data());
    setg(begin, begin, begin + bytes.size());
  }
};

/// Tensors whose elements have any strides in their storages, the files of an archive or the file itself.
class StridedFile final : public TensorFile {
 public:
  StridedFile(const std::filesystem::path& path, std::string_view begin)
      : TensorFile("tensors", files::plain(path.string())) {
    if (begin.starts_with("PK")) {
      zip_.emplace(path);
      std::vector<std::string> pickles;
      for (const auto& [name, entry] : zip_->entries())
        if (name == "data.pkl" || name.ends_with("/data.pkl")) pickles.push_back(name);
      if (pickles.size() != 1)
        refuse("must have one data.pkl, as a checkpoint of PyTorch has, got ", pickles.size(), ".");
      add_checkpoint(pickles[0].substr(0, pickles[0].size() - 8), zip_->read_text(pickles[0]));
    } else if (begin.starts_with(kOldCheckpoint)) {
      refuse(
          "must be a zip archive, as PyTorch writes since 1.6, got an older checkpoint. Hint: "
          "torch.save(torch.load(path), path) in a newer PyTorch writes one.");
    } else {
      header_.metadata = read_pickle(files::read(path), path.string()).values;
    }
  }

 private:
  struct Place {
    std::string member;  // of the archive; "": the file itself
    Shape strides;       // in elements
  };

  void add(TensorEntry entry, uint64_t begin, uint64_t storage_bytes, Place place) {
    const uint64_t size = dtype_bits(entry.dtype) / 8;
    check_sizes(op_, entry.shape);
    const auto count = static_cast<uint64_t>(entry.shape.numel());
    uint64_t last = 0;
    bool fits = place.strides.size() == entry.shape.size();
    for (int i = 0; fits && i < entry.shape.size(); ++i) {
      const auto steps = static_cast<uint64_t>(std::max<int64_t>(entry.shape[i], 1)) - 1;
      uint64_t step = 0;
      fits = !__builtin_mul_overflow(steps, static_cast<uint64_t>(place.strides[i]), &step) &&
             !__builtin_add_overflow(last, step, &last);
    }
    // A view that repeats elements could be of any size.
    if (!fits || begin > storage_bytes || count > (storage_bytes - begin) / size ||
        (count > 0 && last >= (storage_bytes - begin) / size))
      refuse(files::in_quotes(entry.name), " must lie in its storage of ", storage_bytes, " bytes, got ",
             entry.dtype, " ", entry.shape, " at ", begin, ".");
    entry.begin = begin;
    entry.end = begin + count * size;
    places_.emplace(entry.name, std::move(place));
    header_.entries.push_back(std::move(entry));
  }

  void add_checkpoint(const std::string& folder, const std::string& bytes) {
    if (const auto order = zip_->entries().find(folder + "byteorder");
        order != zip_->entries().end() && zip_->read(order->first, 8) != "little")
      refuse("must be little-endian, got a big-endian checkpoint.");
    Pickle pickle = read_pickle(bytes, name_);
    for (auto& [name, tensor] : pickle.tensors) {
      const std::string member = concat(folder, "data/", tensor.storage);
      const auto storage = zip_->entries().find(member);
      const uint64_t size = dtype_bits(tensor.dtype) / 8;
      if (storage == zip_->entries().end() ||
          storage->second.bytes / size != static_cast<uint64_t>(tensor.numel))
        refuse("the storage of ", files::in_quotes(name), " must have ", tensor.numel, " elements of ",
               tensor.dtype, ", got ", storage == zip_->entries().end() ? 0 : storage->second.bytes,
               " bytes.");
      const auto offset = static_cast<uint64_t>(std::min(tensor.offset, tensor.numel));
      add({.name = name, .dtype = tensor.dtype, .shape = Shape(tensor.shape)}, offset * size,
          storage->second.bytes, {member, Shape(tensor.strides)});
    }
    header_.metadata = std::move(pickle.values);
    header_.state = std::move(pickle.state);
  }

  std::istream& values(const TensorEntry& entry) override {
    const Place& place = places_.at(entry.name);
    if (!loaded_ || loaded_->first != place.member) {
      loaded_.reset();
      loaded_ = {place.member, zip_->read(place.member)};
    }
    const std::string_view storage = std::string_view(loaded_->second).substr(entry.begin);
    const uint64_t size = dtype_bits(entry.dtype) / 8, bytes = entry.end - entry.begin;
    stream_.clear();
    if (bytes == 0 || place.strides == contiguous_strides(entry.shape)) {
      buffer_.show(storage.substr(0, bytes));
      return stream_;
    }
    packed_.resize(bytes);
    for (int64_t i = 0; i < entry.shape.numel(); ++i) {
      const Shape at = entry.shape.index_of(i);
      int64_t from = 0;  // element of the storage
      for (int dim = 0; dim < at.size(); ++dim) from += at[dim] * place.strides[dim];
      std::copy_n(storage.data() + static_cast<uint64_t>(from) * size, size,
                  packed_.data() + static_cast<uint64_t>(i) * size);
    }
    buffer_.show(packed_);
    return stream_;
  }

  std::optional<ZipFile> zip_;
  std::map<std::string, Place> places_;                        // by the name of the tensor
  std::optional<std::pair<std::string, std::string>> loaded_;  // the last storage: its name, its bytes
  std::string packed_;
  BytesBuffer buffer_;
  std::istream stream_{&buffer_};
};

}  // namespace

std::unique_ptr<TensorFile> open_checkpoint(const std::filesystem::path& path, std::string_view begin) {
  return std::make_unique<StridedFile>(path, begin);
}

}  // namespace gradus::foreign

namespace gradus::files {

const ForeignTensors& foreign_tensors() {
  static constexpr ForeignTensors kReaders{.open_checkpoint = foreign::open_checkpoint};
  return kReaders;
}

}  // namespace gradus::files
