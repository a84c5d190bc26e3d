#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/train/train_config.hpp"
#include "gradus/train/train_json.hpp"

namespace gradus::train::test_train_config {

TEST_CASE("every preset is a run that makes sense") {
  for (const std::string& name : models::preset_names()) {
    const TrainConfig config = preset(name);
    CHECK(config.preset == name);
    CHECK(config.model == models::preset(name));
    CHECK_NOTHROW(config.validate());
    CHECK(config.warmup < config.steps);
  }
  CHECK_THROWS_AS(preset("huge"), Error);
  CHECK(to_json(TrainConfig{}) == to_json(preset("nano")));
}

TEST_CASE("a preset has its steps and batches, and llamas the recipe that was found for them") {
  const auto check = [](const char* name, int64_t steps, int64_t batch) {
    INFO(name);
    const TrainConfig config = preset(name);
    CHECK(config.steps == steps);
    CHECK(config.batch == batch);
    CHECK(config.windows == (config.model.arch == "gpt2" ? Windows::random : Windows::shuffled));
    if (config.model.arch == "gpt2") return;
    CHECK(config.optimizer == "muon");
    CHECK(config.lr == 5e-3);
    CHECK(config.min_lr == 0);
    CHECK(config.decay == "wsd");
    CHECK(config.warmup == 20);
  };
  check("tiny", 300, 16);
  check("nano", 2000, 12);
  check("mini", 600, 12);
  check("midi", 1500, 8);
  check("maxi", 3000, 16);
}

TEST_CASE("a config comes back from JSON as it was") {
  TrainConfig config = preset("small");
  config.text = {"a.txt", "b \"c\".txt"};
  config.lr = 0.1 + 0.2;
  config.min_lr = 1e-17;
  config.model.bias = false;
  config.decay = "linear";
  const TrainConfig back = train_config_from_json(to_json(config));
  for (const Setting& row : settings()) {
    INFO(row.key);
    CHECK(row.is_equal(back, config));
  }
}

TEST_CASE("settings of gradus 0.1 are refused with the version that reads them") {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(to_json(TrainConfig{}));
  REQUIRE(json.erase("keep") == 1);
  CHECK_ERROR(train_config_from_json(json.dump(), "f.json"),
              "must be of gradus 0.2 or later, got settings of gradus 0.1. Hint: gradus 0.3 can read them.");
}

TEST_CASE("a precision is float32 or bf16") {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(to_json(TrainConfig{}));
  json["precision"] = "float16";
  CHECK_THROWS_WITH(train_config_from_json(json.dump()),
                    "[train] `precision` must be float32 or bf16, got 'float16'.");
}

TEST_CASE("a config of llama comes back, and one of gpt2 has the keys that it always had") {
  TrainConfig config = preset("tiny");
  const std::string gpt2 = to_json(config);
  for (const char* key : {"arch", "kv-heads", "hidden", "rope-theta", "qk-norm", "tied"})
    CHECK(gpt2.find(concat("\"", key, "\"")) == std::string::npos);
  config.model.arch = "llama";
  config.model.bias = false;
  config.model.n_kv_head = 1;
  config.model.n_inner = 40;
  config.model.rope_theta = 500;
  config.model.qk_norm = true;
  config.model.tie_word_embeddings = false;
  CHECK(train_config_from_json(to_json(config)).model == config.model);
  CHECK_NOTHROW(config.validate());
  config.model.n_kv_head = 3;
  CHECK_THROWS_WITH(config.validate(), "[decoder] `n_kv_head` must divide `n_head`, got 3 and 2.");
  std::string other = to_json(config);
  other.replace(other.find("llama"), 5, "lama!");
  CHECK_THROWS_WITH(train_config_from_json(other, "f.json"),
                    "[train] f.json: `arch` must be gpt2, llama, gemma or mingru, got 'lama!'.");
}

TEST_CASE("a train.json from before there were shuffled windows draws them at random, as it did") {
  CHECK(to_json(preset("nano")).find("windows") == std::string::npos);
  std::string mini = to_json(preset("mini"));
  CHECK(train_config_from_json(mini).windows == Windows::shuffled);
  const std::string line = "  \"windows\": \"shuffled\",\n";
  REQUIRE(mini.find(line) != std::string::npos);
  mini.erase(mini.find(line), line.size());
  CHECK(train_config_from_json(mini).windows == Windows::random);
  mini.insert(1, "\"windows\": \"sorted\",");
  CHECK_ERROR(train_config_from_json(mini), "must be shuffled or random, got 'sorted'.");
}

TEST_CASE("JSON that is no config is refused") {
  using Catch::Matchers::Equals;
  const std::string json = to_json(TrainConfig{});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = json;
    REQUIRE(changed.find(from) != std::string::npos);
    return changed.replace(changed.find(from), from.size(), to);
  };
  const auto refused = [](const std::string& text, const std::string& error) {
    CHECK_THROWS_WITH(train_config_from_json(text, "f.json"), Equals("[train] f.json" + error));
  };
  refused(
      "{",
      " must be JSON, got the end at line 1, column 2: unexpected end of input; expected string literal.");
  refused(with("\"steps\"", "\"stepz\""), " must have a field 'steps'.");
  refused(with("2000", "\"2000\""), ": steps must be a whole number of 64 bits, got '2000'.");
  refused(with("\"text\": []", "\"text\": [\"a\", 1]"), ": text[1] must be a string, got 1.");
  CHECK_THROWS_WITH(train_config_from_json(with("{", "{\"zeal\": 1,"), "f.json"),
                    Catch::Matchers::StartsWith("[train] f.json must have no field 'zeal'."));
}

TEST_CASE("steps that changed are kept, and written only then") {
  TrainConfig config = preset("tiny");
  CHECK(to_json(config).find("earlier-steps") == std::string::npos);
  config.change_steps(0, 400);  // before the first step there is nothing to keep
  config.change_steps(100, 400);
  CHECK(config.earlier_steps.empty());
  config.change_steps(100, 350);
  config.change_steps(100, 360);  // from there on no step was made with 350
  config.change_steps(200, 250);
  CHECK(config.steps == 250);
  CHECK(config.earlier_steps == std::vector<int64_t>{100, 400, 200, 360});
  config.model.vocab_size = 65;
  CHECK_NOTHROW(config.validate());
  const TrainConfig back = train_config_from_json(to_json(config));
  CHECK(back.earlier_steps == config.earlier_steps);
  for (int64_t step = 0; step < 250; ++step) CHECK(back.schedule()(step) == config.schedule()(step));

  for (const std::vector<int64_t>& wrong :
       std::vector<std::vector<int64_t>>{{100}, {0, 10}, {100, 99}, {100, 400, 100, 400}, {5, 9, 4, 9}}) {
    config.earlier_steps = wrong;
    CHECK_THROWS_WITH(config.validate(),
                      Catch::Matchers::StartsWith("[train] `earlier_steps` must be pairs"));
  }
}

TEST_CASE("each setting has a key, a field and a place that no other has") {
  std::set<std::string> keys, fields;
  std::set<const void*> places;
  TrainConfig config;
  for (const Setting& row : settings()) {
    INFO(row.key);
    CHECK(keys.insert(std::string(row.key)).second);
    CHECK(fields.insert(row.field()).second);
    CHECK(places.insert(row.visit(config, [](auto& value) -> const void* { return &value; })).second);
    CHECK_FALSE(row.help.empty());
  }
}

TEST_CASE("a setting is copied, compared and printed by its row") {
  TrainConfig a, b;
  b.model.n_layer = 7;
  b.text = {"a.txt", "b.txt"};
  b.precision = DType::bfloat16;
  const auto row_of = [](std::string_view key) {
    const std::vector<Setting>& rows = settings();
    return *std::find_if(rows.begin(), rows.end(), [&](const Setting& row) { return row.key == key; });
  };
  for (const char* key : {"layers", "text", "precision"}) {
    const Setting row = row_of(key);
    CHECK_FALSE(row.is_equal(a, b));
    row.copy(b, a);
    CHECK(row.is_equal(a, b));
  }
  CHECK(a.model.n_layer == 7);
  CHECK(row_of("text").text(a) == "a.txt b.txt");
  CHECK(row_of("text-weights").text(a) == "empty");
  CHECK(row_of("precision").text(a) == "bf16");
  CHECK(row_of("bias").text(a) == "true");
  CHECK(row_of("text").is_list());
  CHECK_FALSE(row_of("tokenizer").is_list());
}

TEST_CASE(
    "what a run cannot have is refused by its field, and the ends of a range that belong to it are not") {
  using Change = void (*)(TrainConfig&);
  const auto refusal = [](Change change) {
    TrainConfig config;
    config.model.vocab_size = 65;
    change(config);
    return testing::error_of([&] { config.validate(); });
  };
  const std::pair<Change, const char*> refused[] = {
      // tests/cli/test_bad_input.cpp has the ranges of flags
      {[](TrainConfig& c) { c.lr = NAN; }, "`lr` must be a finite number above 0, got nan."},
      {[](TrainConfig& c) { c.beta1 = 1; }, "`beta1` must be in [0, 1), got 1."},
      {[](TrainConfig& c) { c.min_lr = 2 * c.lr; }, "`min_lr` must be from 0 to `lr` (0.001), got 0.002."},
      {[](TrainConfig& c) { c.warmup = 1'000'000'000'000'001; },
       "`warmup` must be a whole number of at most 1000000000000000, got 1000000000000001."},
      {[](TrainConfig& c) { c.micro = 7; }, "`micro` must divide the 12 examples of a step, got 7."},
      {[](TrainConfig& c) { c.precision = DType::float64; },
       "`precision` must be float32 or bfloat16, got float64."},
      {[](TrainConfig& c) { c.wire = DType::float64; },
       "`precision` must be float32 or bfloat16, got float64."},
      {[](TrainConfig& c) { c.tokenizer = "word"; },
       "`tokenizer` must be char, byte, bpe or an absolute path in UTF-8, got 'word'."},
  };
  for (const auto& [change, message] : refused) CHECK(refusal(change) == concat("[train] ", message));
  for (const Change change : std::initializer_list<Change>{
           [](TrainConfig& c) { c.min_lr = 0; }, [](TrainConfig& c) { c.min_lr = c.lr; },
           [](TrainConfig& c) { c.beta1 = 0; }, [](TrainConfig& c) { c.cooldown = 1; },
           [](TrainConfig& c) { c.corpus = "kjv"; },
           [](TrainConfig& c) { c.tokenizer = "/a/tokenizer.json"; },
           [](TrainConfig& c) {
             c.model.n_embd = c.model.n_head = c.model.n_layer = c.model.block_size = 1;
           }})
    CHECK(refusal(change).empty());
}

TEST_CASE("lr_of and freeze are groups of parameters") {
  TrainConfig config;
  config.lr_of = {"h.0.*=0.5", "a=b=2e-1"};
  config.freeze = {"wte"};
  CHECK_NOTHROW(config.validate());
  const ParameterGroups groups = config.parameter_groups();
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].pattern == "h.0.*");
  CHECK(groups[0].lr_factor == 0.5);
  CHECK(groups[1].pattern == "a=b");
  CHECK(groups[1].lr_factor == 0.2);
  CHECK(groups[2].pattern == "wte");
  CHECK(groups[2].frozen);
  const TrainConfig back = train_config_from_json(to_json(config));
  CHECK(back.lr_of == config.lr_of);
  CHECK(back.freeze == config.freeze);
  for (const char* wrong : {"h.0.*", "h=", "h=x", "h=-1", "h=inf", "h=1x", ""}) {
    config.lr_of = {wrong};
    CHECK_THROWS_WITH(
        config.validate(),
        Catch::Matchers::StartsWith("[train] `lr_of` must be PATTERN=F with a finite F of at least 0, got"));
  }
}

}  // namespace gradus::train::test_train_config
