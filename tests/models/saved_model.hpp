// Folders of decoders whose files a test may change.
#pragma once

#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "temporary_folder.hpp"

namespace gradus::testing {

/// A saved model whose files a test may change.
struct SavedModel {
  TemporaryFolder folder;
  std::filesystem::path config = folder / "config.json", weights = folder / "model.safetensors";

  explicit SavedModel(const models::Decoder& model) { models::save_pretrained(model, folder.path()); }
  nlohmann::json read_config() const { return nlohmann::json::parse(files::read(config)); }
  void write(const nlohmann::json& changed) const { std::ofstream(config) << changed.dump(); }
  void set(const std::string& field, const nlohmann::json& value) const {
    nlohmann::json changed = read_config();
    changed[field] = value;
    write(changed);
  }
  /// What loading says, without the place of the file.
  std::string refusal() const {
    std::string text = error_of([&] { models::load_pretrained(folder.path()); });
    const std::string place = folder.path().string() + "/";
    if (const size_t at = text.find(place); at != std::string::npos) text.erase(at, place.size());
    return text;
  }
};

/// CHECKs that two decoders have one config and the same bits.
inline void check_same(const models::Decoder& a, const models::Decoder& b) {
  CHECK(a.config() == b.config());
  const auto pa = a.named_parameters(), pb = b.named_parameters();
  REQUIRE(pa.size() == pb.size());
  for (size_t i = 0; i < pa.size(); ++i) {
    INFO(pa[i].first);
    CHECK(pa[i].first == pb[i].first);
    CHECK(difference(pa[i].second, pb[i].second, 0.0) == "");
  }
}

}  // namespace gradus::testing
