// Replay files in tests.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/annexes/cases/replay.hpp"
#include "gradus/files/file.hpp"
#include "test_files.hpp"

namespace gradus::testing {

using nlohmann::json;

inline const std::filesystem::path kReplayFiles = test_files() / "annexes/cases/replay";

inline json file(const std::string& name) {
  return json::parse(files::read(kReplayFiles / (name + ".json")));
}

inline cases::ReplayReport run(const json& cases) { return cases::replay_text(cases.dump(), "f.json"); }

inline std::string refusal(const json& cases) {
  return error_of([&] { run(cases); });
}

inline json tensor_of(const std::string& dtype, const std::vector<int64_t>& shape, const json& data) {
  return {{"dtype", dtype}, {"shape", shape}, {"data", data}};
}

/// One case of two steps, y = x * x and z = x * y.
inline json small() {
  const json x = tensor_of("f32", {2, 2}, {1, -2, 0.5, 3});
  return json::array({{{"name", "small"},
                       {"inputs", {{"x", x}}},
                       {"steps",
                        {{{"op", "mul"},
                          {"in", {"x", "x"}},
                          {"out", "y"},
                          {"value", tensor_of("f32", {2, 2}, {1, 4, 0.25, 9})}},
                         {{"op", "mul"},
                          {"in", {"x", "y"}},
                          {"out", "z"},
                          {"expected", {{"shape", {2, 2}}, {"data", {1, -8, 0.13, 27}}}},
                          {"atol", 0.01},
                          {"rtol", 0.0}}}}}});
}

}  // namespace gradus::testing
