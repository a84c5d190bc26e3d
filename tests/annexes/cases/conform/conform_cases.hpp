// Conformance cases in tests.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "autograd/compare.hpp"
#include "gradus/annexes/cases/conform.hpp"
#include "test_files.hpp"

namespace gradus::testing {

using nlohmann::json;

inline const std::filesystem::path kConformFiles = test_files() / "annexes/cases/conform";

inline json f64_case(const std::vector<int64_t>& shape, const json& data) {
  return {{"dtype", "f64"}, {"shape", shape}, {"data", data}};
}

/// y = x * other of two vectors, right in all that it says.
inline json product_case() {
  json x = f64_case({2}, {2, 3}), other = f64_case({2}, {5, -1});
  x.update({{"name", "x"}, {"requires_grad", true}});
  other.update({{"name", "other"}, {"requires_grad", true}});
  return {{"id", "mul/small"},
          {"op", "mul"},
          {"inputs", {x, other}},
          {"args", json::object()},
          {"outputs", {f64_case({2}, {10, -3})}},
          {"cotangents", {f64_case({2}, {1, 10})}},
          {"grads", {{"x", f64_case({2}, {5, -10})}, {"other", f64_case({2}, {2, 30})}}},
          {"grad2",
           {{"v", {{"x", f64_case({2}, {7, 1})}, {"other", f64_case({2}, {0, 2})}}},
            {"grads", {{"x", f64_case({2}, {0, 20})}, {"other", f64_case({2}, {7, 10})}}},
            {"cotangents", {f64_case({2}, {35, 5})}}}}};
}

inline cases::ConformCase verdict_on(const json& c) {
  return cases::conform_text(c.dump(), "f.jsonl").cases.at(0);
}

/// "run what: message" of the first thing that differs; empty if nothing does.
inline std::string first_difference(const json& c) {
  const cases::ConformCase verdict = verdict_on(c);
  if (verdict.passed()) return "";
  const cases::ConformDifference& d = verdict.differences.front();
  return d.run + " " + d.what + ": " + d.message;
}

}  // namespace gradus::testing
