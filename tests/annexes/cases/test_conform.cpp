// Conformance: PyTorch's files pass, any wrong answer fails, and the differences on purpose are known.
#include "gradus/annexes/cases/conform.hpp"

#include "annexes/cases/changed.hpp"
#include "annexes/cases/conform/conform_cases.hpp"
#include "catch.hpp"
#include "gradus/files/file.hpp"

namespace gradus::cases::test_conform {

using namespace testing;

/// The verdicts on all files, or on those of one.
std::vector<ConformCase> verdicts(const std::string& file = "") {
  static const ConformReport whole = conform(kConformFiles);
  std::vector<ConformCase> some;
  for (const ConformCase& c : whole.cases)
    if (file.empty() || c.file == (kConformFiles / file).string()) some.push_back(c);
  return some;
}

// The case of this name in the file.
json case_of(const std::string& file, const std::string& id) {
  std::istringstream lines(files::read(kConformFiles / file));
  for (std::string line; std::getline(lines, line);)
    if (json c = json::parse(line); c["id"] == id) return c;
  fail("test", "there must be a case ", id, ".");
}

TEST_CASE("every case that PyTorch answered passes, and every call that it refuses is refused") {
  std::map<std::string, size_t> cases;
  std::set<std::string> ops;
  for (const ConformCase& c : verdicts()) {
    INFO(c.id << (c.passed() ? "" : ": " + c.differences[0].run + " " + c.differences[0].message));
    CHECK(c.passed());
    ++cases[std::filesystem::path(c.file).filename().string()];
    ops.insert(c.op);
  }
  CHECK(ops.size() == 91);
  CHECK(cases == std::map<std::string, size_t>{{"errors.jsonl", 35},
                                               {"functions.jsonl", 384},
                                               {"more.jsonl", 81},
                                               {"opinfo.jsonl", 377},
                                               {"windows.jsonl", 134},
                                               {"windows_errors.jsonl", 69}});
}

TEST_CASE("a folder's files are run in the order of their names, or only one op of them") {
  const ConformCase first = verdicts().front();
  CHECK(first.file == (kConformFiles / "errors.jsonl").string());
  CHECK(first.id == "masked_fill/e00");
  CHECK(first.line == 1);
  const ConformReport amax = conform(kConformFiles, "amax");
  CHECK(amax.cases.size() >= 20);
  CHECK(std::all_of(amax.cases.begin(), amax.cases.end(), [](const auto& c) { return c.op == "amax"; }));
  CHECK(amax.failed() == 0);
}

TEST_CASE("a wrong answer anywhere is a difference that says where") {
  CHECK(first_difference(product_case()) == "");
  const auto differs = [](const char* at, const json& value, const std::string& words) {
    INFO(at);
    CHECK_HAS(first_difference(changed(product_case(), {{at, value}})), words);
  };
  differs("/outputs/0/data/1", -3.1,
          "contiguous output 0: element [1] must be -3.1000000000000001 within 1e-12 max(1, |expected|), got "
          "-3; 1 of 2 "
          "differ, the worst by 0.1");
  differs("/grads/x/data/0", 5.00000001, "contiguous grad x: element [0]");
  differs("/grads/other/data/0", "nan",
          "grad other: element [0] must be nan within 1e-12 max(1, |expected|), got 2");
  differs("/grad2/grads/other/data/1", "inf",
          "grad2 other: element [1] must be inf within 1e-12 max(1, |expected|), got 10");
  differs("/grad2/cotangents/0/data/0", 34, "grad2 of cotangent 0: element [0]");
  // Missing or superfluous answers.
  differs("/grads/x", kErased, "grad x: there must be none or zeros");
  differs("/grad2/grads/x", kErased, "grad2 x: there must be none or zeros");
  differs("/inputs/0/requires_grad", false, "grad x: there must be one, got none");
  differs("/outputs/1", f64_case({2}, {10, -3}), "outputs: there must be 2, got 1");
  differs("/outputs", json::array(), "outputs: there must be 0, got 1");
  differs("/cotangents", json::array(), "error: [conform] there must be a cotangent for each");
  // Shapes and dtypes.
  differs("/outputs/0/shape", {2, 1}, "output 0: shape must be (2, 1), got (2,)");
  differs("/grads/x/shape", {1, 2}, "grad x: shape must be (1, 2), got (2,)");
  differs("/outputs/0/dtype", "i64", "output 0: dtype must be int64, got float64");
  // An op that throws.
  json other = f64_case({3}, {1, 2, 3});
  other.update({{"name", "other"}, {"requires_grad", true}});
  differs("/inputs/1", other, "contiguous error: [mul]");
}

TEST_CASE("a list of cases is as good as a case a line") {
  const json good = product_case();
  json bad = good;
  bad["outputs"][0]["data"][0] = 11;
  const ConformReport list = conform_text(json{good, bad}.dump(1), "f.json");
  REQUIRE(list.cases.size() == 2);
  CHECK(list.cases[0].passed());
  CHECK(!list.cases[1].passed());
  CHECK(list.cases[1].line == 2);
}

TEST_CASE("a call that cannot be made is judged, also of an op with a convention") {
  json x = f64_case({2}, {1, 2});
  x["name"] = "x";
  json c = {{"id", "layer_norm/long"}, {"op", "layer_norm"}, {"inputs", {x}}};
  c["args"]["normalized_shape"] = {1, 2};
  for (const char* field : {"outputs", "cotangents"}) c[field] = json::array();
  c["grads"] = json::object();
  CHECK_HAS(first_difference(c), "contiguous error: [layer_norm] ");
  c["error"] = "Given normalized_shape=[1, 2], expected input with shape [*, 1, 2]";
  CHECK(first_difference(c) == "");
}

TEST_CASE("a call that must fail and does not is a difference") {
  json c = product_case();
  c["error"] = "must match";
  CHECK(first_difference(c) == "contiguous error: there must be one as PyTorch's 'must match', got none");
  c["inputs"][1].update(f64_case({3}, {1, 2, 3}));
  CHECK(first_difference(c) == "");
  c = product_case();
  c["error"] = "argument 'other' must be Tensor";
  c["op"] = "maximum";
  c["inputs"].erase(1);
  c["args"]["other"] = 2;  // PyTorch's TypeError
  CHECK(first_difference(c) == "");
}

TEST_CASE("a difference by convention is told, and allows only a number for NaN") {
  json c = {{"id", "silu/inf"},
            {"op", "silu"},
            {"inputs", {{{"name", "x"}, {"dtype", "f64"}, {"shape", {1}}, {"data", {"-inf"}}}}},
            {"args", json::object()},
            {"outputs", {f64_case({1}, {"nan"})}},
            {"cotangents", {f64_case({1}, {1})}},
            {"grads", json::object()}};
  ConformCase verdict = verdict_on(c);
  CHECK(verdict.passed());
  CHECK_HAS(verdict.convention, "limits at infinity");
  c["outputs"][0]["data"][0] = "inf";
  CHECK_HAS(first_difference(c), "must be inf within 1e-12 max(1, |expected|), got -0");
  c["outputs"][0]["data"][0] = 1.0;
  CHECK_HAS(first_difference(c), "must be 1 within 1e-12 max(1, |expected|), got -0");
  c["inputs"][0]["data"][0] = 0.0;  // where nothing is pardoned
  c["outputs"][0]["data"][0] = "nan";
  verdict = verdict_on(c);
  CHECK(!verdict.passed());
  CHECK(verdict.convention.empty());
}

TEST_CASE("only layer_norm of numbers far from zero differs by convention in PyTorch's own samples") {
  std::set<std::string> ids;
  for (const ConformCase& c : verdicts("opinfo.jsonl"))
    if (!c.convention.empty()) ids.insert(c.id);
  CHECK(ids == std::set<std::string>{"layer_norm/0007"});
  json c = case_of("opinfo.jsonl", "layer_norm/0007");
  c["outputs"][0]["data"][1] = 1e-6;  // further than rounding reaches
  CHECK_HAS(first_difference(c), "output 0: element [1]");

  // A row far from zero is looked at by itself, whatever stands beside it.
  c = case_of("opinfo.jsonl", "layer_norm/0007");
  c["inputs"][0] = f64_case({2, 3}, {1e8, 1e8 + 1, 1e8 + 2, -1e9, 0, 1e9});
  c["inputs"][0]["name"] = "x";
  json& y = c["outputs"][0];
  y["shape"] = {2, 3};
  y["data"].insert(y["data"].end(), {-std::sqrt(1.5), 0.0, std::sqrt(1.5)});
  c["cotangents"] = {f64_case({2, 3}, {0, 0, 0, 0, 0, 0})};
  c["grads"] = json::object();
  c.erase("grad2");
  CHECK(first_difference(c) == "");
  CHECK_HAS(verdict_on(c).convention, "x - mean");
}

TEST_CASE("the page lists every convention") {
  const std::string page = files::read(kConformFiles / "../../../../annexes/cases/README.md");
  for (const ConformCase& c : verdicts()) {
    INFO(c.op << " " << c.convention);
    CHECK(page.find(c.convention) != std::string::npos);
  }
}

}  // namespace gradus::cases::test_conform
