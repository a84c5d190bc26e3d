// The reader of GGUF beside files written by hand, the writer beside the reader, and what is refused.
#include "catch.hpp"
#include "gguf_bytes.hpp"
#include "gradus/annexes/formats/gguf/gguf.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_gguf {

using namespace testing;

gguf::Header read_bytes(const std::string& bytes) {
  const testing::TemporaryFolder folder;
  files::write_atomically(folder / "x.gguf", [&](std::ostream& out) { out << bytes; });
  return gguf::read_header(folder / "x.gguf");
}

GgufBytes with_key() { return GgufBytes().start(0, 1); }
GgufBytes with_tensors(uint64_t count) { return GgufBytes().start(count, 0); }

TEST_CASE("a file written by hand is read") {
  const gguf::Header header = read_bytes(testing::small_gguf());
  REQUIRE(header.keys.size() == 6);
  CHECK(std::get<std::string>(*header.find("general.architecture")) == "gpt2");
  CHECK(std::get<float>(*header.find("eps")) == 1e-5F);
  CHECK(std::get<bool>(*header.find("flag")));
  CHECK(std::get<uint64_t>(*header.find("big")) == uint64_t{1} << 40);
  CHECK(header.find("eps2") == nullptr);
  const auto& ids = std::get<gguf::List>(*header.find("ids"));
  CHECK(ids == gguf::List::of_numbers({-1, 0, 7}));
  CHECK(ids.shown(0) == "-1");
  const auto& tokens = std::get<gguf::List>(*header.find("tokens"));
  CHECK(tokens == gguf::List::of_texts({"a", ""}));
  CHECK(tokens.shown(0) == "'a'");

  REQUIRE(header.tensors.size() == 2);
  CHECK(header.tensors[0].shape == std::vector<uint64_t>{2, 3});
  CHECK(header.tensors[0].bytes == 24);
  CHECK(header.tensors[1].type.name == "Q8_0");
  CHECK(header.tensors[1].begin == 32);
  CHECK(header.tensors[1].bytes == 34);
  CHECK(header.data_start % 32 == 0);
  CHECK(header.data_start + 32 + 64 == testing::small_gguf().size());
}

TEST_CASE("a list of flags has a byte for each") {
  const gguf::Header header =
      read_bytes(with_key().key("k", 9).number(7U).number(uint64_t{2}).raw(std::string("\1\0", 2)).bytes());
  const auto& flags = std::get<gguf::List>(*header.find("k"));
  CHECK(flags.count == 2);
  CHECK(flags.bytes == std::string("\1\0", 2));
}

TEST_CASE("the last tensor may lack its padding, and another alignment holds") {
  const std::string whole = testing::small_gguf();
  CHECK_NOTHROW(read_bytes(whole.substr(0, whole.size() - 30)));
  CHECK_THROWS_AS(read_bytes(whole.substr(0, whole.size() - 31)), Error);
  const std::string of_64 = GgufBytes()
                                .start(2, 1)
                                .key("general.alignment", 4)
                                .number(uint32_t{64})
                                .tensor("a", {1}, 0, 0)
                                .tensor("b", {1}, 0, 64)
                                .pad(64)
                                .number(1.0F)
                                .pad(64)
                                .number(2.0F)
                                .bytes();
  CHECK(read_bytes(of_64).alignment == 64);
}

TEST_CASE("what is written is the file that was written by hand") {
  std::ostringstream out;
  const gguf::Keys keys = {{"general.architecture", std::string("gpt2")},
                           {"eps", 1e-5F},
                           {"flag", true},
                           {"ids", gguf::List::of_numbers({-1, 0, 7})},
                           {"tokens", gguf::List::of_texts({"a", ""})},
                           {"big", uint64_t{1} << 40}};
  gguf::write(out, keys,
              {{"a", {2, 3}, gguf::f32(), [] { return std::string(24, 'x'); }},
               {"b", {32}, gguf::q8_0(), [] { return std::string(34, 'y'); }}});
  CHECK(out.str() == testing::small_gguf());
  CHECK_THROWS_AS(gguf::write(out, {}, {{"a", {2}, gguf::f32(), [] { return std::string(4, 'x'); }}}),
                  std::logic_error);
}

TEST_CASE("files that are none are refused with the reason") {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "must begin with GGUF, got ''"},
      {"GGML" + std::string(20, '\0'), "must begin with GGUF, got 'GGML'"},
      {GgufBytes().start(0, 0, 1).bytes(), "must be of version 2 or 3, got 1."},
      {GgufBytes().start(0, 0, 0x03000000).bytes(), "a file for big-endian machines"},
      {"GGUF\3", "the version must lie inside the file of 5 bytes"},
      {GgufBytes().start(1ULL << 60, 0).bytes(), "the number of tensors must fit into the 0 bytes left"},
      {GgufBytes().start(0, 1ULL << 60).bytes(), "the number of keys must fit"},
      {with_key().key("", 4).number(1U).number(0ULL).bytes(), "key 0 must not be empty"},
      {with_key().key("\xFF\xFF", 4).number(1U).bytes(), "key 0 must be UTF-8, got '\\xff\\xff'"},
      {GgufBytes().start(0, 2).key("k", 4).number(1U).key("k", 4).number(1U).bytes(),
       "must be unique, got 'k' again"},
      {with_key().number(uint64_t{70000}).raw(std::string(70000, 'k')).bytes(),
       "key 0 must be at most 65535 bytes"},
      {with_key().number(~uint64_t{0}).raw("a longer key").bytes(), "key 0 must be at most 65535 bytes"},
      {with_key().key("k", 13).number(1U).bytes(), "the type of 'k' must be in [0, 12], got 13"},
      {with_key().key("k", 7).number(uint8_t{2}).bytes(), "'k' must be 0 or 1, got 2"},
      {with_key().key("k", 8).number(uint64_t{9}).raw("short").bytes(),
       "'k' must lie inside the file of 50 bytes, got 9 bytes from 45"},
      {with_key().key("k", 9).number(9U).number(uint64_t{0}).bytes(), "must not be a list of lists"},
      {with_key().key("k", 9).number(4U).number(uint64_t{1} << 62).bytes(),
       "'k' must lie inside the file, got 4611686018427387904 elements for 0 bytes"},
      {with_key().key("k", 9).number(7U).number(uint64_t{2}).raw("\1\2").bytes(), "'k' must be of 0 and 1"},
      {with_key().key("general.alignment", 4).number(24U).bytes(), "a power of 2"},
      {with_key().key("general.alignment", 5).number(32U).bytes(), "general.alignment must be a u32"},
      {with_tensors(1).tensor("a", {1, 1, 1, 1, 1}, 0, 0).bytes(),
       "'a' must have at most 4 dimensions, got 5"},
      {with_tensors(1).tensor("a", {0}, 0, 0).bytes(), "must be at least 1"},
      {with_tensors(1).tensor("a", {1ULL << 33, 1ULL << 33}, 0, 0).bytes(), "count in 64 bits"},
      {with_tensors(1).tensor("a", {1ULL << 62}, 0, 0).bytes(), "'a' must have a size of 64 bits in bytes"},
      {with_tensors(1).tensor("a", {1}, 4, 0).bytes(), "the type of 'a' must be one of ggml's, got 4"},
      {with_tensors(1).tensor("a", {33}, 8, 0).bytes(),
       "whole blocks of 32, as Q8_0 has them, got 33 numbers"},
      {with_tensors(1).tensor("a", {1}, 0, 32).pad(32).raw(std::string(64, 'x')).bytes(),
       "'a' must begin at 0"},
      {with_tensors(2)
           .tensor("a", {1}, 0, 0)
           .tensor("b", {1}, 0, 4)
           .pad(32)
           .raw(std::string(64, 'x'))
           .bytes(),
       "'b' must begin at 32"},
      {with_tensors(2)
           .tensor("a", {1}, 0, 0)
           .tensor("a", {1}, 0, 32)
           .pad(32)
           .raw(std::string(64, 'x'))
           .bytes(),
       "must be unique"},
      {with_tensors(1).tensor("a", {2}, 0, 0).pad(32).raw("1234567").bytes(),
       "must lie inside the 7 bytes of tensors, got 8 from 0"},
      {with_tensors(1).tensor("a", {2}, 0, 0).bytes(), "got a file that ends before"},
      {with_tensors(1).tensor("a", {2}, 0, 0).pad(32).raw(std::string(33, 'x')).bytes(),
       "must fill the rest of the file, 33 bytes, got 32"},
  };
  for (const auto& [bytes, reason] : bad) {
    INFO(reason);
    CHECK_THROWS_WITH(read_bytes(bytes), ContainsSubstring("x.gguf: ") && ContainsSubstring(reason));
  }
}

TEST_CASE("a file that ends anywhere is refused") {
  const std::string whole = testing::small_gguf();
  for (size_t size = 0; size + 30 < whole.size(); ++size) {
    INFO(size);
    CHECK_THROWS_AS(read_bytes(whole.substr(0, size)), Error);
  }
}

TEST_CASE("what is no file is not opened") {
  const testing::TemporaryFolder folder;
  CHECK_FALSE(gguf::is_gguf(folder.path()));
  CHECK_FALSE(gguf::is_gguf(folder / "none"));
  CHECK_THROWS_WITH(gguf::read_header(folder.path()), ContainsSubstring("must be a file, got a folder"));
  CHECK_THROWS_WITH(gguf::read_header(folder / "none"), ContainsSubstring("cannot be read"));
}

}  // namespace gradus::test_gguf
