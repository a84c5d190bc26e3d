// The configs beside a tokenizer: tokenizer_config.json, special_tokens_map.json, added_tokens.json,
// generation_config.json, and the tokens that config.json names. They are read as transformers reads them.
#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "gradus/data/kept_files.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

constexpr size_t kMostEnds = 64;  // tokens or strings that end a text, for each of which a text is searched

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

/// Reads what the configs say of the tokens that begin and end a text.
class ConfigReader {
 public:
  /// Borrows both. The tokenizer has the added tokens already.
  ConfigReader(const Tokenizer& tokenizer, KeptFiles& files) : tokenizer_(tokenizer), files_(files) {}

  void read_tokenizer_config(const files::Field& config);
  void read_names(
      const files::Field& config);  ///< special_tokens_map.json, or those of tokenizer_config.json
  void read_flags(const files::Field& config);  ///< add_bos_token and add_eos_token of tokenizer_config.json
  void read_generation_config(const files::Field& config);
  /// eos_token_id and bos_token_id. Returns whether there is one that counts.
  bool read_numbers(const files::Field& config);

 private:
  int32_t known_token(const files::Field& name);
  void end_with(int32_t token, const files::Field& place);
  /// Begins or ends a text with a token, or with none, as the flag `key` says.
  void settle(const files::Field& config, const char* key, bool usual, std::optional<int32_t> token,
              std::vector<int32_t>& tokens) const;

  const Tokenizer& tokenizer_;
  KeptFiles& files_;
  std::unordered_map<std::string, int32_t> numbers_;  // by texts; empty until one is needed
  bool has_no_bos_ = false;                           // as tokenizer_config.json says
};

int32_t ConfigReader::known_token(const files::Field& name) {
  if (numbers_.empty()) {
    const auto add = [&](int32_t token) { numbers_.emplace(tokenizer_.decode({&token, 1}), token); };
    for (const int32_t token : tokenizer_.special_tokens()) add(token);
    for (int32_t token = 0; token < tokenizer_.vocab_size(); ++token) add(token);
  }
  const auto number = numbers_.find(std::string(token_text(name)));
  if (number == numbers_.end())
    name.refuse("must be a token of the vocabulary, got ", files::in_quotes(token_text(name)), ".");
  return number->second;
}

void ConfigReader::end_with(int32_t token, const files::Field& place) {
  if (std::ranges::find(files_.eos, token) == files_.eos.end()) files_.eos.push_back(token);
  if (files_.eos.size() > kMostEnds) place.refuse("must be one of at most ", kMostEnds, ".");
}

void ConfigReader::read_names(const files::Field& config) {
  // Members whose names end so name tokens, alone, in a list or in an object. Texts are not padded.
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
    if (begins ? files_.bos.value_or(token) != token : !files_.eos.empty() && files_.eos[0] != token)
      value->refuse("must be that of ", kTokenizerConfig, ", got ", files::in_quotes(token_text(*value)),
                    ".");
    if (begins)
      files_.bos = token;
    else
      end_with(token, *value);
  }
}

void ConfigReader::read_tokenizer_config(const files::Field& config) {
  for (const char* key : {"split_special_tokens", "do_lower_case"}) must_be_off(config, key);
  const bool is_of_characters = tokenizer_.kind() == "bpe" && tokenizer_.pairs().model().rules.of_characters;
  if (!is_of_characters) must_be_off(config, "add_prefix_space");  // else the normalizer says it
  // Without tokenizer.json, the class says how texts are cut; several have vocab.json and merges.txt.
  constexpr std::string_view kClasses[] = {"GPT2Tokenizer", "GPT2TokenizerFast", "PreTrainedTokenizerFast"};
  const auto name = config.given("tokenizer_class");
  if (name && !files_.texts.contains(kTokenizerJson) &&
      std::ranges::find(kClasses, name->text()) == std::end(kClasses))
    name->refuse("must be GPT2Tokenizer if there is no ", kTokenizerJson, ", got ", name->shown(), ".");
  read_names(config);
  has_no_bos_ = config.has("bos_token") && !files_.bos;
  files_.chat_template = template_of(config);
}

void ConfigReader::read_flags(const files::Field& config) {
  settle(config, "add_bos_token", /*usual=*/true, files_.bos, files_.prefix);
  settle(config, "add_eos_token", /*usual=*/false,
         files_.eos.empty() ? std::nullopt : std::optional(files_.eos[0]), files_.suffix);
}

void ConfigReader::settle(const files::Field& config, const char* key, bool usual,
                          std::optional<int32_t> token, std::vector<int32_t>& tokens) const {
  // In transformers, these classes add what the flags say; with the others the post_processor decides.
  constexpr std::string_view kObeying[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"};
  const auto name = config.given("tokenizer_class");
  const bool obeys = name && std::ranges::any_of(kObeying, [&](std::string_view one) {
                       return name->text() == one || name->text() == concat(one, "Fast");
                     });
  const auto adds = config.given(key);
  const bool is_wanted = adds ? adds->flag() : obeys ? usual && !config.has(key) : !tokens.empty();
  if (is_wanted != tokens.empty()) return;
  if (adds && (!obeys || (is_wanted && !token)))
    adds->refuse("must be what the post_processor of ", kTokenizerJson, " does, which adds ",
                 tokens.empty() ? "none" : "a token", ", got ", adds->shown(), ".");
  tokens.clear();
  if (is_wanted && token) tokens.push_back(*token);
}

void ConfigReader::read_generation_config(const files::Field& config) {
  constexpr std::string_view kKnown[] = {"eos_token_id", "bos_token_id", "stop_strings"};
  files::check_members(config, kKnown, kOfGeneration, /*is_false_usual=*/true);
  for (const files::Field& one : values_of(config.given("stop_strings"))) {
    if (one.text().empty() || files_.stop_strings.size() == kMostEnds)
      one.refuse("must not be empty, nor one of more than ", kMostEnds, ".");
    files_.stop_strings.emplace_back(one.text());
  }
}

bool ConfigReader::read_numbers(const files::Field& config) {
  bool has_one = false;
  // GPT2Config has this default, whatever the vocabulary: a token that is never drawn.
  const auto is_default = [&](const files::Field& id) {
    return id.integer() == 50256 && tokenizer_.vocab_size() <= 50256;
  };
  for (const files::Field& id : values_of(config.given("eos_token_id"))) {
    if (is_default(id)) continue;
    end_with(static_cast<int32_t>(id.integer(0, tokenizer_.vocab_size() - 1)), id);
    has_one = true;
  }
  const auto id = config.given("bos_token_id");
  if (!id || has_no_bos_ || is_default(*id)) return has_one;
  if (files_.bos.value_or(id->integer()) != id->integer())
    id->refuse("must be that of bos_token, ", *files_.bos, ", got ", id->shown(), ".");
  files_.bos = static_cast<int32_t>(id->integer(0, tokenizer_.vocab_size() - 1));
  return true;
}

/// The tokens of added_tokens_decoder, by their numbers.
void read_added_tokens(const files::Field& config, const Tokenizer& tokenizer,
                       std::map<int32_t, std::string>& added) {
  const auto tokens = config.given("added_tokens_decoder");
  if (!tokens) return;
  const std::vector<int32_t> specials = tokenizer.special_tokens();
  for (const auto& [id, token] : tokens->members()) {
    int32_t number = -1;
    const auto end = std::from_chars(id.data(), id.data() + id.size(), number).ptr;
    if (number < 0 || end != id.data() + id.size()) token.refuse("must have a number as its key.");
    added[number] = token_text(token);
    const auto special = token.given("special");
    if (special && !special->flag() &&
        (number >= tokenizer.vocab_size() || std::ranges::binary_search(specials, number)))
      special->refuse("must be true, unless tokenizer.json has it as false.");
  }
}

}  // namespace

std::map<std::string, std::string> config_files(const Tokenizer& tokenizer, const KeptFiles& files) {
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
                                const std::filesystem::path& folder) const {
  const auto read = [&](const char* name, const auto& use) {
    if (const auto text = texts.find(name); text != texts.end()) {
      const files::Json json(text->second, "tokenizer", (folder / name).string());
      use(json.root());
    }
  };
  std::map<int32_t, std::string> added;
  read(kAddedTokens, [&](const files::Field& config) {
    for (const auto& [content, id] : config.members())
      added[static_cast<int32_t>(id.integer(0, kMostPairs))] = content;
  });
  read(kTokenizerConfig, [&](const files::Field& config) { read_added_tokens(config, *this, added); });
  Tokenizer result = with_added(added, folder);
  auto files = std::make_shared<Files>(*files_);
  ConfigReader reader(result, *files);
  read(kTokenizerConfig, [&](const files::Field& config) { reader.read_tokenizer_config(config); });
  read(kSpecialTokens, [&](const files::Field& config) { reader.read_names(config); });
  read(kTokenizerConfig, [&](const files::Field& config) { reader.read_flags(config); });
  read(kGenerationConfig, [&](const files::Field& config) { reader.read_generation_config(config); });
  const bool is_of_model = !texts.contains(kGenerationConfig);
  bool has_numbers = false;
  read(is_of_model ? kModelConfig : kGenerationConfig,
       [&](const files::Field& config) { has_numbers = reader.read_numbers(config); });
  if (const auto chat = texts.find(kChatTemplate); chat != texts.end()) files->chat_template = chat->second;
  if (files->texts.contains(kTokenizerJson)) {
    files->texts.insert(texts.begin(), texts.end());
    files->texts.erase(kModelConfig);  // each model has its own
    if (is_of_model && has_numbers) files->texts[kGenerationConfig] = generation_text(files->bos, *files);
  }
  result.files_ = std::move(files);
  return result;
}

Tokenizer Tokenizer::with_added(const std::map<int32_t, std::string>& added,
                                const std::filesystem::path& folder) const {
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

}  // namespace gradus::data
