// Computations of PyTorch, step by step: numbers, and drawn numbers bit for bit. `gradus replay` runs them
// too, and compares printed texts.
#include "annexes/cases/reader/compare.hpp"
#include "annexes/cases/reader/operations.hpp"
#include "gradus/files/file.hpp"
#include "test_files.hpp"

namespace gradus::cases::test_replay {

using namespace testing;

std::string different_bits(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape()) return "another dtype or shape";
  return dispatch_any(got.dtype(), [&]<class T>() -> std::string {
    const auto x = got.to_vector<T>(), y = expected.to_vector<T>();
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] != y[i] || std::signbit(static_cast<double>(x[i])) != std::signbit(static_cast<double>(y[i])))
        return concat("element ", i);
    return "";
  });
}

struct Check {
  size_t step;
  std::string kind, message;
};

/// Runs a case, and compares all that it has of PyTorch's.
std::vector<Check> checks_of(const json& one) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, j] : one["inputs"].items()) tensors[name] = tensor_in(j);
  const json weights = one.value("weights", json::object());
  for (const auto& [name, j] : weights.items()) {
    tensors[name] = tensor_in(j);
    if (is_floating(tensors[name].dtype())) tensors[name].requires_grad_();
  }
  std::optional<Generator> stream;
  if (one.contains("manual_seed") && !one["manual_seed"].is_null())
    stream = Generator::torch(one["manual_seed"].get<int64_t>());
  std::vector<Check> checks;
  for (size_t i = 0; i < one["steps"].size(); ++i) {
    const json& step = one["steps"][i];
    const Operation& op = operations().at(step["op"]);
    const json in = step.value("in", json::array()), out = step.value("out", json::array());
    const std::vector<std::string> names =
        out.is_string() ? std::vector{out.get<std::string>()} : out.get<std::vector<std::string>>();
    Call call{{}, step.value("args", json::object()), &stream};
    for (size_t k = 0; k < in.size(); ++k)
      call.inputs.emplace_back(k < op.parameters.size() ? op.parameters[k].name : "", tensors.at(in[k]));
    const bool is_given = op.draws && !stream && !names.empty();
    const Tensors results = is_given ? Tensors{tensors.at(names[0])} : op.run(call);
    REQUIRE(results.size() == names.size());
    for (size_t k = 0; k < names.size(); ++k) {
      const Tensor& x = tensors[names[k]] = results[k];
      const auto of = [&](const char* key) {
        return tensor_in(step[key].is_array() ? step[key][k] : step[key]);
      };
      if (op.draws && !is_given && weights.contains(names[k]))
        checks.push_back({i, "weights", different_bits(x, tensor_in(weights[names[k]]))});
      if (step.contains("expected")) {
        const double atol = step["atol"], rtol = step["rtol"];
        checks.push_back(
            {i, "expected", compare_numbers(x, of("expected"), [&](double y) { return atol + rtol * y; })});
      }
      if (step.contains("value"))
        checks.push_back(
            {i, "value", compare_numbers(x, of("value"), [](double y) { return 1e-6 * std::max(1.0, y); })});
    }
  }
  return checks;
}

json file(const std::string& name) {
  return json::parse(files::read(test_files() / "annexes/cases/replay" / (name + ".json")));
}

std::map<std::string, int64_t> kinds_passed(const json& cases) {
  std::map<std::string, int64_t> kinds;
  for (const json& one : cases)
    for (const Check& check : checks_of(one)) {
      INFO(one["name"] << " steps[" << check.step << "] " << check.kind << ": " << check.message);
      CHECK(check.message.empty());
      ++kinds[check.kind];
    }
  return kinds;
}

TEST_CASE("every check of the files that PyTorch made passes") {
  CHECK(kinds_passed(file("golden")) ==
        std::map<std::string, int64_t>{{"expected", 87}, {"value", 177}, {"weights", 51}});
  CHECK(kinds_passed(file("torch")).size() == 3);
  CHECK(kinds_passed(file("example")).size() == 2);
}

TEST_CASE("the files have every operation, and the format's page names each") {
  const std::string page = files::read(test_files() / "../annexes/cases/README.md");
  std::string all;
  for (const char* name : {"golden", "torch"}) all += file(name).dump();
  for (const char* name : {"opinfo", "more", "windows", "functions"})
    all += files::read(test_files() / "annexes/cases/conform" / (std::string(name) + ".jsonl"));
  std::erase(all, ' ');
  for (const auto& [name, operation] : operations()) {
    INFO(name);
    CHECK_HAS(all, concat("\"op\":\"", name, "\""));
    CHECK_HAS(page, concat("| `", name, "("));
  }
}

}  // namespace gradus::cases::test_replay
