#include "gradus/tools/cli/tokenizer/tokenizer_verbs.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gradus/data/text.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/data/tokenizer_files.hpp"
#include "gradus/data/tokens.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/text_output.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using data::Tokenizer;
using Tokens = std::vector<int32_t>;

constexpr const char* kStandardInput = "the standard input";

/// What lies in a file, or comes by the standard input.
data::Source read_source(const std::string& file) {
  if (file == "-") return {kStandardInput, std::string(std::istreambuf_iterator<char>(std::cin), {})};
  return {concat(fs::path(file)), files::read(file)};
}

/// The files, with those of folders in their places.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const fs::path& file : data::text_files({paths.begin(), paths.end()})) files.push_back(file.string());
  return files;
}

std::vector<data::Source> read_sources(const TokenizerTextFlags& flags) {
  if (flags.json && !flags.files.empty())
    fail("tokenizer", "--json takes the standard input, got ", files::in_quotes(flags.files[0]), " as well.");
  std::vector<data::Source> sources;
  for (const std::string& file : files_of(flags.files)) sources.push_back(read_source(file));
  if (sources.empty()) sources.push_back(read_source("-"));
  return sources;
}

Tokens encode(const Tokenizer& tokenizer, const data::Source& source, bool specials) {
  const data::Text text = data::make_text({source}, data::TextRules::of(tokenizer));
  if (const std::string note = text.note(); !note.empty())
    People(false).line(concat("note: of ", source.name, " ", note));
  return specials ? tokenizer.encode_with_specials(text.text) : tokenizer.encode(text.text);
}

std::string joined(const Tokens& tokens, char between) {
  std::string text;
  for (const int32_t token : tokens) {
    if (!text.empty()) text += between;
    text += std::to_string(token);
  }
  return text;
}

/// Numbers between spaces and line ends.
Tokens parse_tokens(const data::Source& source) {
  constexpr std::string_view kBlanks = " \t\r\n";
  Tokens tokens;
  std::string_view rest = source.bytes;
  for (;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    if (rest.empty()) return tokens;
    const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
    int32_t token = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (error != std::errc() || end != word.data() + word.size())
      fail("tokenizer", source.name, " must have token numbers only, got ", files::in_quotes(word),
           " as the one after ", tokens.size(), " others.");
    tokens.push_back(token);
    rest.remove_prefix(word.size());
  }
}

Tokens tokens_of(const files::Field& list) {
  Tokens tokens;
  for (const files::Field& token : list.items())
    tokens.push_back(static_cast<int32_t>(token.integer(0, std::numeric_limits<int32_t>::max())));
  return tokens;
}

/// Text as JSON has it, with U+FFFD for what is no UTF-8.
std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A JSON list of what `make` makes of each item of another.
template <class Make>
std::string mapped(const files::Json& json, Make&& make) {
  std::string list;
  for (const files::Field& item : json.root().items()) list += (list.empty() ? "" : ",") + make(item);
  return "[" + list + "]\n";
}

void check_free(const fs::path& folder, bool overwrite) {
  for (const char* name : {"vocab.json", "tokenizer.json"})
    if (!overwrite && fs::exists(folder / name))
      fail("tokenizer", "--out must be a folder without a tokenizer, got ", folder, " with ", name,
           ". Hint: --overwrite replaces it.");
  if (fs::exists(folder / "train.json") || fs::exists(folder / "model.safetensors"))
    fail("tokenizer", "--out must be a folder of its own, got ", folder, ", where a model is.");
}

/// The longest first, of equally long ones that with the smaller number.
Tokens longest(const Tokenizer& tokenizer, size_t count) {
  Tokens all(static_cast<size_t>(tokenizer.vocab_size()));
  std::iota(all.begin(), all.end(), 0);
  const Tokens specials = tokenizer.special_tokens();
  std::erase_if(all,
                [&](int32_t token) { return std::binary_search(specials.begin(), specials.end(), token); });
  count = std::min(count, all.size());
  const auto bytes = [&](int32_t token) { return tokenizer.byte_count({&token, 1}); };
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [&](int32_t a, int32_t b) { return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : a < b; });
  all.resize(count);
  return all;
}

std::string text_of(const Tokenizer& tokenizer, int32_t token) { return tokenizer.decode({&token, 1}); }

std::string shown(const Tokenizer& tokenizer, const Tokens& tokens) {
  std::string text;
  for (const int32_t token : tokens)
    text += concat(text.empty() ? "" : ", ", files::in_quotes(text_of(tokenizer, token)), " (", token, ")");
  return text.empty() ? "none" : text;
}

/// What is there is replaced, if it is a file, and not one of those that are read.
void check_bin(const std::string& bin, const std::vector<std::string>& read) {
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(bin, ignored).type();
  if (type != fs::file_type::regular && type != fs::file_type::not_found)
    fail("tokenizer", "--bin must be a new file, or one to replace, got ", fs::path(bin),
         ", which is something else.");
  for (const std::string& file : read)
    if (fs::equivalent(file, bin, ignored))
      fail("tokenizer", "--bin must be a file of its own, got ", fs::path(bin), ", which is read.");
}

/// One text after another, so that there is memory for each of them, not for all.
void write_bin(const TokenizerTextFlags& flags, const Tokenizer& tokenizer) {
  if (flags.json) fail("tokenizer", "--bin and --json must not come together, got both.");
  if (tokenizer.vocab_size() > data::Tokens::kMostInFile)
    fail("tokenizer", "--bin needs a tokenizer of at most ", data::Tokens::kMostInFile, " tokens, got ",
         tokenizer.vocab_size(), ".");
  const std::vector<std::string> files =
      flags.files.empty() ? std::vector<std::string>{"-"} : files_of(flags.files);
  check_bin(flags.bin, files);
  size_t count = 0;
  files::write_atomically(flags.bin, [&](std::ostream& out) {
    for (const std::string& file : files) {
      const Tokens tokens = encode(tokenizer, read_source(file), flags.specials);
      out << data::token_bytes(tokens);
      count += tokens.size();
    }
    if (count == 0) fail("tokenizer", "--bin needs a text, got none.");
  });
  People(false).line(
      concat("wrote   ", shell_path(flags.bin), ", ", grouped(static_cast<int64_t>(count)), " tokens"));
}

double average_bytes(const Tokenizer& tokenizer, const Tokens& tokens) {
  return static_cast<double>(tokenizer.byte_count(tokens)) /
         static_cast<double>(std::max<size_t>(1, tokens.size()));
}

}  // namespace

void train_tokenizer(const TokenizerTrainFlags& flags) {
  check_free(flags.out, flags.overwrite);
  if (flags.vocab < Tokenizer::kLeastPairs || flags.vocab > Tokenizer::kMostPairs)
    fail("tokenizer", "--vocab must be a whole number from ", Tokenizer::kLeastPairs, " to ",
         Tokenizer::kMostPairs, ", got ", flags.vocab, ".");
  const auto begin = std::chrono::steady_clock::now();
  data::PairTrainer trainer;
  int64_t bytes = 0;
  for (const std::string& file : files_of(flags.text)) {
    const data::Source source = read_source(file);
    trainer.add(source.bytes);
    bytes += static_cast<int64_t>(source.bytes.size());
  }
  const Tokenizer tokenizer = trainer.train(flags.vocab);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  data::save_tokenizer(tokenizer, flags.out);

  const People people(flags.quiet);
  if (tokenizer.vocab_size() < flags.vocab)
    people.line(concat("note: the text has pairs for ", grouped(tokenizer.vocab_size()),
                       " tokens, fewer than --vocab ", flags.vocab));
  people.line(concat("learnt  ", grouped(tokenizer.vocab_size()), " tokens from ", grouped(bytes), " bytes, ",
                     duration(seconds.count()), "\nfiles   ", shell_path(flags.out), ": ",
                     "tokenizer.json, and vocab.json with merges.txt"));
}

void encode_texts(const TokenizerTextFlags& flags) {
  const Tokenizer tokenizer = data::load_tokenizer(flags.from);
  if (!flags.bin.empty()) return write_bin(flags, tokenizer);
  const std::vector<data::Source> sources = read_sources(flags);
  std::string out;  // Nothing is written before all is known to be good.
  if (flags.json) {
    const files::Json json(sources[0].bytes, "tokenizer", kStandardInput);
    out = mapped(json, [&](const files::Field& item) {
      const data::Source text{kStandardInput, std::string(item.text())};
      return "[" + joined(encode(tokenizer, text, flags.specials), ',') + "]";
    });
  } else {
    for (const data::Source& source : sources)
      out += joined(encode(tokenizer, source, flags.specials), ' ') + "\n";
  }
  std::cout << out << std::flush;
}

void decode_tokens(const TokenizerTextFlags& flags) {
  const Tokenizer tokenizer = data::load_tokenizer(flags.from);
  const std::vector<data::Source> sources = read_sources(flags);
  std::string out;
  if (flags.json) {
    const files::Json json(sources[0].bytes, "tokenizer", kStandardInput);
    out = mapped(json,
                 [&](const files::Field& item) { return json_string(tokenizer.decode(tokens_of(item))); });
  } else {
    for (const data::Source& source : sources) out += tokenizer.decode(parse_tokens(source));
  }
  std::cout << out << std::flush;
}

void describe_tokenizer(const TokenizerInfoFlags& flags) {
  const Tokenizer tokenizer = data::load_tokenizer(flags.from);
  const Tokens special = tokenizer.special_tokens(), long_ones = longest(tokenizer, 5);
  Tokens tokens;
  for (const std::string& file : files_of(flags.text)) {
    const Tokens more = encode(tokenizer, read_source(file), /*specials=*/false);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  if (!flags.json) {
    std::cout << "kind        " << tokenizer.kind() << "\ntokens      " << grouped(tokenizer.vocab_size())
              << "\nspecial     " << shown(tokenizer, special) << "\nlongest     "
              << shown(tokenizer, long_ones) << "\n";
    if (!flags.text.empty())
      std::cout << "text        " << grouped(tokenizer.byte_count(tokens)) << " bytes, "
                << grouped(static_cast<int64_t>(tokens.size())) << " tokens, "
                << decimals(average_bytes(tokenizer, tokens), 3) << " bytes a token\n";
    std::cout << std::flush;
    return;
  }
  const auto named = [&](const Tokens& some) {
    std::string list;
    for (const int32_t token : some)
      list += concat(list.empty() ? "" : ",", "{\"id\":", token,
                     ",\"text\":", json_string(text_of(tokenizer, token)), "}");
    return "[" + list + "]";
  };
  std::cout << "{\"kind\":\"" << tokenizer.kind() << "\",\"vocab_size\":" << tokenizer.vocab_size()
            << ",\"special\":" << named(special) << ",\"longest\":" << named(long_ones);
  if (!flags.text.empty())
    std::cout << ",\"bytes\":" << tokenizer.byte_count(tokens) << ",\"tokens\":" << tokens.size()
              << ",\"bytes_per_token\":" << concat(average_bytes(tokenizer, tokens));
  std::cout << "}" << std::endl;
}

}  // namespace gradus::cli
