// .npz files read by the specifications of zip and npy, from the end as readers do.
#include "catch.hpp"
#include "exported.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/export/export.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_npz {

uint32_t number(const std::string& bytes, size_t at, int size) {
  uint32_t value = 0;
  for (int i = size; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + static_cast<size_t>(i)));
  return value;
}

void must(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

/// The files of an archive without compression, each found by the directory at its end and checked.
std::map<std::string, std::string> unzipped(const std::string& zip) {
  const size_t end = zip.size() - 22;
  must(zip.substr(end, 4) == "PK\5\6" && number(zip, end + 20, 2) == 0, "an end without a comment");
  const uint32_t count = number(zip, end + 10, 2), size = number(zip, end + 12, 4);
  size_t at = number(zip, end + 16, 4);
  must(number(zip, end + 8, 2) == count && at + size == end, "a directory that lies before its end");
  std::map<std::string, std::string> found;
  for (uint32_t i = 0; i < count; ++i) {
    must(zip.substr(at, 4) == "PK\1\2", "an entry of the directory");
    const uint32_t crc = number(zip, at + 16, 4), bytes = number(zip, at + 20, 4),
                   length = number(zip, at + 28, 2);
    const std::string name = zip.substr(at + 46, length);
    const size_t local = number(zip, at + 42, 4);
    must(number(zip, at + 10, 2) == 0 && number(zip, at + 24, 4) == bytes, "no compression");
    must(zip.substr(local, 4) == "PK\3\4" && zip.substr(local + 4, 26) == zip.substr(at + 6, 26) &&
             zip.substr(local + 30, length) == name,
         "a file that says what the directory does");
    const std::string content = zip.substr(local + 30 + length, bytes);
    must(files::crc32(content) == crc, "the checksum");
    must(found.emplace(name, content).second, "one file a name");
    at += 46 + length;
  }
  must(at == end, "nothing else in the directory");
  return found;
}

TEST_CASE("each parameter is an array of NumPy's in the shape of model.safetensors") {
  const data::Tokenizer tokenizer = data::Tokenizer::bytes();
  const train::TrainedModel trained = testing::exported(testing::small_gpt2(tokenizer), tokenizer);
  const testing::TemporaryFolder folder;
  exports::write_npz(trained, folder / "x.npz");
  const std::map<std::string, std::string> files = unzipped(files::read(folder / "x.npz"));
  const nn::StateDict stored = models::stored_state(trained.model);
  CHECK(files.size() == stored.size());
  for (const auto& [name, tensor] : stored) {
    INFO(name);
    const std::string& npy = files.at(name + ".npy");
    REQUIRE(npy.substr(0, 8) == std::string("\x93NUMPY\1\0", 8));
    const size_t length = number(npy, 8, 2), begin = 10 + length;
    CHECK(begin % 64 == 0);
    CHECK(npy[begin - 1] == '\n');
    std::string shape = concat(tensor.size(0), ",");
    if (tensor.dim() == 2) shape += concat(" ", tensor.size(1));
    const std::string header = concat("{'descr': '<f4', 'fortran_order': False, 'shape': (", shape, "), }");
    CHECK(npy.substr(10, header.size()) == header);
    CHECK(npy.find_first_not_of(' ', 10 + header.size()) == begin - 1);
    std::vector<float> values((npy.size() - begin) / sizeof(float));
    std::memcpy(values.data(), npy.data() + begin, npy.size() - begin);
    CHECK(values == tensor.contiguous().to_vector<float>());
  }
}

TEST_CASE("the same model gives the same bytes") {
  const data::Tokenizer tokenizer = data::Tokenizer::bytes();
  const train::TrainedModel trained = testing::exported(testing::kSmallLlama, tokenizer);
  const testing::TemporaryFolder folder;
  exports::write_npz(trained, folder / "a.npz");
  exports::write_npz(trained, folder / "b.npz");
  CHECK(files::read(folder / "a.npz") == files::read(folder / "b.npz"));
}

}  // namespace gradus::test_npz
