// Computations of PyTorch, step by step, which `gradus replay` runs too: numbers, drawn numbers bit for bit,
// and printed texts.
#include <bit>
#include <cstdio>

#include "annexes/cases/reader/compare.hpp"
#include "annexes/cases/reader/operations.hpp"
#include "cli/printed.hpp"
#include "gradus/files/file.hpp"
#include "test_files.hpp"

namespace gradus::cases::test_replay {

using namespace testing;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// x as the number that starts at text[i], and moves i behind it; empty if none starts there.
std::string written(double x, std::string_view text, size_t& i) {
  const size_t start = i;
  const auto digits = [&] {
    const size_t begin = i;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) ++i;
    return static_cast<int>(i - begin);
  };
  for (const std::string_view word : {"True", "False", "nan", "inf", "-inf"})
    if (text.substr(i).starts_with(word)) {
      i += word.size();
      if (word == "True" || word == "False") return x != 0 ? "True" : "False";
      return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
    }
  if (text[i] == '-') ++i;
  if (digits() == 0) return i = start, "";
  int decimals = 0;
  const bool point = i < text.size() && text[i] == '.';
  if (point) ++i, decimals = digits();
  const bool scientific = i < text.size() && text[i] == 'e';
  if (scientific) i += 2, digits();
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, scientific ? "%.*e" : "%.*f", decimals, x);
  return std::string(buffer) + (point && decimals == 0 ? "." : "");
}

/// The text with x's numbers in the place and form of its own.
std::string filled(const Tensor& x, const std::string& text) {
  const auto values = x.to(DType::float64).to_vector<double>();
  const size_t bracket = text.find('[');
  std::string result = text.substr(0, bracket == std::string::npos ? 0 : bracket);
  size_t next = 0;
  for (size_t i = result.size(); i < text.size();) {
    const bool may_start = i == 0 || !is_word(text[i - 1]);
    const std::string number = may_start ? written(next < values.size() ? values[next] : 0, text, i) : "";
    next += number.empty() ? 0 : 1;
    result += number.empty() ? std::string(1, text[i++]) : number;
  }
  return next == values.size() ? result : "another number of numbers";
}

/// The text that x prints: in PyTorch's or NumPy's form if `text` has one of these, after any label.
std::string printed(const Tensor& x, const std::string& text) {
  if (const size_t start = text.find("tensor("); start != std::string::npos)
    return text.substr(0, start) + torch_string(x);
  const size_t start = text.find(std::string(static_cast<size_t>(x.dim()), '['));
  if (x.dim() > 0 && start != std::string::npos && text.find(',', start) == std::string::npos)
    return text.substr(0, start) + numpy_string(x);
  return filled(x, text);
}

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
      if (!step.contains("text")) continue;
      std::string text;
      for (const json& line : step["text"]) text += (text.empty() ? "" : "\n") + line.get<std::string>();
      const std::string ours = printed(x, text);
      checks.push_back({i, "text", ours == text ? "" : ours});
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
      CHECK((check.message.empty() || (check.kind == "text" && !has_fma())));
      ++kinds[check.kind];
    }
  return kinds;
}

TEST_CASE("every check of the files that PyTorch made passes") {
  const json golden = file("golden");
  CHECK(golden.size() == 29);
  CHECK(kinds_passed(golden) ==
        std::map<std::string, int64_t>{{"expected", 87}, {"value", 177}, {"text", 53}, {"weights", 51}});
  CHECK(kinds_passed(file("torch")).size() == 4);
  CHECK(kinds_passed(file("example")).size() == 3);
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

TEST_CASE("a wrong number anywhere fails its own check") {
  for (const json& one : file("golden"))
    for (size_t i = 0; i < one["steps"].size(); ++i)
      for (const char* kind : {"expected", "value", "text"}) {
        if (!one["steps"][i].contains(kind)) continue;
        json broken = one;
        json& result = broken["steps"][i][kind];
        if (std::string(kind) == "text") {
          std::string line = result[0];
          line[line.find_first_of("0123456789F")] ^= 1;  // another digit, or Galse
          result[0] = line;
        } else {
          json& last = result["data"].back();
          last = last.is_string()    ? json(0)
                 : last.is_boolean() ? json(!last)
                 : last.is_number_integer() && result.value("dtype", "") == "i64"
                     ? json(last.get<int64_t>() + 1)
                     : json(last.get<double>() * 1.001 + 1);
        }
        INFO(one["name"] << " steps[" << i << "] " << kind);
        const auto checks = checks_of(broken);
        CHECK(std::any_of(checks.begin(), checks.end(), [&](const Check& c) {
          return c.step == i && c.kind == kind && !c.message.empty();
        }));
      }
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
    const Call call{{{"x", ones(c.a_shape, c.a)}, {"other", ones(c.b_shape, c.b)}}, json::object()};
    const auto dtype_of = [&](const char* op) { return operations().at(op).run(call)[0].dtype(); };
    if (c.product != flag) CHECK(dtype_of("mul") == c.product);
    CHECK(dtype_of("div") == (is_floating(c.product) ? c.product : f32));
  }
}

}  // namespace gradus::cases::test_replay
