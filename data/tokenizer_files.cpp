// The files of tokenizers: vocab.json and merges.txt, of GPT-2 or gradus, and whole folders.
// tokenizer_json.cpp has tokenizer.json.
#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "gradus/data/kept_files.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/vocabulary.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMeta = "meta.pkl";
constexpr size_t kMostEnds = 64;  // tokens or strings that end a text, for each of which a text is searched

/// Reads the merges of a merges.txt: one per line, which ends in LF or CR LF, two tokens with a space between
/// them. GPT-2's letters have no CR.
void read_merges(std::string_view text, const std::string& file, pairs::Vocabulary& vocabulary) {
  for (int64_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + (text.substr(end).starts_with("\r\n") ? 2 : 1), text.size()));
    // Elsewhere lines like "# #" are merges.
    if (line_number == 1 && line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    const bool is_pair = space != line.npos && line.find(' ', space + 1) == line.npos;
    const std::string wrong =
        is_pair ? vocabulary.add_merge(line.substr(0, space), line.substr(space + 1))
                : concat("must be two tokens with a space between them, got ", files::in_quotes(line), ".");
    if (!wrong.empty()) fail("merges", files::plain(file), ": line ", line_number, " ", wrong);
  }
}

std::string path_of(const files::FolderSnapshot& folder, const std::string& name) {
  return (folder.folder() / name).string();
}

/// Our vocab.json has the kind as "tokenizer"; GPT-2's has numbers of tokens, even of a token "tokenizer".
bool is_ours(const std::string& vocab, const std::string& file) {
  const files::Json json(vocab, "vocabulary", file);
  const auto kind = json.root().find("tokenizer");
  return kind && !kind->is_integer();
}

/// Whether a tokenizer.json may be what gradus writes beside vocab.json and merges.txt: its lines end
/// elsewhere than in other programs' files.
bool may_be_ours(std::string_view tokenizer_json) {
  return tokenizer_json.starts_with("{\n  \"version\"") &&
         tokenizer_json.find("\"pre_tokenizer\": {\"type\"") != tokenizer_json.npos;
}

// Members of generation_config.json that leave the same texts possible; others forbid or force tokens.
constexpr files::Harmless kOfGeneration[] = {
    {"do_sample temperature top_k top_p min_p top_h typical_p epsilon_cutoff eta_cutoff num_beams max_length "
     "num_beam_groups early_stopping penalty_alpha diversity_penalty repetition_penalty length_penalty "
     "encoder_repetition_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size num_return_sequences "
     "max_new_tokens min_length min_new_tokens max_time renormalize_logits ",
     "options of sampling, which have flags"},
    {"pad_token_id decoder_start_token_id ", "such tokens are not used"},
    {"transformers_version _from_model_config ", "they say where the file is from"},
    {"use_cache cache_implementation cache_config compile_config num_assistant_tokens trust_remote_code "
     "num_assistant_tokens_schedule assistant_confidence_threshold prefill_chunk_size disable_compile ",
     "they say how the same is computed"},
    {"output_attentions output_hidden_states output_logits output_scores return_dict_in_generate ",
     "they say what else is returned"},
};

/// The text of a token, which an object has as "content".
std::string_view token_text(const files::Field& token) {
  if (!token.is_object()) return token.text();
  for (const char* key : {"single_word", "lstrip", "rstrip"}) must_be_off(token, key);
  return token.at("content").text();
}

/// The template of a config, or that with the name default of a list.
std::string template_of(const files::Field& config) {
  const auto chat = config.given("chat_template");
  if (!chat || chat->is_text()) return std::string(chat ? chat->text() : "");
  for (const files::Field& one : chat->items())
    if (one.at("name").text() == "default") return std::string(one.at("template").text());
  chat->refuse("must be a template or have one with the name default, got ", chat->shown(), ".");
}

/// One or several values.
std::vector<files::Field> values_of(const std::optional<files::Field>& values) {
  if (!values) return {};
  return values->is_list() ? values->items() : std::vector<files::Field>{*values};
}

std::string generation_text(std::optional<int32_t> bos, const KeptFiles& files) {
  return concat("{", bos ? concat("\"bos_token_id\": ", *bos, ", ") : "", "\"eos_token_id\": [",
                joined(files.eos), "]",
                files.stop_strings.empty()
                    ? ""
                    : ", \"stop_strings\": [" + joined(files.stop_strings, ", ", files::json_text) + "]",
                "}\n");
}

/// tokenizer_config.json, and generation_config.json if the former cannot say all that ends a text.
std::map<std::string, std::string> configs_of(const Tokenizer& tokenizer, const KeptFiles& files) {
  std::string more;
  const auto add = [&](std::string_view key, const std::string& text) {
    more += concat(",\n  ", files::json_text(key), ": ", files::json_text(text));
  };
  const auto add_token = [&](std::string_view key, int32_t token) {
    const std::string text = tokenizer.decode({&token, 1});
    const bool is_named = files::is_utf8(text) && tokenizer.token_of(text) == token;
    if (is_named) add(key, text);
    return is_named;
  };
  if (files.bos) add_token("bos_token", *files.bos);
  const bool has_all = files.eos.empty() || (add_token("eos_token", files.eos[0]) && files.eos.size() == 1);
  if (!files.chat_template.empty()) add("chat_template", files.chat_template);
  std::map<std::string, std::string> configs{
      {kTokenizerConfig, concat("{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n  ",
                                "\"clean_up_tokenization_spaces\": false", more, "\n}\n")}};
  if (!has_all || !files.stop_strings.empty()) configs[kGenerationConfig] = generation_text({}, files);
  return configs;
}

Tokenizer read_gpt2(const files::FolderSnapshot& folder, const std::string& name, const std::string& vocab) {
  const char* merges = folder.has("merges.txt") ? "merges.txt" : "vocab.bpe";
  if (!folder.has(merges))
    fail("tokenizer", folder.folder(), " must have merges.txt (or vocab.bpe) next to ", name,
         ", whose tokens are byte pairs, got neither.");
  return Tokenizer::from_gpt2(vocab, folder.text(merges), path_of(folder, name), path_of(folder, merges));
}

Tokenizer read_meta(const std::string& bytes, const std::string& file) {
  return files::needed(files::foreign_tokenizers().tokenizer_pickle, "tokenizer",
                       concat(file, ", a pickle of nanoGPT,"))(bytes, file);
}

}  // namespace

std::string Tokenizer::to_json() const {
  if (!pairs_) {
    std::string text, specials;
    for (const char32_t c : characters_) text += files::to_utf8(c);
    for (const std::string& special : specials_)
      specials += concat(specials.empty() ? ",\n  \"special\": [" : ", ", files::json_text(special));
    return concat("{\n  \"tokenizer\": \"", kind(), "\"",
                  text.empty() ? "" : concat(",\n  \"characters\": ", files::json_text(text)), specials,
                  specials.empty() ? "" : "]", "\n}\n");
  }
  return pairs::numbered(vocabulary(), "") + "\n";
}

std::string Tokenizer::to_merges() const {
  if (!pairs_) return "";
  std::string text = "#version: 0.2\n";
  for (const pairs::Merge& merge : pairs_->model().merges)
    text += concat(pairs_->letters(merge.left), " ", pairs_->letters(merge.right), "\n");
  return text;
}

std::vector<std::string> Tokenizer::vocabulary() const {
  std::vector<std::string> texts;
  for (int32_t token = 0; token < vocab_size(); ++token)
    texts.push_back(pairs_ ? pairs_->letters(token) : text_of(token));
  return texts;
}

// -- tokenizer_config.json and generation_config.json

std::shared_ptr<const Tokenizer::Files> Tokenizer::no_files() {
  static const auto none = std::make_shared<const Files>();
  return none;
}

std::vector<int32_t> Tokenizer::prefix() const { return files_->prefix; }
std::vector<int32_t> Tokenizer::suffix() const { return files_->suffix; }
std::vector<std::string> Tokenizer::stop_strings() const { return files_->stop_strings; }
std::string Tokenizer::chat_template() const { return files_->chat_template; }

std::optional<int32_t> Tokenizer::bos() const {
  return files_->bos || prefix().empty() ? files_->bos : prefix().front();
}

std::vector<int32_t> Tokenizer::eos() const {
  if (!files_->eos.empty()) return files_->eos;
  for (const int32_t token : special_tokens())
    if (text_of(token) == kEndOfText) return {token};
  return {};
}

Tokenizer Tokenizer::with_chat_template(const std::string& text, int32_t end) const {
  check_tokens({&end, 1});
  if (files_->texts.contains(kTokenizerJson))
    fail("tokenizer", "a tokenizer.json of another program must have its own chat_template, got none.");
  auto files = std::make_shared<Files>(*files_);
  files->chat_template = text;
  files->eos = {end};
  Tokenizer result = *this;
  result.files_ = std::move(files);
  return result;
}

Tokenizer Tokenizer::with_files(const std::map<std::string, std::string>& texts,
                                const fs::path& folder) const {
  auto files = std::make_shared<Files>(*files_);
  const auto read = [&](const char* name, const auto& use) {
    if (const auto text = texts.find(name); text != texts.end()) {
      const files::Json json(text->second, "tokenizer", (folder / name).string());
      use(json.root());
    }
  };
  std::map<int32_t, std::string> added;
  const std::vector<int32_t> specials = special_tokens();
  read(kAddedTokens, [&](const files::Field& config) {
    for (const auto& [content, id] : config.members())
      added[static_cast<int32_t>(id.integer(0, kMostPairs))] = content;
  });
  read(kTokenizerConfig, [&](const files::Field& config) {
    if (const auto tokens = config.given("added_tokens_decoder"))
      for (const auto& [id, token] : tokens->members()) {
        int32_t number = -1;
        const auto end = std::from_chars(id.data(), id.data() + id.size(), number).ptr;
        if (number < 0 || end != id.data() + id.size()) token.refuse("must have a number as its key.");
        added[number] = token_text(token);
        const auto special = token.given("special");
        if (special && !special->flag() &&
            (number >= vocab_size() || std::ranges::binary_search(specials, number)))
          special->refuse("must be true, unless tokenizer.json has it as false.");
      }
  });
  Tokenizer result = with_added(added, folder);
  std::unordered_map<std::string, int32_t> numbers;  // by texts
  const auto known_token = [&](const files::Field& name) {
    if (numbers.empty()) {
      for (const int32_t token : result.special_tokens()) numbers.emplace(result.text_of(token), token);
      for (int32_t token = 0; token < result.vocab_size(); ++token)
        numbers.emplace(result.text_of(token), token);
    }
    const auto number = numbers.find(std::string(token_text(name)));
    if (number == numbers.end())
      name.refuse("must be a token of the vocabulary, got ", files::in_quotes(token_text(name)), ".");
    return number->second;
  };
  const auto end_with = [&](int32_t token, const files::Field& place) {
    if (std::ranges::find(files->eos, token) == files->eos.end()) files->eos.push_back(token);
    if (files->eos.size() > kMostEnds) place.refuse("must be one of at most ", kMostEnds, ".");
  };
  // Members whose names end so name tokens, alone, in a list or in an object. Texts are not padded.
  const auto take_names = [&](const files::Field& config) {
    for (const auto& [key, value] : config.members()) {
      if (!(key.ends_with("_token") && key != "pad_token") && !key.ends_with("special_tokens")) continue;
      if (value.is_object() && !value.has("content"))
        for (const auto& [name, one] : value.members()) (void)known_token(one);
      else if (!value.is_null() && !value.is_flag())
        for (const files::Field& one : values_of(value)) (void)known_token(one);
    }
    for (const bool begins : {true, false}) {
      const auto value = config.given(begins ? "bos_token" : "eos_token");
      if (!value) continue;
      const int32_t token = known_token(*value);
      if (begins ? files->bos.value_or(token) != token : !files->eos.empty() && files->eos[0] != token)
        value->refuse("must be that of ", kTokenizerConfig, ", got ", files::in_quotes(token_text(*value)),
                      ".");
      if (begins)
        files->bos = token;
      else
        end_with(token, *value);
    }
  };
  bool has_no_bos = false;  // which its own file says
  read(kTokenizerConfig, [&](const files::Field& config) {
    for (const char* key : {"split_special_tokens", "do_lower_case"}) must_be_off(config, key);
    if (!pairs_ || !pairs_->model().rules.of_characters)  // whose normalizer says it
      must_be_off(config, "add_prefix_space");
    // Without tokenizer.json, the class says how texts are cut; several have vocab.json and merges.txt.
    constexpr std::string_view kClasses[] = {"GPT2Tokenizer", "GPT2TokenizerFast", "PreTrainedTokenizerFast"};
    const auto name = config.given("tokenizer_class");
    if (name && !files->texts.contains(kTokenizerJson) &&
        std::ranges::find(kClasses, name->text()) == std::end(kClasses))
      name->refuse("must be GPT2Tokenizer if there is no ", kTokenizerJson, ", got ", name->shown(), ".");
    take_names(config);
    has_no_bos = config.has("bos_token") && !files->bos;
    files->chat_template = template_of(config);
  });
  read(kSpecialTokens, take_names);
  read(kTokenizerConfig, [&](const files::Field& config) {
    // In transformers, these classes add what the flags say; with the others the post_processor decides.
    constexpr std::string_view kObeying[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"};
    const auto name = config.given("tokenizer_class");
    const bool obeys = name && std::ranges::any_of(kObeying, [&](std::string_view one) {
                         return name->text() == one || name->text() == concat(one, "Fast");
                       });
    const auto settle = [&](const char* key, bool usual, const auto& token, std::vector<int32_t>& tokens) {
      const auto adds = config.given(key);
      const bool is_wanted = adds ? adds->flag() : obeys ? usual && !config.has(key) : !tokens.empty();
      if (is_wanted != tokens.empty()) return;
      if (adds && (!obeys || (is_wanted && !token)))
        adds->refuse("must be what the post_processor of ", kTokenizerJson, " does, which adds ",
                     tokens.empty() ? "none" : "a token", ", got ", adds->shown(), ".");
      tokens.clear();
      if (is_wanted && token) tokens.push_back(*token);
    };
    settle("add_bos_token", /*usual=*/true, files->bos, files->prefix);
    settle("add_eos_token", /*usual=*/false, files->eos.empty() ? std::nullopt : std::optional(files->eos[0]),
           files->suffix);
  });
  const bool is_of_model = !texts.contains(kGenerationConfig);
  bool has_ids = false;
  read(is_of_model ? kModelConfig : kGenerationConfig, [&](const files::Field& config) {
    if (!is_of_model) {
      constexpr std::string_view kKnown[] = {"eos_token_id", "bos_token_id", "stop_strings"};
      files::check_members(config, kKnown, kOfGeneration, /*is_false_usual=*/true);
      for (const files::Field& one : values_of(config.given("stop_strings"))) {
        if (one.text().empty() || files->stop_strings.size() == kMostEnds)
          one.refuse("must not be empty, nor one of more than ", kMostEnds, ".");
        files->stop_strings.emplace_back(one.text());
      }
    }
    // GPT2Config has this default, whatever the vocabulary: a token that is never drawn.
    const auto is_default = [&](const files::Field& id) {
      return id.integer() == 50256 && result.vocab_size() <= 50256;
    };
    for (const files::Field& id : values_of(config.given("eos_token_id"))) {
      if (is_default(id)) continue;
      end_with(static_cast<int32_t>(id.integer(0, result.vocab_size() - 1)), id);
      has_ids = true;
    }
    const auto id = config.given("bos_token_id");
    if (!id || has_no_bos || is_default(*id)) return;
    if (files->bos.value_or(id->integer()) != id->integer())
      id->refuse("must be that of bos_token, ", *files->bos, ", got ", id->shown(), ".");
    files->bos = static_cast<int32_t>(id->integer(0, result.vocab_size() - 1));
    has_ids = true;
  });
  if (const auto chat = texts.find(kChatTemplate); chat != texts.end()) files->chat_template = chat->second;
  if (files->texts.contains(kTokenizerJson)) {
    files->texts.insert(texts.begin(), texts.end());
    files->texts.erase(kModelConfig);  // each model has its own
    if (is_of_model && has_ids) files->texts[kGenerationConfig] = generation_text(files->bos, *files);
  }
  result.files_ = std::move(files);
  return result;
}

Tokenizer Tokenizer::with_added(const std::map<int32_t, std::string>& added, const fs::path& folder) const {
  std::map<int32_t, std::string_view> known;
  if (pairs_)
    for (const pairs::AddedToken& one : pairs_->model().added) known[one.token] = one.text;
  else
    for (size_t i = 0; i < specials_.size(); ++i)
      known[static_cast<int32_t>(plain_tokens() + static_cast<int64_t>(i))] = specials_[i];
  std::vector<std::string> missing;
  for (const auto& [token, text] : added) {
    if (const auto found = known.find(token); found != known.end() && found->second == text) continue;
    if (files_->texts.contains(kTokenizerJson) || token != vocab_size() + std::ssize(missing))
      fail("tokenizer", folder, ": the added token ", token, ", ", files::in_quotes(text), ", of ",
           kAddedTokens, " or ", kTokenizerConfig, " must be an added token of ",
           files_->texts.contains(kTokenizerJson) ? "tokenizer.json, got none."
                                                  : "the vocabulary or follow its tokens, got neither.");
    missing.push_back(text);
  }
  return with_special(missing);
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "vocabulary", file);
  const files::Field root = json.root(), kind = root.at("tokenizer");
  if (kind.text() != "char" && kind.text() != "byte")
    kind.refuse("must be char or byte, got ", kind.shown(), ".");
  const std::vector<std::string> specials =
      root.has("special") ? root.at("special").texts() : std::vector<std::string>();
  if (kind.text() == "byte") {
    root.must_have_only({"tokenizer", "special"});
    return bytes().with_special(specials);
  }
  root.must_have_only({"tokenizer", "characters", "special"});

  const files::Field field = root.at("characters");
  std::u32string characters;
  std::string_view rest = field.text();
  while (!rest.empty()) {
    const files::CodePoint c = files::first_code_point(rest);  // JSON is UTF-8.
    if (!characters.empty() && c.value <= characters.back())
      field.refuse("must ascend, got ", files::quoted(c.value), " after ", files::quoted(characters.back()),
                   ".");
    characters += c.value;
    rest.remove_prefix(static_cast<size_t>(c.size));
  }
  if (characters.empty()) field.refuse("must not be empty.");
  return Tokenizer(std::move(characters)).with_special(specials);
}

Tokenizer Tokenizer::from_gpt2(std::string_view vocab, std::string_view merges, const std::string& vocab_file,
                               const std::string& merges_file) {
  const files::Json json(vocab, "vocabulary", vocab_file);
  pairs::Vocabulary vocabulary(json.root());
  read_merges(merges, merges_file, vocabulary);
  return Tokenizer(vocabulary.take());
}

std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer) {
  std::map<std::string, std::string> files = tokenizer.files_->texts;
  if (files.contains(kTokenizerJson)) return files;
  files = configs_of(tokenizer, *tokenizer.files_);
  files["vocab.json"] = tokenizer.to_json();
  files[kTokenizerJson] = tokenizer.to_tokenizer_json();
  if (std::string merges = tokenizer.to_merges(); !merges.empty()) files["merges.txt"] = std::move(merges);
  return files;
}

void save_tokenizer(const Tokenizer& tokenizer, const fs::path& folder) {
  files::make_folders(folder);
  files::FolderUpdate update(folder);
  std::map<std::string, std::string> texts = tokenizer_files(tokenizer);
  if (const auto first = texts.extract(kTokenizerConfig)) update.write(first.key(), first.mapped());
  for (const auto& [name, text] : texts) update.write(name, text);  // of which one makes it a tokenizer
  update.commit();
}

bool has_tokenizer(const files::FolderSnapshot& folder) {
  for (const char* name : {"vocab.json", "encoder.json", "tokenizer.json", kMeta})
    if (folder.has(name) || folder.checksum(name)) return true;
  return false;
}

Tokenizer read_tokenizer(const files::FolderSnapshot& folder) {
  std::map<std::string, std::string> more;
  for (const char* name :
       {kTokenizerConfig, kGenerationConfig, kChatTemplate, kSpecialTokens, kAddedTokens, kModelConfig})
    if (folder.has(name)) more[name] = folder.text(name);
  const bool has_json = folder.has(kTokenizerJson) || folder.checksum(kTokenizerJson);
  for (const std::string name : {"vocab.json", "encoder.json"}) {
    if (!folder.has(name) && !folder.checksum(name)) continue;  // A listed file that is missing is an error.
    const std::string text = folder.text(name), path = path_of(folder, name);
    if (is_ours(text, path)) return Tokenizer::from_json(text, path).with_files(more, folder.folder());
    if (!has_json || may_be_ours(folder.text(kTokenizerJson)))
      if (Tokenizer pairs = read_gpt2(folder, name, text);
          !has_json || pairs.to_tokenizer_json() == folder.text(kTokenizerJson))
        return pairs.with_files(more, folder.folder());
  }
  if (has_json)
    return Tokenizer::from_tokenizer_json(folder.text(kTokenizerJson), path_of(folder, kTokenizerJson))
        .with_files(more, folder.folder());
  if (folder.has(kMeta)) return read_meta(folder.text(kMeta), path_of(folder, kMeta));
  fail("tokenizer", folder.folder(), " must have vocab.json or tokenizer.json, got neither.");
}

Tokenizer load_tokenizer(const fs::path& from) {
  std::error_code ignored;
  if (fs::is_directory(from, ignored)) return files::read_folder(from, read_tokenizer);
  try {
    const std::string bytes = files::read_input(from);
    const bool is_pickle =
        bytes.starts_with('\x80') || (from.extension() == ".pkl" && !bytes.starts_with('{'));
    return is_pickle ? read_meta(bytes, from.string()) : Tokenizer::from_tokenizer_json(bytes, from.string());
  } catch (const files::Unreadable& e) {
    fail("tokenizer", from, " must be a folder or a tokenizer.json, got '", e.reason(), "'.");
  }
}

}  // namespace gradus::data
