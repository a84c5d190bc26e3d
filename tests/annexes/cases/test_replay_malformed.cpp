// Replay of malformed files: an error that names case and step, and never a crash.
#include "annexes/cases/changed.hpp"
#include "annexes/cases/replay/replay_files.hpp"
#include "catch.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cases::test_replay_malformed {

using namespace testing;

TEST_CASE("a malformed file is refused with case, step and expectation") {
  const auto refused = [](const std::string& at, const json& value, const std::vector<std::string>& words) {
    const std::string error = refusal(changed(small(), {{"/0" + at, value}}));
    INFO(error);
    CHECK(error.starts_with("[replay] f.json"));
    CHECK(error.find('\n') == std::string::npos);
    for (const std::string& word : words) CHECK_HAS(error, word);
  };
  // The case.
  refused("/name", kErased, {"cases[0] must have a field 'name'"});
  refused("/steps", kErased, {"case 'small' must have a field 'steps'"});
  refused("/steps", 3, {"steps must be a list, got 3"});
  refused("/stpes", 3, {"cases[0] must have no field 'stpes'"});
  refused("/manual_seed", 1.5, {"manual_seed must be a whole number", "1.5"});
  refused("", 3, {"cases[0] must be an object, got 3"});
  // Tensors.
  const auto x_refused = [&](const std::string& field, const json& value, const std::string& words) {
    refused("/inputs/x/" + field, value, {"case 'small', inputs, x", words});
  };
  x_refused("dtype", "f16", "dtype must be f32, f64, i64 or bool, got 'f16'");
  x_refused("dtype", "i64", "data[2] must be a whole number");
  x_refused("dtype", "bool", "data[0] must be true or false, got 1");
  x_refused("data", {1, 2, 3}, "data must have 4 elements for shape (2, 2), got 3");
  x_refused("data", {1, 2, 3, "four"}, "data[3] must be a number, 'nan', 'inf' or '-inf', got 'four'");
  x_refused("data", {1, 2, 3, 1e39}, "data[3] must fit a float32");
  x_refused("shape", {2, -2}, "shape[1] must be a whole number of at least 0, got -2");
  x_refused("shape", {2, 2.0}, "shape[1] must be a whole number");
  x_refused("shape", {1 << 30, 1 << 30, 1 << 30, 1 << 30}, "shape must have at most 134217728 elements");
  x_refused("shape", {1, 1, 1, 1, 1, 1, 1, 1, 4}, "at most 8 sizes, got 9");
  x_refused("sahpe", {2, 2}, "must have no field 'sahpe'");
  // Steps.
  const auto step_refused = [&](const std::string& field, const json& value, const std::string& words) {
    refused("/steps/1" + field, value, {"case 'small', steps[1]", words});
  };
  step_refused("/op", "mull", "op must be an operation of the format, got 'mull'");
  step_refused("/op", kErased, "must have a field 'op'");
  step_refused("/expcted", 1, "must have no field 'expcted'");
  step_refused("/in", {"x", "w"}, "(mul) needs a tensor 'w'");
  step_refused("/in", {"x"}, "(mul) mul needs 'other', an input or a number");
  step_refused("/in", "x", "in must be a list, got 'x'");
  step_refused("/args", {{"dim", 1}}, "args, dim must not be there");
  step_refused("/out", {"a", "b"}, "expected must be a tensor for each of 2 outputs");
  step_refused("/rtol", kErased, "expected, atol and rtol");
  step_refused("/atol", -1, "atol must be a finite number of at least 0, got -1");
  step_refused("/text", "1", "text must be a list");
  const auto op_refused = [&](const char* op, const json& in, const json& args, const std::string& words) {
    step_refused("", {{"op", op}, {"in", in}, {"args", args}, {"out", "z"}}, words);
  };
  const json x = {"x"}, none = json::array();
  op_refused("transpose", x, {{"dim0", 0}}, "(transpose) transpose needs an argument 'dim1'.");
  op_refused("transpose", x, {{"dim0", 0}, {"dim1", 2}}, "(transpose) ");
  op_refused("transpose", x, {{"dim0", 0}, {"dim1", 9223372036854775808U}},
             "args, dim1 must be a whole number of 64 bits");
  op_refused("softmax", x, {{"dim", "last"}}, "args, dim must be a whole number of 64 bits, got 'last'");
  op_refused("view", x, {{"shape", {3, 2}}}, "(view) shape (2, 2) holds 4 elements");
  op_refused("view", x, {{"shape", {-2, 2}}}, "shape[0] must be a whole number of at least -1");
  op_refused("stack", none, json::object(),
             "needs the inputs of stack(Tensor[] tensors, int? count, int dim=0), got 0");
  op_refused("linear", x, json::object(),
             "needs the inputs of linear(Tensor x, Tensor weight, Tensor? bias), got 1");
  op_refused("ones", none, {{"shape", {1 << 20, 1 << 20}}}, "must have at most 134217728 elements");
  op_refused("masked_fill", {"x", "x"}, {{"value", "-infinity"}},
             "must be a number, 'nan', 'inf' or '-inf', got '-infinity'");
  op_refused("manual_seed", none, {{"seed", 1}}, "gives 0 tensors, got 1 names in out");
  op_refused("dropout", x, {{"p", 0.5}, {"rng", "cuda"}}, "must be default or mkl, got 'cuda'");
  op_refused("dropout", x, {{"p", 0.5}}, "draws random numbers, which needs a seed");
  op_refused("div_sqrt", x, {{"n", 0}}, "n must be a finite number above 0");
}

TEST_CASE("large results are refused before they take memory or time") {
  const auto refused = [](const char* op, const json& in, const json& args) {
    json cases = small();
    cases[0]["manual_seed"] = 1;
    cases[0]["steps"] = {{{"op", "ones"}, {"args", {{"shape", {20000, 1}}}}, {"out", "tall"}},
                         {{"op", "ones"}, {"args", {{"shape", {1, 20000}}}}, {"out", "wide"}},
                         {{"op", op}, {"in", in}, {"args", args}}};
    if (std::string(op) != "discard") cases[0]["steps"][2]["out"] = "z";
    INFO(op);
    CHECK_HAS(refusal(cases), "steps[2] (");
    CHECK_HAS(refusal(cases), "must ");
  };
  const int64_t huge = int64_t{1} << 62;
  const json none = json::array();
  refused("matmul", {"tall", "wide"}, json::object());
  refused("mul", {"tall", "wide"}, json::object());
  refused("div", {"wide", "tall"}, json::object());
  refused("linear", {"tall", "tall"}, json::object());
  refused("stack", json(std::vector<std::string>(7000, "tall")), json::object());
  refused("rand", none, {{"shape", {huge, huge}}});
  refused("linear_init", none, {{"in_features", huge}, {"out_features", 1}});
  refused("linear_init", none, {{"in_features", 20000}, {"out_features", 20000}});
  refused("embedding_init", none, {{"num", 20000}, {"dim", 20000}});
  refused("randperm", none, {{"n", huge}});
  refused("raw32", none, {{"n", -1}});
  refused("discard", none, {{"n", huge}});
  refused("multinomial", {"wide"}, {{"num_samples", huge}, {"replacement", true}});
}

TEST_CASE("a text that is no JSON, or a garbled one is refused or runs, and never crashes") {
  CHECK_ERROR(replay_text("[\n{\"name\": }]", "f.json"), "f.json must be JSON, got '}' at line 2, column 10");
  CHECK_ERROR(replay_text("[", "f.json"), "must be JSON");
  CHECK_ERROR(replay_text("{}", "f.json"), "f.json:1 must have a field 'name'");
  const std::string deep = std::string(1 << 18, '[') + std::string(1 << 18, ']');
  CHECK_ERROR(replay_text(deep, "f.json"), "must have at most 64 lists");
  CHECK_ERROR(replay_text("[{\"name\": \"\xff\"}]", "f.json"), "must be JSON");

  std::string draws;  // a case with every draw
  for (const json& one : file("golden"))
    if (one["name"] == "extra.rng.discrete" || one["name"] == "extra.dropout.mkl")
      draws += (draws.empty() ? "[" : ",") + one.dump();
  draws += "]";
  std::mt19937 random(7);
  const std::string alphabet = "0123456789-.eE\"[]{},:xfi \\\n\x01\xc3";
  for (int round = 0; round < 1500; ++round) {
    std::string text = draws;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      const size_t at = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 4);
      else if (random() % 2 == 0)
        text.insert(at, 1, c);
      else
        text[at] = c;
    }
    const std::string error = error_of([&] { replay_text(text, "f.json"); });
    CHECK((error.empty() || error.starts_with("[replay] f.json")));
  }
}

}  // namespace gradus::cases::test_replay_malformed
