// gradus tokenizer: texts to token numbers and back, with the tokenizer of a run or another; and learning
// one.
#include <CLI/CLI.hpp>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/command_line.hpp"
#include "gradus/tools/cli/program/whole_number.hpp"
#include "gradus/tools/cli/tokenizer/tokenizer_verbs.hpp"

namespace gradus::cli {
namespace {

constexpr const char* kFrom = "Run folder, one of GPT-2's files, or a tokenizer.json";

void add_from(CLI::App& verb, std::string& from) {
  verb.add_option("from", from, kFrom)->type_name("FROM")->required();
}

Action add_learn(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<TokenizerTrainFlags>();
  verb.add_option("text", flags->text, "Texts, or folders of .txt files; - is the standard input")
      ->type_name("FILE")
      ->required();
  verb.add_option("--out", flags->out, "Folder for the tokenizer's files")
      ->type_name("DIR")
      ->required()
      ->take_last();
  whole_number(verb,
               verb.add_option("--vocab", flags->vocab, "Tokens, the 256 bytes and <|endoftext|> among them"))
      ->type_name("N")
      ->required()
      ->take_last();
  verb.add_flag("--overwrite", flags->overwrite, "Replace a tokenizer that is in the folder");
  verb.add_flag("--quiet", flags->quiet, "Nothing for people but errors");
  verb.footer(
      concat("The same texts give the same tokenizer, in any order. gradus train --tokenizer DIR\n"
             "trains with it, and Hugging Face's tokenizers reads its tokenizer.json.\n\nExamples:\n  ",
             program, " tokenizer train my.txt more.txt --out tok --vocab 8192\n  zcat big.gz | ", program,
             " tokenizer train - --out tok --vocab 32768"));
  return {[flags] {
    train_tokenizer(*flags);
    return kDone;
  }};
}

Action add_encode(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<TokenizerTextFlags>();
  add_from(verb, flags->from);
  verb.add_option("text", flags->files, "Texts, or folders of .txt files; - and none are the\nstandard input")
      ->type_name("FILE");
  verb.add_option("--bin", flags->bin, "Into this file, 16 bits each, for train --tokens and nanoGPT")
      ->type_name("FILE")
      ->take_last();
  verb.add_flag("--specials", flags->specials,
                "Where <|endoftext|> stands, it is that token, not its letters");
  verb.add_flag("--json", flags->json, "A list of strings to a list of lists");
  verb.footer(concat("Examples:\n  ", program, " tokenizer encode out/my my.txt\n  ", program,
                     " tokenizer encode gpt2 texts --bin train.bin\n  printf 'Hello, I am' | ", program,
                     " tokenizer encode gpt2\n  echo '[\"Hello\", \"I am\"]' | ", program,
                     " tokenizer encode out/my --json"));
  return {[flags] {
    encode_texts(*flags);
    return kDone;
  }};
}

Action add_decode(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<TokenizerTextFlags>();
  add_from(verb, flags->from);
  verb.add_option("tokens", flags->files,
                  "Numbers with spaces or line ends between them; - and\n"
                  "none are the standard input")
      ->type_name("FILE");
  verb.add_flag("--json", flags->json, "A list of lists to a list of strings");
  verb.footer(
      concat("The text is written byte for byte; JSON has U+FFFD for bytes that are no UTF-8.\n\nExamples:\n"
             "  echo 15496 11 314 716 | ",
             program, " tokenizer decode gpt2\n  ", program, " tokenizer encode out/my my.txt | ", program,
             " tokenizer decode out/my | cmp - my.txt"));
  return {[flags] {
    decode_tokens(*flags);
    return kDone;
  }};
}

Action add_describe(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<TokenizerInfoFlags>();
  add_from(verb, flags->from);
  verb.add_option("--text", flags->text, "Also how many bytes of these files a token has")->type_name("FILE");
  verb.add_flag("--json", flags->json, "One JSON object on the standard output");
  verb.footer(concat("Examples:\n  ", program, " tokenizer info out/my\n  ", program,
                     " tokenizer info gpt2 --text my.txt --json"));
  return {[flags] {
    describe_tokenizer(*flags);
    return kDone;
  }};
}

constexpr Verb kTokenizerVerbs[] = {{"train", "Learn byte pairs from texts", add_learn},
                                    {"encode", "Texts to token numbers, a line a file", add_encode},
                                    {"decode", "Token numbers to their text", add_decode},
                                    {"info", "Kind, size, special and longest tokens", add_describe}};

}  // namespace

Action add_tokenizer(CLI::App& verb, const std::string& program) {
  const std::vector<AddedVerb> added = add_verbs(verb, kTokenizerVerbs, program);
  verb.footer(
      concat("FROM is a run folder, a folder with vocab.json and merges.txt as GPT-2 has them, or a\n"
             "tokenizer.json of Hugging Face.\n\nExamples:\n  ",
             program, " tokenizer info out/my\n  ", program, " tokenizer encode --help"));
  return {[added] {
    if (const AddedVerb* parsed = parsed_verb(added)) return parsed->action.run();
    fail("tokenizer", "there must be train, encode, decode or info, got none.");
  }};
}

}  // namespace gradus::cli
