#include "gradus/train/trainer/recipe.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::train {
namespace {

constexpr const char *kModel = "model", *kOwn = "own", *kEma = "ema", *kPrecision = "precision",
                     *kPatience = "patience", *kKeep = "keep";

constexpr const char* kOtherFolder = ". Hint: use another folder.";

enum class Later { same, may_differ };  // when a run goes on

/// Calls f(key, member, later) for every number.
template <class F>
void for_each_number(F&& f) {
  f("steps", &Recipe::steps, Later::may_differ);
  f("batch", &Recipe::batch, Later::same);
  f("accum", &Recipe::accum, Later::same);
  f("clip", &Recipe::clip, Later::same);
  f("seed", &Recipe::seed, Later::same);
  f("eval-every", &Recipe::eval_every, Later::may_differ);
  f(kPatience, &Recipe::patience, Later::may_differ);
  f("save-every", &Recipe::save_every, Later::may_differ);
  f(kKeep, &Recipe::keep, Later::may_differ);
}

/// Whether recipes of gradus 0.1 lack it.
bool may_be_absent(std::string_view key) { return key == kPatience || key == kKeep; }

void read(const files::Field& field, int64_t& value) { value = field.integer(); }
void read(const files::Field& field, double& value) { value = field.number(); }

void check_count(std::string_view field, int64_t value, int64_t least) {
  if (value < least)
    fail("recipe", "`", field, "` must be a whole number of at least ", least, ", got ", value, ".");
}

}  // namespace

void Recipe::validate() const {
  if (!loss) fail("recipe", "`loss` must be a callable from a batch to a scalar, got none.");
  if (!batches) fail("recipe", "`batches` must be a callable that draws a batch, got none.");
  check_count("steps", steps, 1);
  check_count("batch", batch, 1);
  check_count("accum", accum, 1);
  if (!(clip >= 0 && std::isfinite(clip)))
    fail("recipe", "`clip` must be a finite number of at least 0, got ", clip, ".");
  check_count("seed", seed, 0);
  if (!(ema >= 0 && ema < 1)) fail("recipe", "`ema` must be in [0, 1), got ", ema, ".");
  precision_name(precision);  // refuses what is none
  check_count("eval_every", eval_every, 1);
  check_count("patience", patience, 0);
  check_count("save_every", save_every, 1);
  check_count("keep", keep, 0);
}

std::string to_json(const Recipe& recipe) {
  nlohmann::ordered_json json{{kModel, kOwn}};
  for_each_number([&](const char* key, auto field, Later) { json[key] = recipe.*field; });
  json[kEma] = recipe.ema;
  json[kPrecision] = precision_name(recipe.precision);
  return json.dump(2) + "\n";
}

Recipe recipe_from_json(std::string_view json, const std::string& file) {
  const files::Json document(json, "train", file);
  const files::Field root = document.root();
  std::vector<std::string_view> keys{kModel, kEma, kPrecision};
  for_each_number([&](const char* key, auto, Later) { keys.push_back(key); });
  root.must_have_only(keys);
  if (root.at(kModel).text() != kOwn) root.at(kModel).refuse("must be '", kOwn, "'.");
  Recipe recipe;
  for_each_number([&](const char* key, auto field, Later) {
    if (const auto number = may_be_absent(key) ? root.find(key) : root.at(key)) read(*number, recipe.*field);
  });
  // These may be absent too.
  if (const auto field = root.find(kEma)) recipe.ema = field->number();
  if (const auto field = root.find(kPrecision)) recipe.precision = precision_from(field->text());
  return recipe;
}

bool is_recipe(std::string_view json, const std::string& file) {
  return files::Json(json, "train", file).root().has(kModel);
}

void check_goes_on(const Recipe& recipe, const Recipe& saved) {
  for_each_number([&](const char* key, auto field, Later later) {
    if (later == Later::same && recipe.*field != saved.*field)
      fail("train", "`", key, "` of a run that goes on must stay ", saved.*field, ", got ", recipe.*field,
           kOtherFolder);
  });
  if (recipe.ema != saved.ema)
    fail("train", "`", kEma, "` of a run that goes on must stay ", saved.ema, ", got ", recipe.ema,
         kOtherFolder);
  if (recipe.precision != saved.precision)
    fail("train", "`", kPrecision, "` of a run that goes on must stay ", precision_name(saved.precision),
         ", got ", precision_name(recipe.precision), kOtherFolder);
}

}  // namespace gradus::train
