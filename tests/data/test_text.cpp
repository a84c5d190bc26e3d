// Texts from files: bytes for the one tokenizer, characters for the other.
#include "catch.hpp"
#include "gradus/data/text.hpp"
#include "gradus/files/hashes.hpp"
#include "machine.hpp"
#include "support.hpp"

namespace test_text {

using namespace gradus::data;
namespace fs = std::filesystem;

const TextRules kCharacters = TextRules::of_kind("char"), kBytes = TextRules::of_kind("byte");
const std::string kMark = "\xEF\xBB\xBF";

std::string quoted(const fs::path& path) { return "\"" + path.string() + "\""; }

Text characters(const std::string& bytes) { return make_text({{"a text", bytes}}, kCharacters); }

Text read_text(const std::vector<fs::path>& paths, const TextRules& rules) {
  return make_text(read_sources(paths), rules);
}

TEST_CASE("read_text joins files byte for byte") {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "one\r\ntwo");
  std::string bytes("\0\xFF", 2);
  bytes.append(100'000, 'x');
  write_file(folder / "b.txt", bytes);
  CHECK(read_text({folder / "a.txt"}, {}).text == "one\r\ntwo");
  const std::string joined = read_text({folder / "b.txt", folder / "a.txt"}, {}).text;
  CHECK(joined == bytes + "one\r\ntwo");
  CHECK_HAS(read_text({folder / "b.txt"}, {}).note(), "was read as plain text, although it has zero bytes");
}

TEST_CASE("read_text says in one line what is wrong with a file") {
  const TemporaryFolder folder;
  write_file(folder / "empty.txt", "");
  write_file(folder / "good.txt", "good");
  const auto error = [&](const fs::path& path) {
    return error_of([&] { read_text({folder / "good.txt", path}, {}); });
  };
  CHECK(error(folder / "none.txt") ==
        "[text] " + quoted(folder / "none.txt") + " must be readable, got 'No such file or directory'.");
  fs::create_directory(folder / "none");
  write_file(folder / "none/a.text", "not this");
  CHECK(error(folder / "none") ==
        "[text] " + quoted(folder / "none") + " must have files in it whose names end in .txt, got none.");
  CHECK(error(folder / "empty.txt") ==
        "[text] " + quoted(folder / "empty.txt") + " must have text in it, got none.");
  CHECK(error(folder / "good.txt/below") ==
        "[text] " + quoted(folder / "good.txt/below") + " must be readable, got 'Not a directory'.");
  CHECK_THROWS_WITH(read_text({}, {}), "[text] there must be at least one file, got none.");
  write_file(folder / "lfs.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n");
  CHECK_HAS(error(folder / "lfs.txt"), "lfs.txt\" must be a text, got a pointer of Git LFS.");
}

TEST_CASE("read_text names a file that opens but cannot be read") {
  if (!gradus::testing::machine_has("/proc/self/mem")) return;
  // Its first page is never mapped, so that reading fails for everybody, root included.
  CHECK_THROWS_WITH(read_text({"/proc/self/mem"}, {}),
                    "[text] \"/proc/self/mem\" must be readable, got 'Input/output error'.");
}

TEST_CASE("a text of characters has no byte order mark and one kind of line end") {
  const Text text = characters(kMark + "one\r\ntwo\rthree\nfour\r\r\n");
  CHECK(text.text == "one\ntwo\nthree\nfour\n\n");
  CHECK(text.marks == 1);
  CHECK(text.line_ends == 4);
  CHECK(text.note() == "1 byte order marks were left out; 4 line ends with CR were read as LF");
}

TEST_CASE("a text of bytes keeps every byte") {
  CHECK(characters("one\n" + kMark + "two").note().empty());  // The mark is a character there.
  const std::string bytes = kMark + "one\r\ntwo\xFF";
  const Text text = make_text({{"a text", bytes}}, kBytes);
  CHECK(text.text == bytes);
  CHECK(text.note().empty());
}

TEST_CASE("each file loses its own mark, and what belongs together may lie in two files") {
  const std::string euro = "\xE2\x82\xAC";
  const Text text = make_text({{"a", kMark + "one\r"},
                               {"b", "\ntwo" + euro.substr(0, 1)},
                               {"c", euro.substr(1)},
                               {"d", kMark + "\r"}},
                              kCharacters);
  CHECK(text.text == "one\ntwo" + euro + "\n");
  CHECK(text.marks == 2);
  CHECK(text.line_ends == 2);
  CHECK(text.note() == "2 byte order marks were left out; 2 line ends with CR were read as LF");
  CHECK(characters("a\r").note() == "1 line ends with CR were read as LF");
  CHECK(characters(kMark + "a").note() == "1 byte order marks were left out");
}

TEST_CASE("a byte that is no UTF-8 is named with its file, its place in it and its line") {
  const auto error = [](const std::vector<Source>& sources) {
    return error_of([&] { (void)make_text(sources, kCharacters); });
  };
  CHECK(error({{"a.txt", kMark + "good\n"}, {"b.txt", kMark + "gut\nsch\xF6n"}, {"c.txt", "good"}}) ==
        "[text] b.txt must be UTF-8, got byte 0xf6 at byte offset 10, on line 2, where no character starts. "
        "Hint: save it as UTF-8, or train with `tokenizer` byte, which reads any file.");
  CHECK_HAS(error({{"a.txt", "caf\xC3"}}), "a.txt must be UTF-8, got byte 0xc3 at byte offset 3, on line 1");
  CHECK_HAS(error({{"a.txt", "good"}, {"b.txt", "\xF6"}}),
            "b.txt must be UTF-8, got byte 0xf6 at byte offset 0");
  for (const std::string& bytes : {std::string("\xFF\xFEh\0i\0", 6), std::string("A\0 \0l\0i\0n\0e\0", 12)}) {
    CHECK_HAS(error({{"a.txt", bytes}}), "a.txt must be UTF-8, got what looks like UTF-16. Hint: iconv ");
    CHECK_HAS(make_text({{"a.txt", bytes}}, kBytes).note(), "a.txt was read as plain text, although it");
  }
}

TEST_CASE("a file with nothing but a byte order mark has no text in it") {
  const TemporaryFolder folder;
  write_file(folder / "mark.txt", kMark);
  CHECK_THROWS_WITH(
      read_text({folder / "mark.txt"}, kCharacters),
      "[text] " + quoted(folder / "mark.txt") + " must have text in it, got a byte order mark only.");
  CHECK(read_text({folder / "mark.txt"}, kBytes).text == kMark);
}

TEST_CASE("a tokenizer that was trained on CR is given CR") {
  const std::string bytes = kMark + "a\r\nb";
  const auto text_for = [&](const Tokenizer& tokenizer) {
    return make_text({{"a text", bytes}}, TextRules::of(tokenizer)).text;
  };
  CHECK(text_for(Tokenizer::characters("ab\n")) == "a\nb");
  CHECK(text_for(Tokenizer::characters("ab\r\n")) == "a\r\nb");
  CHECK(text_for(Tokenizer::bytes()) == bytes);
}

/// "line:object " for each object; "error" for an Error.
std::string objects_of(const std::string& bytes) {
  std::string found;
  try {
    each_object({"x", bytes}, [&](int64_t line, std::string_view object) {
      found += gradus::concat(line, ":", object, " ");
      return true;
    });
  } catch (const gradus::Error&) {
    found += "error";
  }
  return found;
}

TEST_CASE("objects are those of JSON lines or of an array, with the lines where they begin") {
  CHECK(objects_of("{\"a\":1}\n\n  {}  \r\n{") == "1:{\"a\":1} 3:{} 4:{ ");
  CHECK(objects_of(kMark + "{}") == "1:{} ");
  CHECK(objects_of("\n[\n{\"a\":\"],\\\"[\"},\n {\"b\":[1,{}]}\n]\n") ==
        "3:{\"a\":\"],\\\"[\"} 4:{\"b\":[1,{}]} ");
  CHECK(objects_of("[]") == "");
  CHECK(objects_of("[{},]") == "1:{} 1: ");  // an empty object, which no reader accepts
  CHECK(objects_of("[{}") == "error");
  CHECK(objects_of("[{}, \"a") == "1:{} error");
  CHECK(objects_of("[{}] {}") == "1:{} error");
  CHECK(objects_of(std::string(200'000, '[')) == "error");
  for (const char* bad : {"{\n\"a\": 1\n}\n", "{\"a\": [\n1]} {}", "\xFF\xFE{\0}\0"})
    CHECK(objects_of(bad) == "error");
}

TEST_CASE("examples are known by a name of JSON or by a member that only they have") {
  const auto is = [](const std::string& path, const std::string& bytes) {
    return are_examples({{path, bytes, path}});
  };
  for (const char* path : {"a.jsonl", "a.JSONL", "a.ndjson", "a.json"}) CHECK(is(path, "{"));
  const std::string line = "{\"text\": \"a\"}\n", question = "{\"prompt\": \"a\", \"completion\": \"b\"}";
  for (const std::string path : {"", "a.txt", "a"}) {
    CHECK(is(path, line + line));
    CHECK(is(path, kMark + "\r\n" + line));
    CHECK(is(path, "{bad}\n" + question));
    CHECK(is(path, "[" + question + ",\n" + question + "]"));
    CHECK(is(path, "{\"messages\": []}"));
    CHECK_FALSE(is(path, "One line.\n" + line));
    CHECK_FALSE(is(path, line + "says that\n"));
    const std::string others = "{\"a\": 1}\n{\"b\": 2}\n";
    CHECK(is(path, others) == (path != "a.txt"));
    for (const std::string& text : {others, "{\n" + others})
      CHECK_HAS(make_text({{"x", text, path}}, kBytes).note(),
                "x was read as plain text, although it looks like");
    CHECK(is(path, "[" + question + ","));
    CHECK_FALSE(is(path, "{}\n"));
    for (const std::string bad : {"{\"text\": \"a\", \"text\": 1}", "{\n \"prompt\" : 1}",
                                  "[[{\"text\": 1}]]", "{\"text\": \"a\"}{\"text\": \"b\"}"})
      CHECK(is(path, kMark + bad));
    CHECK_FALSE(is(path, "{\"I\" and you}"));
    CHECK_FALSE(is(path, "[Exit, pursued by a bear]\n" + line));
    CHECK_FALSE(is(path, "[1]"));
  }
  CHECK(error_of([&] {
          (void)are_examples({{"a", line}, {"b", line}, {"c", "text"}});
        }) == "[text] texts must all be JSONL or none, got b and c, of which one is.");
}

TEST_CASE("a folder is its .txt files and those below, in the order of their paths") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "b/deep");
  write_file(folder / "b/deep/z.txt", "3");
  write_file(folder / "b.txt", "4");
  write_file(folder / "a.txt", "2");
  write_file(folder / "B.TXT", "1");
  write_file(folder / "notes.md", "not this");
  write_file(folder / "c", "nor this");
  std::vector<std::string> names;
  for (const fs::path& file : text_files({folder.path()}))
    names.push_back(file.lexically_relative(folder.path()).string());
  CHECK(names == std::vector<std::string>{"B.TXT", "a.txt", "b.txt", "b/deep/z.txt"});
  const Text text = read_text({folder / "a.txt", folder.path()}, {});
  CHECK(text.text == "21243");
}

}  // namespace test_text
