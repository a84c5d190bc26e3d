// Checkpoints of PyTorch and arrays of NumPy; see safetensors.hpp.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/pickle.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/zip.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::nn {
namespace {

constexpr std::string_view kNumpy = "\x93NUMPY";
constexpr std::string_view kOldCheckpoint = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19";
// Bytes that are read of an array to find its header: those of 8 dimensions have at most 320
// (numpy.lib.format).
constexpr size_t kNumpyHeader = 512;

enum class Format { safetensors, zip, numpy, pickle };

/// What a file is, by structures that exclude each other. In safetensors, bytes 4 to 7 are 0, as the length
/// of the header is below 2^32, and the next one is {. There, an archive has a compression method, an array a
/// part of its name, and a pickle opcodes, or the end of a number that no dictionary begins with. The name of
/// a file decides only whose error describes other bytes.
Format format_of(const std::filesystem::path& path, std::string_view begin) {
  const auto protocol = begin.size() > 2 && begin[0] == '\x80' ? begin[1] : '\0';
  if (begin.size() > 8 && begin.substr(4, 5) == std::string_view("\0\0\0\0{", 5)) return Format::safetensors;
  const auto begins = [&](std::string_view mark) {  // which may be cut
    return begin.size() >= 2 && mark.starts_with(begin.substr(0, mark.size()));
  };
  if (begins("PK\3\4") || begins("PK\5\6")) return Format::zip;
  if (begin.starts_with(kNumpy)) return Format::numpy;
  if (protocol >= 2 && protocol <= 5 && begin[2] != '\0') return Format::pickle;
  if (path.extension() == ".safetensors" || begin.starts_with("version ")) return Format::safetensors;
  fail("tensors", files::plain(path.string()),
       " must be safetensors (a length of 8 bytes, then {), an archive of PyTorch or NumPy (PK), an array of "
       "NumPy, or a pickle of protocol 2 to 5, got ",
       begin.empty() ? "an empty file"
                     : concat("a file that begins with ", files::in_quotes(begin.substr(0, 9))),
       ".");
}

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
  StridedFile(const std::filesystem::path& path, Format format, bool is_old)
      : TensorFile("tensors", files::plain(path.string())) {
    if (format == Format::zip) {
      zip_.emplace(path);
      std::vector<std::string> pickles;
      for (const auto& [name, entry] : zip_->entries())
        if (name == "data.pkl" || name.ends_with("/data.pkl")) pickles.push_back(name);
      if (pickles.size() > 1) refuse("must have one data.pkl, got ", pickles.size(), ".");
      if (!pickles.empty()) {
        add_checkpoint(pickles[0].substr(0, pickles[0].size() - 8), zip_->read_text(pickles[0]));
        return;
      }
      for (const auto& [name, entry] : zip_->entries())
        add_array(name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name, name,
                  zip_->read(name, kNumpyHeader), entry.bytes);
    } else if (format == Format::numpy) {
      loaded_ = {"", files::read(path)};
      add_array(path.stem().string(), "", loaded_->second, loaded_->second.size());
    } else if (is_old) {
      refuse(
          "must be a zip archive, as PyTorch writes since 1.6, got an older checkpoint. Hint: "
          "torch.save(torch.load(path), path) in a newer PyTorch writes one.");
    } else {
      header_.metadata = files::read_pickle(files::read(path), path.string()).values;
    }
  }

 private:
  struct Place {
    std::string member;  // of the archive; "": the file itself
    Shape strides;       // in elements
  };

  void add(TensorEntry entry, uint64_t begin, uint64_t storage_bytes, Place place) {
    const uint64_t size = dtype_size(entry.dtype);
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
    files::Pickle pickle = files::read_pickle(bytes, name_);
    for (auto& [name, tensor] : pickle.tensors) {
      const std::string member = concat(folder, "data/", tensor.storage);
      const auto storage = zip_->entries().find(member);
      const uint64_t size = dtype_size(tensor.dtype);
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

  /// An array of `bytes` bytes with its header, which begins with `text`. The header is a dictionary of
  /// Python with keys descr, fortran_order and shape (numpy.lib.format).
  void add_array(const std::string& name, const std::string& member, std::string_view text, uint64_t bytes) {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const bool is_first = byte(6) == 1;  // of the versions; later ones have a length of 4 bytes
    const size_t begin = is_first ? 10 : 12;
    const size_t length = byte(8) | byte(9) << 8U | (is_first ? 0 : byte(10) << 16U | byte(11) << 24U);
    if (!text.starts_with(kNumpy) || text.size() < begin ||
        length > std::min(text.size(), kNumpyHeader) - begin)
      refuse(files::in_quotes(member), " must be an array of NumPy with a header, got other bytes.");
    std::string json;
    for (const char c : text.substr(begin, length)) {
      if ((c == ')' || c == '}') && json.ends_with(", ")) json.resize(json.size() - 2);
      if (c == ')' && json.ends_with(",")) json.pop_back();
      json += c == '\'' ? '"' : c == '(' ? '[' : c == ')' ? ']' : c == 'T' ? 't' : c == 'F' ? 'f' : c;
    }
    const files::Json parsed(json, op_, concat(name_, ": ", member));
    const files::Field root = parsed.root(), descr = root.at("descr");
    static const std::map<std::string_view, const char*> dtypes = {
        {"<f4", "F32"}, {"<f8", "F64"}, {"<f2", "F16"}, {"<i8", "I64"}, {"<i4", "I32"}, {"<i2", "I16"},
        {"|i1", "I8"},  {"<u8", "U64"}, {"<u4", "U32"}, {"<u2", "U16"}, {"|u1", "U8"},  {"|b1", "BOOL"}};
    const auto dtype = dtypes.find(descr.text());
    if (dtype == dtypes.end()) descr.refuse("must be little-endian numbers, got ", descr.shown(), ".");
    Shape shape;
    for (const files::Field& size : root.at("shape").items()) shape.push_back(size.integer(0));
    check_sizes(op_, shape);
    Shape strides = contiguous_strides(shape);
    if (root.at("fortran_order").flag()) {
      const Shape reversed = contiguous_strides(Shape(
          std::vector<int64_t>(std::reverse_iterator(shape.end()), std::reverse_iterator(shape.begin()))));
      for (int i = 0; i < shape.size(); ++i) strides[i] = reversed[shape.size() - 1 - i];
    }
    add({.name = name, .dtype = dtype->second, .shape = shape}, begin + length, bytes, {member, strides});
  }

  std::istream& values(const TensorEntry& entry) override {
    const Place& place = places_.at(entry.name);
    if (!loaded_ || loaded_->first != place.member) {
      loaded_.reset();
      loaded_ = {place.member, zip_->read(place.member)};
    }
    const std::string_view storage = std::string_view(loaded_->second).substr(entry.begin);
    const uint64_t size = dtype_size(entry.dtype), bytes = entry.end - entry.begin;
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

  std::optional<files::ZipFile> zip_;
  std::map<std::string, Place> places_;                        // by the name of the tensor
  std::optional<std::pair<std::string, std::string>> loaded_;  // the last storage: its name, its bytes
  std::string packed_;
  BytesBuffer buffer_;
  std::istream stream_{&buffer_};
};

}  // namespace

std::unique_ptr<TensorFile> open_tensors(const std::filesystem::path& path,
                                         const files::FileChecksum* expected, TensorFile::Compared compared) {
  std::string begin(kOldCheckpoint.size(), '\0');
  std::error_code ignored;
  if (std::ifstream stream; std::filesystem::is_regular_file(path, ignored) &&
                            (stream.open(path, std::ios::binary), stream.is_open())) {
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<size_t>(stream.gcount()));
    if (const Format format = format_of(path, begin); format != Format::safetensors)
      return std::make_unique<StridedFile>(path, format, begin == kOldCheckpoint);
  }
  return std::make_unique<SafetensorsFile>(path, expected, compared);
}

}  // namespace gradus::nn
