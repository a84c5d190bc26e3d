// The inputs that fuzzing has kept, and some thousand made of them by chance that is the same every time.
#include "catch.hpp"
#include "gradus/files/file.hpp"
#include "machine.hpp"
#include "readers.hpp"
#include "test_files.hpp"

namespace gradus::test_corpus {

using namespace gradus::fuzz;

namespace fs = std::filesystem;

std::vector<std::string> corpus(std::string_view name) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(testing::test_files() / "fuzz/corpus" / name))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const fs::path& path : paths) inputs.push_back(files::read(path));
  return inputs;
}

/// What tends to break readers.
const std::string kPieces[] = {std::string(100, '['),
                               std::string(100, '{'),
                               "\"a\":",
                               std::string(1, '\0'),
                               "\\u0000",
                               "\\ud800",
                               "\xFF",
                               "\xEF\xBB\xBF",
                               "\x1b[2J",
                               "-1",
                               "0.5",
                               "1e999",
                               "9223372036854775807",
                               "18446744073709551616",
                               "null",
                               "[]",
                               "{}",
                               "\"\"",
                               ",",
                               "\n"};

template <class Random>
std::string changed(std::string text, const std::vector<std::string>& others, Random& random) {
  for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) {
    const size_t at = text.empty() ? 0 : random() % text.size();
    switch (random() % 6) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ 1 << random() % 8);
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(random());
        break;
      case 2:
        text.erase(at, 1 + random() % 8);
        break;
      case 3:
        text.insert(at, kPieces[random() % std::size(kPieces)]);
        break;
      case 4:
        text.insert(at, text.substr(random() % (text.size() + 1), random() % 64));
        break;
      default: {
        const std::string& other = others[random() % others.size()];
        text = text.substr(0, at) + other.substr(std::min(at, other.size()));
      }
    }
  }
  return text;
}

TEST_CASE("every reader refuses or reads what is kept, and what is made of it") {
  if (!testing::machine_has("/proc/self/fd")) return;
  for (const Reader& reader : readers()) {
    const std::vector<std::string> inputs = corpus(reader.name);
    REQUIRE(inputs.size() >= 3);
    std::mt19937 random(7);
    const auto check = [&](const std::string& input) {
      try {
        try_to_read(reader, input);
      } catch (const std::exception& e) {
        FAIL(reader.name << " on " << input.size() << " bytes '" << input << "': " << e.what());
      }
    };
    for (const std::string& input : inputs) check(input);
    for (int round = 0; round < 2000; ++round)
      check(changed(inputs[static_cast<size_t>(round) % inputs.size()], inputs, random));
    SUCCEED(reader.name);
  }
}

TEST_CASE("the first of each corpus is read to its end") {
  if (!testing::machine_has("/proc/self/fd")) return;
  for (const Reader& reader : readers()) {
    INFO(reader.name);
    CHECK_NOTHROW(reader.read(files::read(testing::test_files() / "fuzz/corpus" / reader.name / "0-good")));
  }
}

}  // namespace gradus::test_corpus
