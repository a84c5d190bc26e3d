#include "gradus/train/train_json.hpp"

#include <nlohmann/json.hpp>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::train {
namespace {

constexpr const char *kModel = "model",
                     *kOwn = "own";  // in the train.json of a model that is not the decoder

void read(const files::Field& field, std::string& value) { value = field.text(); }
void read(const files::Field& field, int64_t& value) { value = field.integer(); }
void read(const files::Field& field, double& value) { value = field.number(); }
void read(const files::Field& field, bool& value) { value = field.flag(); }
void read(const files::Field& field, DType& value) { value = precision_from(field.text()); }
template <class E>
requires std::is_enum_v<E>
void read(const files::Field& field, E& value) {
  if (!set_word(value, field.text()))
    field.refuse("must be ", listed(words(value)), ", got ", field.shown(), ".");
}
template <class T>
void read(const files::Field& field, std::vector<T>& values) {
  values.clear();
  for (const files::Field& item : field.items()) read(item, values.emplace_back());
}

void write(nlohmann::ordered_json& json, const Setting& row, const TrainConfig& config) {
  row.visit(config, [&]<class T>(const T& value) {
    if constexpr (std::is_enum_v<T>)
      json[std::string(row.key)] = word(value);
    else
      json[std::string(row.key)] = value;
  });
}

/// Settings of gradus 0.3, with the only values with which a run can be resumed.
constexpr std::pair<std::string_view, std::string_view> kGone[] = {{"reduce", "'ordered'"},
                                                                   {"sync-every", "1"}};

/// The defaults with these settings of the loop.
TrainConfig with_loop(const LoopOptions& options) {
  TrainConfig config;
  static_cast<LoopOptions&>(config) = options;
  return config;
}

/// The settings of a config, or those of its loop for a model that is not the decoder.
std::string json_of(const TrainConfig& config, bool is_own) {
  nlohmann::ordered_json json;
  if (is_own) json[kModel] = kOwn;
  const TrainConfig usual;
  for (const Setting& row : settings())
    if ((!is_own || row.has(Setting::kLoop)) &&
        (!row.has(Setting::kStoredIfSet) || !row.is_equal(config, usual)))
      write(json, row, config);
  return json.dump(2) + "\n";
}

/// What json_of() has written.
TrainConfig config_of(const files::Field& root, bool is_own) {
  if (!root.has("keep"))
    root.refuse(
        "must be of gradus 0.2 or later, got settings of gradus 0.1. Hint: gradus 0.3 can read them.");
  TrainConfig config;
  std::vector<std::string_view> keys;
  if (is_own) keys.emplace_back(kModel);
  for (const auto& [key, value] : kGone) keys.push_back(key);
  for (const Setting& row : settings()) {
    if (is_own && !row.has(Setting::kLoop)) continue;
    keys.push_back(row.key);
    if (const auto field = row.has(Setting::kStoredIfSet) ? root.find(row.key) : root.at(row.key))
      row.visit(config, [&](auto& value) { read(*field, value); });
  }
  root.must_have_only(keys);
  return config;
}

}  // namespace

std::string to_json(const TrainConfig& config) { return json_of(config, /*is_own=*/false); }

TrainConfig train_config_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "train", file);
  TrainConfig config = config_of(json.root(), /*is_own=*/false);
  try {
    (void)models::architecture(config.model.arch);
  } catch (const Error& e) {
    fail("train", file, ": ", files::without_op(e.what()));
  }
  return config;
}

std::string to_json(const LoopOptions& options) { return json_of(with_loop(options), /*is_own=*/true); }

LoopOptions loop_options_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "train", file);
  const files::Field root = json.root();
  if (root.at(kModel).text() != kOwn) root.at(kModel).refuse("must be '", kOwn, "'.");
  return config_of(root, /*is_own=*/true);
}

bool is_loop_options(std::string_view json, const std::string& file) {
  return files::Json(json, "train", file).root().has(kModel);
}

void check_resumable(std::string_view text, const std::string& file) {
  const files::Json json(text, "train", file);
  for (const auto& [key, value] : kGone)
    if (const auto field = json.root().find(key); field && field->shown() != value)
      field->refuse("must be ", value, " in a run that is resumed, got ", field->shown(),
                    ". Hint: gradus 0.3 can resume it.");
}

void check_resume(const LoopOptions& options, const LoopOptions& saved) {
  const TrainConfig now = with_loop(options), before = with_loop(saved);
  for (const Setting& row : settings())
    if (row.has(Setting::kLoop) && !row.has(Setting::kResumable) && !row.is_equal(now, before)) {
      const std::string field = row.field();
      fail("train", Option{field}, " of a resumed run must stay ", row.text(before), ", got ", row.text(now),
           ". Hint: use another folder.");
    }
}

}  // namespace gradus::train
