#include "gradus/data/tokens.hpp"

#include "autograd/compare.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/files/hashes.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_tokens {

using namespace gradus::data;
using namespace testing;

/// A file of 16-bit numbers, low byte first, written byte by byte.
void write_numbers(const std::filesystem::path& file, const std::vector<int>& numbers) {
  std::ofstream out(file, std::ios::binary);
  for (const int number : numbers) out << static_cast<char>(number & 255) << static_cast<char>(number >> 8);
}

std::vector<int> many(int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i * 31 % 50'257);
  return numbers;
}

TEST_CASE("a file of tokens is read where it is asked for") {
  const testing::TemporaryFolder folder;
  const std::vector<int> numbers = many(2000);
  write_numbers(folder / "t.bin", numbers);
  const Tokens tokens = Tokens::open(folder / "t.bin", 50'257);
  REQUIRE(tokens.size() == 2000);
  CHECK(tokens.values() == std::vector<int32_t>(numbers.begin(), numbers.end()));
  std::vector<int64_t> some(5);
  tokens.part(100, 1000).part(7, 50).copy(3, 5, some.data());
  CHECK(some == std::vector<int64_t>(numbers.begin() + 110, numbers.begin() + 115));
  int64_t one = -1;
  tokens.copy(1'999, 1, &one);
  CHECK(one == numbers.back());
  tokens.copy(2'000, 0, &one);  // nothing, from behind the last
  CHECK(one == numbers.back());
  CHECK(tokens.part(3, 3).empty());
  CHECK(Tokens().values().empty());
}

TEST_CASE("batches of a file are those of the same tokens in memory") {
  const testing::TemporaryFolder folder;
  const std::vector<int> numbers = many(500);
  write_numbers(folder / "t.bin", numbers);
  const TextDataset memory(std::vector<int32_t>(numbers.begin(), numbers.end()), 8, 0.2),
      file(Tokens::open(folder / "t.bin", 65'536), 8, 0.2);
  Generator a(3), b(3);
  for (const Split split : {Split::train, Split::validation}) {
    const Batch x = memory.random_batch(split, 9, a), y = file.random_batch(split, 9, b);
    CHECK(x.x.to_vector<int64_t>() == y.x.to_vector<int64_t>());
    CHECK(x.y.to_vector<int64_t>() == y.y.to_vector<int64_t>());
  }
  const std::vector<Batch> x = memory.validation_batches(3), y = file.validation_batches(3);
  REQUIRE(x.size() == y.size());
  for (size_t i = 0; i < x.size(); ++i) CHECK(x[i].y.to_vector<int64_t>() == y[i].y.to_vector<int64_t>());
}

TEST_CASE("a token beyond the vocabulary is refused with its place") {
  const testing::TemporaryFolder folder;
  std::vector<int> numbers(600'000, 7);  // more than is looked at together
  numbers[599'998] = 50'257;
  write_numbers(folder / "t.bin", numbers);
  CHECK_THROWS_WITH(Tokens::open(folder / "t.bin", 50'257),
                    concat("[tokens] ", folder / "t.bin",
                           " must have token numbers below the tokenizer's 50257, got 50257 as ",
                           "token 599998, counted from 0. Hint: use the tokenizer that made it."));
  CHECK(Tokens::open(folder / "t.bin", 50'258).size() == 600'000);
}

TEST_CASE("what is no file of tokens is refused") {
  const testing::TemporaryFolder folder;
  const auto refusal = [&](const char* name) { return error_of([&] { Tokens::open(folder / name, 10); }); };
  std::ofstream(folder / "odd") << "abc";
  std::ofstream(folder / "empty").flush();
  std::ofstream(folder / "text") << "In the beginning God created the heaven and the earth.\n ";
  std::ofstream(folder / "a.npy") << "\x93NUMPY\1" << std::string(9, '\0');
  std::ofstream(folder / "umlauts") << "\u00dcber \u00c4cker, \u00d6l und \u00dcbel.";
  for (const char* name : {"text", "umlauts", "a.npy"})
    CHECK_HAS(error_of([&] { Tokens::open(folder / name, 65'536); }), "token numbers and nothing else");
  CHECK(refusal("odd") ==
        concat("[tokens] ", folder / "odd", " must have token numbers of 2 bytes each, got 3 bytes."));
  CHECK(refusal("empty") ==
        concat("[tokens] ", folder / "empty", " must have token numbers of 2 bytes each, got 0 bytes."));
  CHECK(refusal("none") == concat("[tokens] ", folder / "none",
                                  " must be a file of token numbers, got 'No such file or directory'."));
}

TEST_CASE("a file that is cut short while it is trained on is an error that leaves the run") {
  const testing::TemporaryFolder folder;
  write_numbers(folder / "t.bin", many(5000));
  const TextDataset dataset(Tokens::open(folder / "t.bin", 65'536), 8, 0);
  std::filesystem::resize_file(folder / "t.bin", 20);
  Generator g(1);
  CHECK_THROWS_AS(dataset.random_batch(Split::train, 50, g), RunError);
}

TEST_CASE("checksums are those of the files joined, and what is written comes back") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "a") << "one";
  std::ofstream(folder / "b") << "two";
  CHECK(sha256_of_files({folder / "a", folder / "b"}) == files::sha256("onetwo"));
  CHECK_ERROR(sha256_of_files({folder / "c"}), "No such file");

  const auto write = [&](const std::vector<int32_t>& tokens, int64_t vocab_size) {
    const Tokens written =
        Tokens::write(folder / "t.bin", vocab_size, [&](const Tokens::Add& add) { add(tokens); });
    const Tokens read = Tokens::open(folder / "t.bin", vocab_size);
    CHECK(read.values() == tokens);
    CHECK(written.values() == tokens);
    CHECK(written.bits() == read.bits());
    std::ifstream file(folder / "t.bin", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(write({513}, 65'536) == "\x01\x02");
  CHECK(write({66'051}, 70'000) == std::string("\x03\x02\x01\0", 4));
  CHECK(write({513, 0, 513, 0, 513, 0, 513, 0}, 8'000).size() == 64);  // wide enough to be known
  CHECK(write({8224, 8224, 8224, 8224}, 65'536).size() == 16);         // no text of 8 spaces
  Generator random(7);
  for (int64_t size = 1; size < 40; size += size < 18 ? 1 : 7)
    for (const int64_t vocab_size : {2, 300, 65'536, 100'000})
      for (const int64_t kept : {1, 2, 4}) {  // of so many places one has a number, the others 0
        std::vector<int32_t> tokens;
        for (int64_t i = 0; i < size; ++i)
          tokens.push_back(i % kept == 0 ? static_cast<int32_t>(random.below(vocab_size)) : 0);
        INFO(size << " tokens of " << vocab_size << ", one of " << kept);
        (void)write(tokens, vocab_size);
      }
}

TEST_CASE("numbers of 32 bits are known by their zeros, by the vocabulary or by the header of llm.c") {
  const testing::TemporaryFolder folder;
  const auto read = [&](const std::vector<int>& halves, int64_t vocab_size) {
    write_numbers(folder / "t.bin", halves);
    return Tokens::open(folder / "t.bin", vocab_size).values();
  };
  using Values = std::vector<int32_t>;
  CHECK(read({5, 0, 0, 0, 7, 0, 1, 0}, 8) == Values{5, 0, 7, 1});
  CHECK(read({5, 0, 0, 0, 7, 0, 1, 2}, 8) == Values{5, 0, 0, 0, 7, 0, 1, 2});
  CHECK(read({0, 0, 0, 0, 0, 0, 0, 0}, 8) == Values(8, 0));
  CHECK(read({5, 0, 7, 0}, 8) == Values{5, 0, 7, 0});  // too few to tell
  CHECK(read({5, 0, 0, 0, 7, 0, 0, 0}, 8) == Values{5, 7});
  CHECK_THAT(error_of([&] {
               read({5, 0, 0, 0, 7, 0, 1, 0, 6}, 8);
             }),
             Catch::Contains("4 bytes each, got 18"));
  CHECK(read({5, 1, 0, 0, 7, 0, 0, 0}, 70'000) == Values{65'541, 7});
  CHECK(read({5, 1}, 70'000) == Values{65'541});
  CHECK_THAT(error_of([&] { read({5, 2}, 70'000); }), Catch::Contains("got 131077 as token 0"));
  CHECK_THAT(error_of([&] { read({5, 1, 2}, 70'000); }), Catch::Contains("of 4 bytes each, got 6 bytes."));
  // llm.c: 256 numbers of 32 bits, of which the first is 20240520 (16 bits) or 20240801 (32 bits).
  std::vector<int> header(512);
  header[4] = 3;
  header[1] = 20240520 >> 16, header[0] = 20240520 & 65535, header[2] = 1;
  std::vector<int> file = header;
  file.insert(file.end(), {5, 6, 7});
  CHECK(read(file, 50'257) == Values{5, 6, 7});
  header[1] = 20240801 >> 16, header[0] = 20240801 & 65535, header[2] = 7;
  file = header;
  file.insert(file.end(), {5, 1, 6, 0, 7, 0});
  CHECK(read(file, 70'000) == Values{65'541, 6, 7});
  CHECK(Tokens::open(folder / "t.bin", 70'000).bits() == 32);
  file.pop_back();  // cut
  file.pop_back();
  CHECK_HAS(error_of([&] { read(file, 70'000); }), "header of llm.c announces, got 8 bytes after it.");
}

}  // namespace gradus::test_tokens
