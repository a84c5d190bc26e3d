#include "gradus/models/stored/config_json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/stored/config_fields.hpp"
#include "gradus/models/stored/stored_form.hpp"

namespace gradus::models {
namespace {

using files::Field;

constexpr files::Harmless kHarmless[] = {
    {"bos_token_id eos_token_id ", "tokenizers read them"},
    {"pad_token_id sep_token_id unk_token_id decoder_start_token_id tokenizer_class ",
     "such tokens are not used"},
    {"architectures auto_map is_llama_config model_type task_specific_params transformers.js_config "
     "_attn_implementation _attn_implementation_autoset attn_implementation torchscript ",
     "they concern the classes of other programs"},
    {"_name_or_path _commit_hash transformers_version gradus_version unsloth_fixed unsloth_version ",
     "they say where the file is from"},
    {"torch_dtype dtype use_bfloat16 gradient_checkpointing pretraining_tp chunk_size_feed_forward use_cache "
     "cache_implementation reorder_and_upcast_attn ",
     "they say how the same is computed"},
    {"output_attentions output_hidden_states output_scores return_dict return_dict_in_generate ",
     "they say what else is returned"},
    {"initializer_range initializer_factor n_special predict_special_tokens ", "of training's first step"},
    {"is_causal=true is_encoder_decoder=false is_decoder=false add_cross_attention=false "
     "tie_encoder_decoder=false attention_bias=false mlp_bias=false rope_interleaved=false use_mrope=false "
     "scale_attn_by_inverse_layer_idx=false use_sliding_window=false use_bidirectional_attention=false "
     "use_qk_norm=false qk_layernorm=false remove_invalid_values=false tf_legacy_loss=false ",
     "what the models here do"},
    {"do_sample early_stopping max_length min_length max_new_tokens num_beams num_beam_groups "
     "max_sequence_length diversity_penalty temperature top_k top_p typical_p repetition_penalty "
     "length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size num_return_sequences ",
     "options of sampling, which have flags"},
    {"summary_type summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout id2label "
     "label2id num_labels _num_labels problem_type finetuning_task classifier_dropout ",
     "of heads that are no language models"},
};

}  // namespace

ConfigFields<DecoderConfig> size_fields(const char* block_size, const char* n_embd, const char* n_layer,
                                        const char* n_head, const ConfigFields<DecoderConfig>& more) {
  ConfigFields<DecoderConfig> fields{{"vocab_size", &DecoderConfig::vocab_size, true},
                                     {block_size, &DecoderConfig::block_size, true},
                                     {n_embd, &DecoderConfig::n_embd, true},
                                     {n_layer, &DecoderConfig::n_layer, true}};
  if (n_head) fields.push_back({n_head, &DecoderConfig::n_head, true});
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

std::optional<Field> ConfigReader::find(std::string_view key) {
  asked_.push_back(key);
  return object_.find(key);
}

std::optional<Field> ConfigReader::given(std::string_view key) {
  const std::optional<Field> field = find(key);
  return field && !field->is_null() ? field : std::nullopt;
}

Field ConfigReader::at(std::string_view key) {
  const std::optional<Field> field = find(key);
  return field ? *field : object_.at(key);
}

void ConfigReader::expect(std::string_view key, std::initializer_list<std::string_view> accepted) {
  const std::optional<Field> field = find(key);
  if (!field || std::find(accepted.begin(), accepted.end(), field->shown()) != accepted.end()) return;
  field->refuse("must be ", joined(accepted, " or "), ", got ", field->shown(), ".");
}

void ConfigReader::set(int64_t& to, const Field& from, int64_t least) {
  to = least == std::numeric_limits<int64_t>::min() ? from.integer() : from.integer(least);
}

std::string to_json(const DecoderConfig& config) {
  DecoderConfig full = config;
  full.n_inner = config.inner();
  full.n_kv_head = config.kv_heads();
  full.attention.head_dim = config.head_size();
  auto fields = nlohmann::ordered_json::parse(stored_form(config.arch).write_config(full));
  // Without these nulls, transformers assumes GPT-2's or Llama's special tokens.
  fields["bos_token_id"] = nullptr;
  fields["eos_token_id"] = nullptr;
  fields["torch_dtype"] = "float32";
  fields["gradus_version"] = GRADUS_VERSION;
  return fields.dump(2) + "\n";
}

DecoderConfig config_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "load_config", file);
  ConfigReader root(json.root());
  const std::optional<Field> type = root.find("model_type"), classes = root.given("architectures");
  const std::string of = classes && !classes->items().empty() ? classes->items()[0].shown() : "'GPT2'";
  const auto has = [&](const char* key) { return json.root().has(key); };
  // The first GPT-2s, nanoGPT and the book have no type.
  const bool is_gpt2 =
      !type && of.starts_with("'GPT2") && (has("n_embd") || has("emb_dim") || has("block_size"));
  const StoredForm* form = is_gpt2 ? stored_forms().front() : nullptr;
  std::vector<std::string> known;
  for (const StoredForm* one : stored_forms())
    for (const std::string_view name : one->model_types) {
      known.push_back(concat("'", name, "'"));
      if (type && type->shown() == known.back()) form = one;
    }
  if (!form && type) type->refuse("must be ", joined(known, " or "), ", got ", type->shown(), ".");
  if (!form)
    json.root().refuse("must have model_type, ", joined(known, " or "), ", got none",
                       classes ? concat(", and architectures ", of, ".") : ".");
  DecoderConfig config = form->read_config(root);
  try {
    config.validate();
  } catch (const Error& e) {
    fail("load_config", file, ": ", files::without_op(e.what()));
  }
  root.finish(kHarmless);
  return config.reduced();
}

}  // namespace gradus::models
