// What readers may cost: 50 ns and 20 bytes for each byte, and a few megabytes (CONTRIBUTING.md).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "autograd/sanitized.hpp"
#include "catch.hpp"
#include "gradus/data/chat.hpp"
#include "machine.hpp"
#include "readers.hpp"
#include "temporary_folder.hpp"

namespace test_costs {

using namespace gradus;
using namespace gradus::fuzz;

constexpr size_t kBytes = 300'000;
constexpr int64_t kMostOfByte = 20, kFewBytes = 6'000'000;
constexpr rlim_t kMostSeconds = 1;  // 67 times 50 ns a byte, because limits are whole seconds

std::string repeated(std::string_view piece, size_t bytes = kBytes) {
  std::string text;
  text.reserve(bytes + piece.size());
  while (text.size() < bytes) text += piece;
  return text;
}

std::string number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
  return text;
}

std::string many_keys(const std::string& value) {
  std::string text = "{";
  for (int i = 0; text.size() < kBytes; ++i)
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":" + value;
  return text + "}";
}

std::string safetensors(const std::string& header) { return number(header.size(), 8) + header; }

/// A list of empty texts.
std::string gguf() {
  const std::string texts = repeated(number(0, 8));
  return "GGUF" + number(3, 4) + number(0, 8) + number(1, 8) + number(1, 8) + "a" + number(9, 4) +
         number(8, 4) + number(texts.size() / 8, 8) + texts;
}

/// Keys that are nested deeply, repeated, or many; and opcodes of one byte.
std::vector<std::string> inputs() {
  return {repeated("["),
          repeated("{\"a\":"),
          "[0" + repeated(",0") + "]",
          "[[]" + repeated(",[]") + "]",
          "[{\"\":0}" + repeated(",{\"\":0}") + "]",
          "\"" + repeated("\\n") + "\"",
          many_keys("0"),
          many_keys("{}"),
          repeated("\n"),
          repeated("a b\n"),
          repeated("{}\n"),
          repeated("{\"text\":\"a\"}\n"),
          repeated("{\"event\":\"step\",\"step\":1}\n"),
          safetensors(many_keys(R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})")),
          safetensors("{" + std::string(kBytes, ' ') + "}"),
          gguf()};
}

/// Pickles of opcodes that make a value of a byte or two.
std::vector<std::string> pickles() {
  constexpr size_t kMany = 2'000'000;
  std::vector<std::string> all;
  for (const std::string opcodes : {"N", ")", "]", "(", "N\x94", "]\x94", "Nq\1", "]q\1", "]q\1h\1", "]K\1a"})
    all.push_back("\x80\x02(" + repeated(opcodes, kMany) + "t.");
  for (const std::string opcodes : {"]Na", "]K\1a", "}NNs"})
    all.push_back("\x80\x02" + opcodes.substr(0, 1) + repeated(opcodes.substr(1), kMany) + ".");
  std::string keys = "\x80\x02}(";
  for (uint64_t i = 0; keys.size() < kMany; ++i) keys += 'J' + number(i, 4) + "]";
  all.push_back(keys + "u.");
  return all;
}

/// A checkpoint whose pickle inflates 1,000 times: zeros, of which deflate writes 1,032 as a byte.
std::string zip_bomb() {
  const std::string name = "a/data.pkl";
  const std::string begin = "\xec\xc1\1\1" + std::string(3, '\0') + "\x80\x90\xfe\xaf\xee\x08\x0a";
  const std::string stored = begin + std::string(kBytes, '\0');
  const std::string sizes = number(0, 4) + number(stored.size(), 4) + number(1000 * stored.size(), 4);
  const std::string deflated = number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) + sizes;
  const std::string local = "PK\3\4" + deflated + number(name.size(), 2) + number(0, 2) + name + stored;
  const std::string directory =
      "PK\1\2" + number(20, 2) + deflated + number(name.size(), 2) + number(0, 16) + name;
  return local + directory + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) +
         number(directory.size(), 4) + number(local.size(), 4) + number(0, 2);
}

/// The bytes that reading takes, in a process of its own; -1 if it does not end by itself.
int64_t cost(const Reader& reader, const std::string& input) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit seconds{kMostSeconds, kMostSeconds};
    ::setrlimit(RLIMIT_CPU, &seconds);
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    try_to_read(reader, input);
    ::getrusage(RUSAGE_SELF, &after);
    const int64_t bytes = 1024 * (after.ru_maxrss - before.ru_maxrss);
    ::_exit(::write(ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
  }
  ::close(ends[1]);
  int64_t bytes = -1;
  if (::read(ends[0], &bytes, sizeof bytes) != sizeof bytes) bytes = -1;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? bytes : -1;
}

/// A folder whose vocabulary has many special tokens, and whose config names the last of them many times.
void read_tokenizer_folder(std::string_view names) {
  const testing::TemporaryFolder folder;
  const std::string last(names.substr(names.rfind(',')));
  std::ofstream(folder / "vocab.json") << R"({"tokenizer": "byte", "special": [)" << names << "]}";
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"additional_special_tokens": [)" << repeated(last).substr(1) << "]}";
  (void)data::load_tokenizer(folder.path());
}

/// What a run makes of a file of examples: their text, their tokens, and windows.
void prepare_run(std::string_view jsonl) {
  const data::Tokenizer tokenizer = data::Tokenizer::bytes();
  const data::Records records = data::read_records({{"file", std::string(jsonl)}}, {});
  const std::string texts = data::texts_of(records);
  const data::Examples read = data::read_examples(records, tokenizer, {.most_tokens = 512});
  const data::TextDataset dataset(read.examples, {}, 512, /*seed=*/1);
  if (dataset.tokens(data::Split::train).size() < std::ssize(jsonl) / 2) throw Fault("tokens are lost");
}

void check_cost(const Reader& reader, const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    INFO(reader.name << " on input " << i);
    const int64_t bytes = cost(reader, inputs[i]);
    CHECK(bytes >= 0);
    CHECK(bytes <= kMostOfByte * static_cast<int64_t>(inputs[i].size()) + kFewBytes);
  }
}

TEST_CASE("no input costs a reader more than a multiple of its size") {
  if (testing::kSanitized) {
    SUCCEED("sanitizers take memory of their own");
    return;
  }
  if (!testing::machine_has("/proc/self/fd")) return;
  const std::vector<std::string> all = inputs();
  for (const Reader& one : readers()) check_cost(one, all);
  check_cost(reader("pickle"), pickles());
  std::string texts;
  for (int i = 0; texts.size() < kBytes; ++i) texts += concat(i == 0 ? "\"" : ",\"", i, "\"");
  check_cost({"a tokenizer's folder", read_tokenizer_folder}, {texts});
  CHECK_ERROR(reader("checkpoint").read(zip_bomb()), "'a/data.pkl' must be at most 20 times its");
  check_cost(reader("checkpoint"), {zip_bomb()});
}

TEST_CASE("examples take at most six times the bytes of their file until they are trained on") {
  if (testing::kSanitized) {
    SUCCEED("sanitizers take memory of their own");
    return;
  }
  const std::string jsonl = repeated(R"({"text":")" + std::string(150, 'a') + "\"}\n", 4'000'000);
  const int64_t bytes = cost({"a run", prepare_run}, jsonl);
  CHECK(bytes >= 0);
  // Linux counts resident pages for each processor apart (from 6.2 on), and may be off by a megabyte.
  CHECK(bytes <= 6 * std::ssize(jsonl) + (1 << 20));
}

}  // namespace test_costs
