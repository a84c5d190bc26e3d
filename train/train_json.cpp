#include "gradus/train/train_json.hpp"

#include <nlohmann/json.hpp>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/train_config.hpp"
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
template <class T>
void read(const files::Field& field, std::vector<T>& values) {
  values.clear();
  for (const files::Field& item : field.items()) read(item, values.emplace_back());
}

void read(const files::Field& root, const Setting& row, TrainConfig& config) {
  if (const auto field = row.has(Setting::kSince02) ? root.find(row.key) : root.at(row.key))
    row.visit(config, [&](auto& value) { read(*field, value); });
}

void write(nlohmann::ordered_json& json, const Setting& row, const TrainConfig& config) {
  row.visit(config, [&]<class T>(const T& value) {
    if constexpr (std::is_same_v<T, DType>)
      json[std::string(row.key)] = precision_name(value);
    else
      json[std::string(row.key)] = value;
  });
}

/// Settings of gradus 0.3, with the only values with which a run can be resumed.
constexpr std::pair<std::string_view, std::string_view> kGone[] = {{"reduce", "'ordered'"},
                                                                   {"sync-every", "1"}};

void must_have_only(const files::Field& root, std::vector<std::string_view> keys) {
  for (const auto& [key, value] : kGone) keys.push_back(key);
  root.must_have_only(keys);
}

/// The defaults with these settings of the loop.
TrainConfig with_loop(const LoopOptions& options) {
  TrainConfig config;
  static_cast<LoopOptions&>(config) = options;
  return config;
}

}  // namespace

std::string to_json(const TrainConfig& config) {
  nlohmann::ordered_json json;
  const TrainConfig usual;
  for (const Setting& row : settings())
    if (!row.has(Setting::kStoredIfSet) || !row.is_equal(config, usual)) write(json, row, config);
  return json.dump(2) + "\n";
}

TrainConfig train_config_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "train", file);
  TrainConfig config;
  config.eval_tokens = 0;  // the value of gradus 0.1, which did not store it
  std::vector<std::string_view> keys;
  for (const Setting& row : settings()) {
    keys.push_back(row.key);
    read(json.root(), row, config);
  }
  try {
    (void)models::architecture(config.model.arch);
  } catch (const Error& e) {
    fail("train", file, ": ", e.what());
  }
  must_have_only(json.root(), keys);
  return config;
}

std::string to_json(const LoopOptions& options) {
  nlohmann::ordered_json json{{kModel, kOwn}};
  const TrainConfig config = with_loop(options), usual;
  for (const Setting& row : settings())
    if (row.has(Setting::kLoop) && (!row.has(Setting::kStoredIfSet) || !row.is_equal(config, usual)))
      write(json, row, config);
  return json.dump(2) + "\n";
}

LoopOptions loop_options_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "train", file);
  const files::Field root = json.root();
  if (root.at(kModel).text() != kOwn) root.at(kModel).refuse("must be '", kOwn, "'.");
  TrainConfig config;
  std::vector<std::string_view> keys{kModel};
  for (const Setting& row : settings()) {
    if (!row.has(Setting::kLoop)) continue;
    keys.push_back(row.key);
    read(root, row, config);
  }
  must_have_only(root, keys);
  const LoopOptions& options = config;
  return options;
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
