#include "catch.hpp"
#include "gradus/autograd/error.hpp"
#include "gradus/train/train_config.hpp"

using namespace gradus;
using namespace gradus::train;

TEST_CASE("every preset is a run that makes sense") {
  for (const std::string& name : models::preset_names()) {
    const TrainConfig config = preset(name);
    CHECK(config.preset == name);
    CHECK(config.model == models::preset(name));
    CHECK_NOTHROW(config.validate());
    CHECK(config.warmup < config.steps);
  }
  CHECK_THROWS_AS(preset("huge"), Error);
}

TEST_CASE("the defaults are the preset nano") { CHECK(to_json(TrainConfig{}) == to_json(preset("nano"))); }

TEST_CASE("a config comes back from JSON as it was") {
  TrainConfig config = preset("small");
  config.text = {"a.txt", "b \"c\".txt"};
  config.lr = 0.1 + 0.2;
  config.min_lr = 1e-17;
  config.model.bias = false;
  config.decay = "linear";
  const TrainConfig back = train_config_from_json(to_json(config));
  for_each_field([&](const char* flag, auto field) {
    INFO(flag);
    CHECK(field(back) == field(config));
  });
}

TEST_CASE("JSON that is no config is refused") {
  using Catch::Matchers::ContainsSubstring;
  const std::string json = to_json(TrainConfig{});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = json;
    REQUIRE(changed.find(from) != std::string::npos);
    return changed.replace(changed.find(from), from.size(), to);
  };
  CHECK_THROWS_WITH(train_config_from_json("{"),
                    ContainsSubstring("[train.json] must hold the flags of a run"));
  CHECK_THROWS_WITH(train_config_from_json("[]"),
                    ContainsSubstring("[train.json] must hold the flags of a run"));
  CHECK_THROWS_WITH(train_config_from_json(with("\"steps\"", "\"stepz\"")), ContainsSubstring("steps"));
  CHECK_THROWS_WITH(train_config_from_json(with("2000", "\"2000\"")), ContainsSubstring("must be number"));
  CHECK_THROWS_WITH(train_config_from_json(with("{", "{\"zeal\": 1,")),
                    "[train.json] must have the keys of a run only, got 'zeal'.");
}
