// Replay: files that PyTorch made pass, and a wrong number anywhere does not.
#include "gradus/annexes/cases/replay.hpp"

#include "annexes/cases/replay/replay_files.hpp"
#include "catch.hpp"
#include "cli/printed.hpp"
#include "gradus/annexes/cases/signature.hpp"

namespace gradus::cases::test_replay {

using namespace testing;

std::map<std::string, int64_t> kinds_passed(const ReplayReport& report) {
  std::map<std::string, int64_t> kinds;
  for (const ReplayCheck& check : report.checks) {
    INFO(check.case_name << " steps[" << check.step << "] " << check.op << ", " << check.kind << ": "
                         << check.message);
    CHECK((check.passed || (check.kind == "text" && !has_fma())));
    ++kinds[check.kind];
  }
  return kinds;
}

json with_text(const json& x, const std::vector<std::string>& text) {
  json cases = small();
  cases[0]["inputs"]["x"] = x;
  cases[0]["steps"] = {
      {{"op", "view"}, {"in", {"x"}}, {"args", {{"shape", x["shape"]}}}, {"out", "t"}, {"text", text}}};
  return cases;
}

TEST_CASE("every check of the files that PyTorch made passes") {
  const auto kinds = kinds_passed(replay(kReplayFiles / "golden.json"));
  CHECK(kinds ==
        std::map<std::string, int64_t>{{"expected", 87}, {"value", 177}, {"text", 53}, {"weights", 51}});
  CHECK(replay(kReplayFiles / "golden.json").cases.size() == 29);
  CHECK(kinds_passed(replay(kReplayFiles / "torch.json")).size() == 4);
  CHECK(kinds_passed(replay(kReplayFiles / "example.json")).size() == 3);
}

TEST_CASE("the files have every operation, and the format's page has each signature") {
  const std::string page = files::read(kReplayFiles / "../../../../annexes/cases/README.md");
  std::string all;
  for (const char* name : {"golden", "torch"}) all += file(name).dump();
  for (const char* name : {"opinfo", "more", "windows", "functions"})
    all += files::read(kReplayFiles / "../conform" / (std::string(name) + ".jsonl"));
  std::erase(all, ' ');
  for (const Operation& operation : operations()) {
    INFO(operation.name);
    CHECK_HAS(all, concat("\"op\":\"", operation.name, "\""));
    CHECK_HAS(page, concat("`", operation.signature, "`"));
  }
}

TEST_CASE("cases on lines are as good as a list of them, and arguments may be null") {
  json cases = small();
  cases[0]["steps"][0]["args"] = {{"other", nullptr}};
  const std::string lines = cases[0].dump() + "\n\n" + cases[0].dump() + "\n";
  CHECK(replay_text(lines, "f.jsonl").passed() == 4);
}

TEST_CASE("a wrong number anywhere fails its own check and names the element") {
  for (const json& one : file("golden")) {
    for (size_t i = 0; i < one["steps"].size(); ++i)
      for (const char* kind : {"expected", "value"}) {
        if (!one["steps"][i].contains(kind)) continue;
        json broken = one;
        json& last = broken["steps"][i][kind]["data"].back();
        last = last.is_string()    ? json(0)
               : last.is_boolean() ? json(!last)
                                   : json(last.get<double>() * 1.001 + 1);
        if (one["steps"][i][kind].value("dtype", "") == "i64")
          last = one["steps"][i][kind]["data"][0].get<int64_t>() + 1;
        const ReplayReport report = run(json::array({broken}));
        int64_t failed = 0;
        for (const ReplayCheck& check : report.checks)
          if (!check.passed && check.kind == kind && check.step == static_cast<int64_t>(i)) {
            CHECK_HAS(check.message, "1 of ");
            CHECK(check.worst > 1e-7);
            ++failed;
          }
        INFO(one["name"] << " steps[" << i << "] " << kind);
        CHECK(failed == 1);
      }
    for (const auto& [name, weight] : one["weights"].items()) {
      json broken = one;
      json& first = broken["weights"][name]["data"][0];
      first = std::nextafter(first.get<float>(), 2.0F);
      const ReplayReport report = run(json::array({broken}));
      INFO(one["name"] << " " << name);
      CHECK(std::any_of(report.checks.begin(), report.checks.end(),
                        [&, &weight_name = name](const ReplayCheck& c) {
                          return !c.passed && c.kind == "weights" && c.out == weight_name;
                        }));
    }
    for (size_t i = 0; i < one["steps"].size(); ++i) {
      if (!one["steps"][i].contains("text")) continue;
      json broken = one;
      std::string line = broken["steps"][i]["text"][0];
      line[line.find_first_of("0123456789F")] ^= 1;  // another digit, or Galse
      broken["steps"][i]["text"][0] = line;
      CHECK(run(json::array({broken})).failed() >= 1);
    }
  }
}

TEST_CASE("texts are compared in the form they have") {
  const json x = tensor_of("f32", {2, 2}, {1, 0.25, "-inf", 100});
  const auto passes = [](const json& t, const std::vector<std::string>& text) {
    return run(with_text(t, text)).checks.at(0).passed;
  };
  CHECK(passes(x, {"tensor([[  1.0000,   0.2500],", "        [    -inf, 100.0000]])"}));
  CHECK(passes(x, {"A label: tensor([[  1.0000,   0.2500],", "        [    -inf, 100.0000]])"}));
  CHECK_FALSE(
      passes(x, {"tensor([[  1.0000,   0.2500],", "        [    -inf, 100.0000]],", "       grad_fn=<X>)"}));
  CHECK_FALSE(passes(x, {"tensor([[  1.0000,   0.2500],", "        [    -inf, 100.0000]]) "}));
  CHECK(passes(x, {" [[  1.     0.25]", " [  -inf 100.  ]]"}));
  CHECK_FALSE(passes(x, {" [[  1.     0.25]", " [  -inf 100.  ] ]"}));
  CHECK(passes(x, {"m_1 = [[1, 0.2],", "  [-inf, 1e+02]]"}));
  CHECK(passes(x, {"1.0, 0.25", "-inf, 100."}));
  CHECK_FALSE(passes(x, {"1.0, 0.25", "-inf, 101."}));
  CHECK_FALSE(passes(x, {"1.0, 0.25", "-inf"}));
  CHECK_FALSE(passes(x, {"1.0, 0.25", "-inf, 100, 7"}));
  CHECK_FALSE(passes(x, {}));
  CHECK(passes(tensor_of("bool", {2}, {true, false}), {"[True, False]"}));
  CHECK_FALSE(passes(tensor_of("bool", {2}, {true, false}), {"[True, True]"}));
}

TEST_CASE("a drawn tensor may have one element") {
  json cases = small();
  cases[0]["manual_seed"] = 1;
  cases[0]["steps"] = {
      {{"op", "linear_init"},
       {"args", {{"in_features", 1}, {"out_features", 1}, {"bias", false}}},
       {"out", "W"}},
      {{"op", "embedding_init"}, {"args", {{"num", 1}, {"dim", 1}}}, {"out", "E"}},
      {{"op", "randperm"}, {"args", {{"n", 1}}}, {"out", "p"}, {"value", tensor_of("i64", {1}, {0})}}};
  CHECK(run(cases).checks.size() == 1);
  CHECK(run(cases).checks[0].passed);
}

TEST_CASE("a drawn tensor needs a seed, or is in weights") {
  json cases = small();
  cases[0]["steps"] = {{{"op", "linear_init"},
                        {"args", {{"in_features", 2}, {"out_features", 2}, {"bias", false}}},
                        {"out", "W"}},
                       {{"op", "linear"},
                        {"in", {"x", "W"}},
                        {"out", "y"},
                        {"value", tensor_of("f32", {2, 2}, {-1, 2, 4, 1})}}};
  CHECK_HAS(refusal(cases), "case 'small', steps[0] (linear_init) draws random numbers");
  cases[0]["weights"]["W"] = tensor_of("f32", {2, 2}, {1, 1, 0, -1});
  CHECK(run(cases).checks.size() == 1);
  CHECK_FALSE(run(cases).checks[0].passed);
  cases[0]["steps"][1]["value"]["data"] = {-1, 2, 3.5, -3};
  CHECK(run(cases).checks[0].passed);
  cases[0]["steps"][1]["text"] = {"tensor([[-1.0000,  2.0000],",
                                  "        [ 3.5000, -3.0000]], grad_fn=<MmBackward0>)"};
  CHECK(run(cases).failed() == 0);
  cases[0]["manual_seed"] = 1;
  CHECK(run(cases).checks[0].kind == "weights");
  CHECK_FALSE(run(cases).checks[0].passed);
}

TEST_CASE("cases can be picked by name") {
  json cases = small();
  cases.push_back(cases[0]);
  cases[1]["name"] = "other";
  const std::string text = cases.dump();
  CHECK(replay_text(text, "f.json").cases.size() == 2);
  const ReplayReport report = replay_text(text, "f.json", "other");
  REQUIRE(report.cases.size() == 1);
  CHECK(report.cases[0].name == "other");
  CHECK(report.cases[0].checks == 2);
  CHECK(report.passed() == 2);
  CHECK_ERROR(replay_text(text, "f.json", "none"), "got 'none'");
}

TEST_CASE("of two floats the one with dimensions has the say, of two alike the wider") {
  constexpr DType f32 = DType::float32, f64 = DType::float64, i64 = DType::int64, flag = DType::boolean;
  const struct {
    DType a;
    Shape a_shape;
    DType b;
    Shape b_shape;
    DType product;  // PyTorch's, as is that of a quotient unless it would be whole
  } cases[] = {
      {f64, {}, f32, {2}, f32},  {f32, {2}, f64, {}, f32},    {f32, {}, f64, {2}, f64},
      {f64, {2}, f32, {}, f64},  {f64, {}, f32, {}, f64},     {f32, {2}, f64, {2}, f64},
      {f64, {1}, f32, {2}, f64}, {f64, {}, i64, {2}, f64},    {i64, {2}, f32, {}, f32},
      {flag, {2}, f32, {}, f32}, {i64, {}, flag, {2}, i64},   {flag, {}, i64, {}, i64},
      {f32, {}, f64, {0}, f64},  {flag, {2}, flag, {}, flag},
  };
  for (const auto& c : cases) {
    INFO(name(c.a) << " " << c.a_shape << " and " << name(c.b) << " " << c.b_shape);
    const Inputs in = {{"x", ones(c.a_shape, c.a)}, {"other", ones(c.b_shape, c.b)}};
    std::optional<Generator> stream;
    const auto dtype_of = [&](const char* op) {
      return run_operation(*find_operation(op), in, {}, stream)[0].dtype();
    };
    if (c.product != flag) CHECK(dtype_of("mul") == c.product);
    CHECK(dtype_of("div") == (is_floating(c.product) ? c.product : f32));
  }
}

}  // namespace gradus::cases::test_replay
