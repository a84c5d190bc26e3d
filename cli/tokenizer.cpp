// gradus tokenizer: encodes texts and decodes tokens with the tokenizer of a folder; learns byte pairs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "gradus/cli/program/command_line.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/data/chat.hpp"
#include "gradus/data/text.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/data/tokens.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using data::Tokenizer;
using Json = nlohmann::ordered_json;
using Tokens = std::vector<int32_t>;

constexpr const char* kStandardInput = "the standard input";

// -- reading

data::Source read_source(const fs::path& file) { return data::read_source(file, /*may_be_empty=*/true); }

/// The files, with those of folders in their places.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const fs::path& file : data::text_files({paths.begin(), paths.end()})) files.push_back(file.string());
  return files;
}

/// The same; the standard input if there are no paths.
std::vector<std::string> files_or_input(const std::vector<std::string>& paths) {
  return paths.empty() ? std::vector<std::string>{"-"} : files_of(paths);
}

/// The text by the rules; notes what they change.
std::string text_of(const data::Source& source, const data::TextRules& rules) {
  data::Text text = data::make_text({source}, rules);
  if (const std::string note = text.note(); !note.empty())
    Messages(false).line(concat("note: of ", source.name, " ", note));
  return std::move(text.text);
}

Tokens encode(const Tokenizer& tokenizer, const data::Source& source, bool specials) {
  const std::string text = text_of(source, data::TextRules::of(tokenizer));
  return specials ? tokenizer.encode_with_specials(text) : tokenizer.encode(text);
}

/// Numbers with spaces or line ends between them.
Tokens parse_tokens(const data::Source& source) {
  Tokens tokens;
  std::istringstream words(source.bytes);
  for (std::string word; words >> word;) {
    int32_t& token = tokens.emplace_back();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (error != std::errc() || end != word.data() + word.size())
      fail("tokenizer", source.name, " must have token numbers only, got ", files::in_quotes(word),
           " as the one after ", tokens.size() - 1, " others.");
  }
  return tokens;
}

/// Converts the JSON list on the standard input, item by item, into another.
template <class Convert>
void convert_list(const std::vector<std::string>& files, const Convert& convert) {
  if (!files.empty())
    fail("tokenizer", "--json takes the standard input, got ", files::in_quotes(files[0]), " as well.");
  const data::Source source = read_source("-");
  const files::Json json(source.bytes, "tokenizer", kStandardInput);
  std::cout << "[" + joined(json.root().items(), ",", convert) + "]\n" << std::flush;
}

// -- tokenizer train

struct LearnFlags {
  std::string out;
  std::vector<std::string> text, special;
  int64_t vocab = 0;
  bool overwrite = false, quiet = false;
};

void check_free(const fs::path& folder, bool overwrite) {
  if (fs::exists(folder) && !fs::is_directory(folder))
    fail("tokenizer", "--out must be a folder, got a file, ", folder, ".");
  for (const char* name : {"vocab.json", "tokenizer.json", "tokenizer_config.json", "merges.txt"})
    if (!overwrite && fs::exists(folder / name) && !fs::exists(folder / "checksums.sfv.tmp"))  // by a kill
      fail("tokenizer", "--out must be a folder without a tokenizer, got ", folder, " with ", name,
           ". Hint: --overwrite replaces it.");
  if (fs::exists(folder / "train.json") || fs::exists(folder / "model.safetensors"))
    fail("tokenizer", "--out must be a folder without a model, got ", folder, ", which has one.");
}

int learn(const LearnFlags& flags) {
  check_free(flags.out, flags.overwrite);
  const auto begin = std::chrono::steady_clock::now();
  data::PairTrainer trainer;
  int64_t bytes = 0;
  for (const std::string& file : files_of(flags.text)) {
    const std::vector<data::Source> one{read_source(file)};
    const data::TextRules rules = data::TextRules::of_kind("bpe");
    const bool has_examples = data::are_examples(one);
    const std::string text =
        has_examples ? data::texts_of(data::read_records(one, rules)) : text_of(one[0], rules);
    trainer.add(text);
    bytes += std::ssize(text);
  }
  if (bytes == 0) fail("tokenizer", "the texts must have bytes in them, got none.");
  const Tokenizer tokenizer = trainer.train(flags.vocab).with_special(flags.special);
  const double seconds = seconds_since(begin);
  data::save_tokenizer(tokenizer, flags.out);

  const Messages messages(flags.quiet);
  if (tokenizer.vocab_size() < flags.vocab)
    messages.line(concat("note: the text has pairs for ", grouped(tokenizer.vocab_size()),
                         " tokens, fewer than --vocab ", flags.vocab));
  messages.line(concat("learnt  ", grouped(tokenizer.vocab_size()), " tokens from ", grouped(bytes),
                       " bytes, ", duration(seconds), "\nfiles   ", shell_path(flags.out), ": ",
                       "tokenizer.json, and vocab.json with merges.txt"));
  return kDone;
}

Action add_learn(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<LearnFlags>();
  add_argument(verb, "text", flags->text, "FILE", "Texts, or folders of .txt files; - is the standard input");
  add_value(verb, "--out", flags->out, "DIR", "Folder for the tokenizer's files")->required();
  add_value(verb, "--vocab", flags->vocab, "N",
            "Size of the vocabulary, with the 256 bytes and <|endoftext|>",
            {Tokenizer::kLeastPairs, Tokenizer::kMostPairs})
      ->required();
  verb.add_option("--special", flags->special,
                  "Add a special token with this text after the others; may be given several\ntimes")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  verb.add_flag("--overwrite", flags->overwrite, "Replace a tokenizer that is in the folder");
  verb.add_flag("--quiet", flags->quiet, "Print errors only");
  verb.footer(
      with_program(R"(The same texts give the same tokenizer, in any order. gradus train --tokenizer DIR
trains with it, and Hugging Face's tokenizers reads its tokenizer.json.

Examples:
  $ tokenizer train my.txt more.txt --out tok --vocab 8192
  zcat big.gz | $ tokenizer train - --out tok --vocab 32768)",
                   program));
  return {[flags] { return learn(*flags); }};
}

// -- tokenizer encode and decode

struct CodingFlags {
  std::string from;
  std::vector<std::string> files;  ///< or folders; none or -: the standard input (except for info)
  std::string bin;                 ///< encode: a file for all numbers
  bool specials = false, json = false;
};

/// Makes the flags of a verb, and adds the first of them.
std::shared_ptr<CodingFlags> add_from(CLI::App& verb) {
  auto flags = std::make_shared<CodingFlags>();
  add_argument(verb, "from", flags->from, "FROM",
               "Run folder, a folder of Hugging Face's or GPT-2's files, or a tokenizer.json");
  return flags;
}

/// Encodes one text after another, so that memory is needed for one of them only.
void write_bin(const CodingFlags& flags, const Tokenizer& tokenizer) {
  if (flags.json) fail("tokenizer", "--bin and --json must not come together, got both.");
  const std::vector<std::string> files = files_or_input(flags.files);
  files::check_replaceable("tokenizer", "--bin", flags.bin, [&](std::string_view) {
    return !data::Tokens::open(flags.bin, tokenizer.vocab_size()).empty();
  });
  std::error_code ignored;
  for (const std::string& file : files)
    if (fs::equivalent(file, flags.bin, ignored))
      fail("tokenizer", "--bin must be another file than the texts, got ", fs::path(flags.bin), ".");
  const data::Tokens all =
      data::Tokens::write(flags.bin, tokenizer.vocab_size(), [&](const data::Tokens::Add& add) {
        bool some = false;
        for (const std::string& file : files) {
          const Tokens tokens = encode(tokenizer, read_source(file), flags.specials);
          some = some || !tokens.empty();
          add(tokens);
        }
        if (!some) fail("tokenizer", "--bin needs a text, got none.");
      });
  Messages(false).line(concat("wrote   ", shell_path(flags.bin), ", ", grouped(all.size()), " tokens of ",
                              all.bits(), " bits"));
}

int encode_texts(const CodingFlags& flags) {
  const Tokenizer tokenizer = data::load_tokenizer(flags.from);
  if (!flags.bin.empty()) {
    write_bin(flags, tokenizer);
  } else if (flags.json) {
    convert_list(flags.files, [&](const files::Field& item) {
      const data::Source text{kStandardInput, std::string(item.text())};
      return "[" + joined(encode(tokenizer, text, flags.specials), ",") + "]";
    });
  } else {
    std::string out;  // All texts are encoded before anything is written.
    for (const std::string& file : files_or_input(flags.files))
      out += joined(encode(tokenizer, read_source(file), flags.specials), " ") + "\n";
    std::cout << out << std::flush;
  }
  return kDone;
}

int decode_tokens(const CodingFlags& flags) {
  const Tokenizer tokenizer = data::load_tokenizer(flags.from);
  if (flags.json) {
    convert_list(flags.files, [&](const files::Field& item) {
      Tokens tokens;
      for (const files::Field& token : item.items())
        tokens.push_back(static_cast<int32_t>(token.integer(0, std::numeric_limits<int32_t>::max())));
      return json_line(Json(tokenizer.decode(tokens)));
    });
    return kDone;
  }
  std::string out;
  for (const std::string& file : files_or_input(flags.files))
    out += tokenizer.decode(parse_tokens(read_source(file)));
  std::cout << out << std::flush;
  return kDone;
}

Action add_encode(CLI::App& verb, const std::string& program) {
  const auto flags = add_from(verb);
  verb.add_option("text", flags->files,
                  "Texts, or folders of .txt files; the standard input if\nnone is given, or for -")
      ->type_name("FILE");
  add_value(verb, "--bin", flags->bin, "FILE",
            "Write the numbers to this file, of 16 bits, or of 32 if the\nvocabulary needs them, for train "
            "--tokens and nanoGPT");
  verb.add_flag("--specials", flags->specials,
                "Read the texts of special tokens, such as <|endoftext|>, as these tokens");
  verb.add_flag("--json", flags->json, "Read a JSON list of strings, print a list of lists of numbers");
  verb.footer(with_program(R"(Examples:
  $ tokenizer encode out/my my.txt
  $ tokenizer encode gpt2 texts --bin train.bin
  printf 'Hello, I am' | $ tokenizer encode gpt2
  echo '["Hello", "I am"]' | $ tokenizer encode out/my --json)",
                           program));
  return {[flags] { return encode_texts(*flags); }};
}

Action add_decode(CLI::App& verb, const std::string& program) {
  const auto flags = add_from(verb);
  verb.add_option("tokens", flags->files,
                  "Files of numbers with spaces or line ends between\nthem; the standard input if none is "
                  "given, or for -")
      ->type_name("FILE");
  verb.add_flag("--json", flags->json, "Read a JSON list of lists of numbers, print a list of strings");
  verb.footer(
      with_program(R"(The text is written byte for byte; in JSON, bytes that are not UTF-8 become U+FFFD.

Examples:
  echo 15496 11 314 716 | $ tokenizer decode gpt2
  $ tokenizer encode out/my my.txt | $ tokenizer decode out/my | cmp - my.txt)",
                   program));
  return {[flags] { return decode_tokens(*flags); }};
}

// -- tokenizer info

/// The tokens with the most bytes; of equal ones, the token with the smaller number comes first.
Tokens longest(const Tokenizer& tokenizer, size_t count) {
  Tokens all(static_cast<size_t>(tokenizer.vocab_size()));
  std::iota(all.begin(), all.end(), 0);
  const Tokens specials = tokenizer.special_tokens();
  std::erase_if(all, [&](int32_t token) { return std::ranges::binary_search(specials, token); });
  count = std::min(count, all.size());
  const auto bytes = [&](int32_t token) { return tokenizer.decode({&token, 1}).size(); };
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [&](int32_t a, int32_t b) { return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : a < b; });
  all.resize(count);
  return all;
}

int describe(const CodingFlags& flags) {
  const Tokenizer tokenizer = data::load_tokenizer(flags.from);
  const Tokens special = tokenizer.special_tokens(), long_ones = longest(tokenizer, 5);
  Tokens tokens;
  for (const std::string& file : files_of(flags.files)) {
    const Tokens more = encode(tokenizer, read_source(file), /*specials=*/false);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  const int64_t bytes = tokenizer.byte_count(tokens);
  const double average = static_cast<double>(bytes) / static_cast<double>(std::max<size_t>(1, tokens.size()));
  const auto text_of = [&](int32_t token) { return tokenizer.decode({&token, 1}); };
  if (flags.json) {
    const auto named = [&](const Tokens& some) {
      Json list = Json::array();
      for (const int32_t token : some) list.push_back({{"id", token}, {"text", text_of(token)}});
      return list;
    };
    Json json{{"kind", tokenizer.kind()},     {"vocab_size", tokenizer.vocab_size()},
              {"prefix", tokenizer.prefix()}, {"suffix", tokenizer.suffix()},
              {"eos", tokenizer.eos()},       {"special", named(special)},
              {"longest", named(long_ones)}};
    if (!flags.files.empty())
      json.update({{"bytes", bytes}, {"tokens", tokens.size()}, {"bytes_per_token", average}});
    std::cout << json_line(json) << std::endl;
    return kDone;
  }
  constexpr std::ptrdiff_t kShown = 12;
  const auto shown = [&](const Tokens& some) {
    const Tokens first(some.begin(), some.begin() + std::min(std::ssize(some), kShown));
    std::string texts = joined(first, ", ", [&](int32_t token) {
      return concat(files::in_quotes(text_of(token)), " (", token, ")");
    });
    if (std::ssize(some) > kShown) texts += concat(" and ", std::ssize(some) - kShown, " more");
    return some.empty() ? "none" : texts;
  };
  std::cout << fact("kind", tokenizer.kind()) << fact("tokens", grouped(tokenizer.vocab_size()))
            << fact("special", shown(special)) << fact("before", shown(tokenizer.prefix()))
            << fact("end", shown(tokenizer.eos())) << fact("longest", shown(long_ones));
  if (!flags.files.empty())
    std::cout << fact("text", grouped(bytes), " bytes, ", grouped(std::ssize(tokens)), " tokens, ",
                      decimals(average, 3), " bytes a token");
  std::cout << std::flush;
  return kDone;
}

Action add_describe(CLI::App& verb, const std::string& program) {
  const auto flags = add_from(verb);
  add_value(verb, "--text", flags->files, "FILE", "Also print the average bytes of a token in these files");
  verb.add_flag("--json", flags->json, "Print one JSON object");
  verb.footer(with_program(
      "Examples:\n  $ tokenizer info out/my\n  $ tokenizer info gpt2 --text my.txt --json", program));
  return {[flags] { return describe(*flags); }};
}

constexpr Verb kTokenizerVerbs[] = {
    {"train", "Learn byte pairs from texts", add_learn},
    {"encode", "Print the token numbers of texts, one line per file", add_encode},
    {"decode", "Print the text of token numbers", add_decode},
    {"info", "Print kind, size, special and longest tokens", add_describe}};

}  // namespace

Action add_tokenizer(CLI::App& verb, const std::string& program) {
  const std::vector<AddedVerb> added = add_verbs(verb, kTokenizerVerbs, program);
  verb.footer(with_program(
      R"(FROM is a run folder, a folder with tokenizer.json as Hugging Face has it, or with vocab.json
and merges.txt as GPT-2 has them, or a tokenizer.json.

Examples:
  $ tokenizer info out/my
  $ tokenizer encode --help)",
      program));
  return {[added] {
    if (const AddedVerb* parsed = parsed_verb(added)) return parsed->action.run();
    fail("tokenizer", "there must be train, encode, decode or info, got none.");
  }};
}

}  // namespace gradus::cli
