// What readers may cost: 50 ns and 20 bytes for each byte of their input, and a few megabytes
// (CONTRIBUTING.md).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "machine.hpp"
#include "readers.hpp"

namespace test_costs {

using namespace gradus;
using namespace gradus::fuzz;

constexpr size_t kBytes = 500'000;
constexpr int64_t kMostOfByte = 20, kFewBytes = 6'000'000;
constexpr rlim_t kMostSeconds = 1;  // 40 times 50 ns a byte, because limits are whole seconds

std::string repeated(std::string_view piece) {
  std::string text;
  while (text.size() < kBytes) text += piece;
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
          gguf(),
          "\x80\x02(" + repeated(")") + "t.",
          "\x80\x02(" + repeated("N") + "t.",
          "\x80\x02(" + repeated("N\x94") + "t.",
          "\x80\x02(" + repeated("}") + "t.",
          "\x80\x02]" + repeated("Na") + ".",
          "\x80\x02}" + repeated("NNs") + "."};
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

TEST_CASE("no input costs a reader more than a multiple of its size") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // which take memory of their own
#endif
  if (!testing::machine_has("/proc/self/fd")) return;
  const std::vector<std::string> all = inputs();
  for (const Reader& reader : readers())
    for (size_t i = 0; i < all.size(); ++i) {
      INFO(reader.name << " on input " << i);
      const int64_t bytes = cost(reader, all[i]);
      CHECK(bytes >= 0);
      CHECK(bytes <= kMostOfByte * static_cast<int64_t>(all[i].size()) + kFewBytes);
    }
}

}  // namespace test_costs
