#include "gradus/nn/safetensors.hpp"

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "temporary_folder.hpp"

namespace gradus::nn::test_safetensors {

using namespace testing;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string with_length(const std::string& header, const std::string& data = "") {
  return bytes_of(std::vector<uint64_t>{header.size()}) + header + data;
}

struct File {
  testing::TemporaryFolder folder;
  std::filesystem::path path = folder / "x.safetensors";
  explicit File(const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
};

/// What loading those bytes says, without the place of the file.
std::string refusal(const std::string& bytes) {
  const File file(bytes);
  const std::string message = error_of([&] { load_safetensors(file.path); });
  const std::string prefix = concat("[safetensors] ", file.path.string(), ": ");
  return message.starts_with(prefix) ? message.substr(prefix.size()) : "not refused properly: " + message;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

TEST_CASE("what is saved comes back, whatever the dtype, shape or strides") {
  const testing::TemporaryFolder folder;
  const float inf = std::numeric_limits<float>::infinity();
  StateDict state;
  state["matrix"] = matrix({{1, 2, 3}, {4, 5, 6}});
  state["view"] = state["matrix"].transpose(0, 1);
  state["most dimensions"] = state["matrix"].reshape({1, 2, 1, 1, 3, 1, 1, 1});
  state["long"] = arange(0, 10'001);  // read in pieces
  state["scalar"] = tensor(std::vector<float>{7.5F}, {});
  state["empty"] = zeros({2, 0, 3});
  state["strange"] = tensor(std::vector<float>{inf, -inf, NAN, -0.0F, 1e-45F}, {5});
  state["double"] = tensor(std::vector<double>{0.1}, {1});
  state["whole"] = tensor(std::vector<int64_t>{INT64_MIN, INT64_MAX}, {2});
  state["flags"] = tensor(std::vector<bool>{true, false, true}, {3});
  state["leaf"] = ones({2}).requires_grad_();
  save_safetensors(folder / "x", state, {{"b", "2"}, {"a", "one"}});

  const StateDict loaded = load_safetensors(folder / "x", /*keep_float64=*/true);
  REQUIRE(loaded.size() == state.size());
  for (const auto& [name, values] : state) CHECK(difference(loaded.at(name), values.detach(), 0.0) == "");
  CHECK(std::signbit(loaded.at("strange").at({3})));
  CHECK(load_safetensors(folder / "x").at("double").dtype() == DType::float32);
  CHECK(SafetensorsFile(folder / "x").header().metadata == Metadata{{"a", "one"}, {"b", "2"}});
}

TEST_CASE("the bytes of a file are the format's, widest dtype first, then by name") {
  const testing::TemporaryFolder folder;
  save_safetensors(folder / "x", {{"a", tensor(std::vector<bool>{true, false}, {2})},
                                  {"c", matrix({{1, -2}})},
                                  {"b", tensor(std::vector<float>{0.5F}, {})},
                                  {"z", tensor(std::vector<int64_t>{258}, {1})}});
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("z":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"F32","shape":[],"data_offsets":[8,12]},)"
                       R"("c":{"dtype":"F32","shape":[1,2],"data_offsets":[12,20]},)"
                       R"("a":{"dtype":"BOOL","shape":[2],"data_offsets":[20,22]}})";
  while (header.size() % 8 != 0) header += ' ';
  const unsigned char data[] = {2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x3F, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0, 1, 0};
  CHECK(files::read(folder / "x") ==
        with_length(header, std::string(reinterpret_cast<const char*>(data), sizeof data)));
}

TEST_CASE("a file of nothing") {
  const testing::TemporaryFolder folder;
  save_safetensors(folder / "x", {}, {});
  CHECK(files::read(folder / "x") == with_length("{}      "));
  CHECK(load_safetensors(folder / "x").empty());
}

TEST_CASE("every half there is becomes the float32 of the same value") {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const File file(with_length("{" + entry("h", "F16", "[65536]", "[0,131072]") + "}", bytes_of(all)));
  const std::vector<float> read = load_safetensors(file.path).at("h").to_vector<float>();
  REQUIRE(read.size() == all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const int exponent = static_cast<int>(i >> 10 & 31), fraction = static_cast<int>(i & 1023);
    INFO(i);
    REQUIRE(std::signbit(read[i]) == (i >= 32768));
    if (exponent == 31)
      REQUIRE((fraction ? std::isnan(read[i]) : std::isinf(read[i])));
    else
      REQUIRE(std::abs(static_cast<double>(read[i])) ==
              (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24)));
  }
}

TEST_CASE("bfloat16 becomes float32 exactly") {
  const std::vector<uint16_t> bf16 = {0x3F80, 0xC049, 0x0001, 0xFF80};
  const File file(with_length("{" + entry("b", "BF16", "[4]", "[0,8]") + "}", bytes_of(bf16)));
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(difference(load_safetensors(file.path).at("b"),
                   tensor(std::vector<float>{1, -3.140625F, 0x1p-133F, -inf}, {4}), 0.0) == "");
}

TEST_CASE("numbers of less than a byte fill whole bytes") {
  const auto header = [](const std::string& dtype, const std::string& shape, uint64_t size) {
    const std::string ends = "[0," + std::to_string(size) + "]";
    return parse_safetensors_header("{" + entry("a", dtype, shape, ends) + "}", size, "f").entries[0].end;
  };
  for (const auto& [dtype, shape, size] : {std::tuple{"F4", "[3,2]", 3},
                                           {"F4", "[16]", 8},
                                           {"F6_E2M3", "[4]", 3},
                                           {"F6_E3M2", "[5,4]", 15},
                                           {"F4", "[0,3]", 0},
                                           {"F8_E5M2FNUZ", "[3]", 3}})
    CHECK(header(dtype, shape, static_cast<uint64_t>(size)) == static_cast<uint64_t>(size));
  for (const auto& [dtype, shape] : {std::pair{"F4", "[3]"}, {"F6_E2M3", "[2]"}, {"F6_E3M2", "[3,3]"}})
    CHECK_ERROR(header(dtype, shape, 2), "bits that fill whole bytes, got");
  CHECK_ERROR(header("F4", "[8]", 3), "must span the 4 bytes of F4");
}

/// A safetensors file whose header has that length.
std::string with_header(size_t length) {
  std::string json = length < 60 ? "{}" : R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  json.resize(length, ' ');
  return with_length(json, length < 60 ? "" : std::string("\0\0\x98\x41", 4));  // 19
}

TEST_CASE("a file is what its bytes say, whatever its name", "[needs.formats]") {
  const testing::TemporaryFolder folder;
  const auto opened = [&](const std::string& bytes, const char* name) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return open_tensors(folder / name);
  };
  for (size_t length = 8; length <= 1024; ++length)
    CHECK(opened(with_header(length), "x.safetensors")->header().entries.size() == (length < 60 ? 0 : 1));
  // The first bytes are P, 80 02, 80 04, PK, GG; the third of the sixth is an opcode, ].
  for (const size_t length : {0x50UL, 0x280UL, 0x480UL, 0x4B50UL, 0x4747UL, 0x5D0280UL, 0x88B1FUL}) {
    const auto file = opened(with_header(length), "x.bin");
    CHECK(file->read(file->header().entries.at(0)).item() == 19);
  }
  for (const char* pickle : {"\x80\2}.", "\x80\3}.", "\x80\4}.", "\x80\5}."})
    CHECK(opened(pickle, "x")->header().entries.empty());
  for (const char* other : {"In the beginning", "P", "Png", "\x80\1}.", "\x80\6}."})
    CHECK_ERROR(opened(other, "x"), "pickle of protocol 2 to 5, got a file that begins with '");
  CHECK_ERROR(opened("", "x"), "got an empty file.");
  CHECK_ERROR(opened("PK\3\4", "x"), "[zip]");
  CHECK_ERROR(opened(with_header(0x280).substr(0, 300), "x"), "Hint: the file was cut short.");
}

TEST_CASE("malformed files are refused, each with its reason") {
  const std::string good = entry("a", "F32", "[1]", "[0,4]");
  const std::string data = bytes_of<float>({1});
  REQUIRE(refusal(with_length("{" + good + "}", data)) == "not refused properly: ");

  struct Case {
    std::string bytes, reason;
  };
  const auto entries = [&](const std::string& text, size_t size = 4) {
    return with_length("{" + text + "}", std::string(size, '\0'));
  };
  const std::string formats =
      "must be safetensors (a length of 8 bytes, then {), an archive of PyTorch (PK), or a pickle of "
      "protocol 2 to 5, got ";
  const std::vector<Case> cases = {
      {"", formats + "an empty file."},
      {bytes_of<uint64_t>({100'000'001}), formats + "a file that begins with '\\x01\\xe1\\xf5\\x05\\x00"},
      {"Entry not found", formats + "a file that begins with 'Entry not'."},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n",
       "must have tensors, got a pointer of Git LFS. Hint: git lfs pull fetches the file."},
      {"\n <!DOCTYPE html>\n<title>404</title>", "must have tensors, got a page of HTML or XML."},
      {std::string("\x1f\x8b\x08\0\0\0\0\0\2\3", 10), "must have tensors, got a file that gzip has packed."},
      {bytes_of<uint64_t>({10}) + "{}",
       "the header must lie inside the file of 10 bytes, got a length of 10."},
      {with_length(""), "the header must start with {."},
      {with_length("{"), "the header must be JSON"},
      {with_length("{\"\xFF\":1}"), "the header must be JSON"},
      {with_length("{}", "x"), "values must fill the rest of the file, 1 bytes, got 0."},
      {with_length("{" + good + "," + good + "}", data),
       "the header must have different keys in an object, got 'a' twice."},
      {with_length(R"({"__metadata__":{"x":"1","x":"2"}})"),
       "the header must have different keys in an object, got 'x' twice."},
      {with_length(R"({"__metadata__":{"x":1}})"), "the header: __metadata__, x must be a string, got 1."},
      {entries(R"("a":{"dtype":"F32","shape":[1]})"), "the header: a must have a field 'data_offsets'."},
      {entries(R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":0})"),
       "the header: a must have no field 'x'. Hint: it may have dtype, shape, data_offsets."},
      {entries(entry("a", "F33", "[1]", "[0,4]")),
       "the header: a, dtype must be one that safetensors defines, got 'F33'."},
      {entries(entry("a\\nb", "F33", "[1]", "[0,4]")), "the header: 'a\\nb', dtype must be one"},
      {entries(entry("a", "F32", "[-1]", "[0,4]")),
       "the header: a, shape[0] must be a whole number of at least 0, got -1."},
      {entries(entry("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]")),
       "the header: a, shape must have at most 8 dimensions, got 9."},
      {entries(entry("a", "F32", "[4294967296,4294967296]", "[0,4]")),
       "the header: a must have a size of 64 bits in bytes"},
      {entries(entry("a", "F32", "[0,4294967296,4294967296]", "[0,0]"), 0),
       "the header: a must have a size of 64 bits in bytes"},
      {entries(entry("a", "F32", "[1]", "[0,4,8]")),
       "the header: a, data_offsets must be two numbers, got 3."},
      {entries(entry("a", "F32", "[1]", "[4,0]")),
       "the header: a, data_offsets must span the 4 bytes of F32 (1,), got [4, 0]."},
      {entries(entry("a", "F32", "[1]", "[0,5]"), 5),
       "the header: a, data_offsets must span the 4 bytes of F32 (1,), got [0, 5]."},
      {entries(entry("a", "F32", "[1]", "[4,8]"), 8),
       "values of 'a' must start at 0, where the previous values end, got 4."},
      {entries(good + "," + entry("b", "F32", "[1]", "[0,4]"), 4),
       "values of 'b' must start at 4, where the previous values end, got 0."},
      {entries(good, 3), "values must fill the rest of the file, 3 bytes, got 4."},
      {entries(good, 5), "values must fill the rest of the file, 5 bytes, got 4."},
      {entries(entry("a", "I32", "[1]", "[0,4]")),
       "dtype of 'a' must be F32, F16, BF16, F64, I64 or BOOL to be loaded, got I32."},
      {with_length("{" + entry("a", "BOOL", "[1]", "[0,1]") + "}", "\2"),
       "values of 'a' must be 0 or 1, got 2."},
      {with_length("{\"a\":" + std::string(100'000, '[')),
       "the header must have at most 64 lists and objects inside one another, got more."},
  };
  for (const Case& c : cases) {
    const std::string reason = refusal(c.bytes);
    CHECK_THAT(reason, Catch::Matchers::StartsWith(c.reason));
    CHECK(reason.find('\n') == std::string::npos);
  }
}

TEST_CASE("every truncation of a good file is refused, and no changed byte of its header does worse") {
  const testing::TemporaryFolder folder;
  save_safetensors(folder / "x", {{"a", ones({3})}, {"b", zeros({2, 2})}});
  const std::string bytes = files::read(folder / "x");
  for (size_t n = 0; n < bytes.size(); ++n)
    CHECK(refusal(bytes.substr(0, n)).find("not refused") == std::string::npos);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  size_t refused = 0;
  for (size_t at = 8; at < 8 + length; ++at)
    for (const char replacement : {'\0', '"', '{', '}', '[', ',', ':', '0', '9', '-', 'x', '\x80'}) {
      std::string changed = bytes;
      changed[at] = replacement;
      refused += error_of([&] {
                   parse_safetensors_header(changed.substr(8, length), bytes.size() - 8 - length, "x");
                 }) != "";
    }
  CHECK(refused > length * 6);
}

TEST_CASE("a file that is not there, and a folder, are refused by name") {
  const testing::TemporaryFolder folder;
  const std::string missing = (folder / "none").string();
  CHECK_THROWS_WITH(load_safetensors(missing),
                    concat("[safetensors] ", missing, ": cannot be read: No such file or directory."));
  CHECK_THROWS_WITH(load_safetensors(folder.path()),
                    concat("[safetensors] ", folder.path().string(), ": must be a file, got a folder."));
}

TEST_CASE("names that a file cannot hold are refused before anything is written") {
  const testing::TemporaryFolder folder;
  const auto save = [&](const std::string& name) { save_safetensors(folder / "x", {{name, ones({1})}}); };
  CHECK_THROWS_WITH(save("__metadata__"), "[safetensors] a tensor must not be called __metadata__.");
  CHECK_THROWS_WITH(save("\xFF"), "[safetensors] names and metadata must be UTF-8, got '\\xff'.");
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
}

}  // namespace gradus::nn::test_safetensors
