// PyTorch's own samples of operations, which `gradus conform` runs too: outputs, gradients and gradients of
// gradients, in several layouts and in float32; and calls that must fail.
#include <filesystem>

#include "annexes/cases/reader/compare.hpp"
#include "annexes/cases/reader/operations.hpp"
#include "gradus/files/file.hpp"
#include "test_files.hpp"

namespace gradus::cases::test_conform {

using namespace testing;

struct Case {
  std::string op;
  json args;
  std::vector<std::string> names{};
  Tensors inputs{}, cotangents{}, outputs{}, v{};
  std::vector<bool> requires_grad{};
  json grads{}, grad2{};

  Tensor input(const std::string& name) const {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? Tensor() : inputs[static_cast<size_t>(at - names.begin())];
  }
  /// Input name -> tensor, in the order of the inputs.
  Tensors by_input(const json& object) const {
    Tensors all;
    for (const std::string& name : names)
      all.push_back(object.contains(name) ? tensor_in(object[name]) : Tensor());
    return all;
  }
};

Tensors list_in(const json& list) {
  Tensors all;
  for (const json& j : list) all.push_back(j.is_null() ? Tensor() : tensor_in(j));
  return all;
}

Case case_in(const json& j) {
  Case c{j["op"], j["args"]};
  for (const json& input : j["inputs"]) {
    c.names.push_back(input["name"]);
    c.inputs.push_back(tensor_in(input));
    c.requires_grad.push_back(input.value("requires_grad", false));
  }
  if (j.contains("error")) return c;
  c.outputs = list_in(j["outputs"]);
  c.cotangents = list_in(j["cotangents"]);
  c.grads = j["grads"];
  c.grad2 = j.value("grad2", json());
  if (!c.grad2.is_null()) c.v = c.by_input(c.grad2["v"]);
  return c;
}

Tensors call(const Case& c, const Tensors& inputs) {
  Call call{{}, c.args};
  for (size_t i = 0; i < inputs.size(); ++i) call.inputs.emplace_back(c.names[i], inputs[i]);
  return operations().at(c.op)(call);
}

// -- intended differences from PyTorch

bool any_of(const Tensor& x, bool (*holds)(double)) {
  if (!x.defined() || x.dtype() != DType::float64) return false;
  const auto values = x.to_vector<double>();
  return std::any_of(values.begin(), values.end(), holds);
}
bool is_zero(double x) { return x == 0; }
bool has_infinite_cube(double x) { return std::isinf(x * x * x); }

// The largest |x| / sqrt(var + eps) of a row: rounding grows by it if the mean is subtracted last.
double lost_by_dividing_first(const Case& c) {
  autograd::Dims dims;
  for (size_t d = 0; d < c.args["normalized_shape"].size(); ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  const Tensor x = c.input("x");
  return x.numel() == 0
             ? 1
             : amax(gradus::abs(x) * rsqrt(var(x, dims, 0, true) + c.args.value("eps", 1e-5))).item();
}

/// Whether PyTorch's NaN may be a number: where the page of the format says so.
bool may_be_number(const Case& c) {
  const Tensor x = c.input("x"), target = c.input("target");
  if (c.op == "scaled_dot_product_attention") return c.input("mask").defined();
  if (c.op == "cross_entropy")
    return target.dtype() == DType::int64 &&
           !any_of(ne(target, c.args.value("ignore_index", -100.0)).to(DType::float64),
                   [](double t) { return t != 0; });
  if (c.op == "std") return any_of(c.outputs[0], is_zero);
  if (c.op == "pow" || c.op == "norm") return any_of(x, is_zero);
  if (c.op == "kl_div") return any_of(target, is_zero);
  return (c.op == "logsumexp" || c.op == "silu" || c.op == "gelu") && any_of(x, has_infinite_cube);
}

Pardon pardon_of(const Case& c, bool& used) {
  const double lost = c.op == "layer_norm" ? lost_by_dividing_first(c) : 0;
  return [number = may_be_number(c), lost, &used](double got, double expected) {
    const bool rounding =
        lost > 100 && std::abs(got - expected) <= 8 * 0x1p-53 * lost * std::max(1.0, std::abs(expected));
    const bool pardoned = rounding || (number && std::isfinite(got) && std::isnan(expected));
    used = used || pardoned;
    return pardoned;
  };
}

// -- the forms of inputs

Tensor same(const Tensor& x) { return x; }
Tensor transposed(const Tensor& x) {
  std::vector<int64_t> reversed;
  for (int d = x.dim() - 1; d >= 0; --d) reversed.push_back(d);
  return x.permute(reversed).contiguous().permute(reversed);
}
/// Every other element of a larger tensor. The rest is NaN, or a number that is no index.
Tensor stepped(const Tensor& x) {
  Shape wide = x.shape();
  for (int d = 0; d < x.dim(); ++d) wide[d] = 2 * wide[d] + 1;
  if (wide.empty()) wide = {3};
  Tensor part = full(wide, is_floating(x.dtype()) ? kNan : -1e9, x.dtype());
  for (int d = 0; d < x.dim(); ++d) part = part.slice(d, 1, wide[d] - 1, 2);
  if (x.dim() == 0) part = part.select(0, 1);
  part.copy_(x);
  return part;
}
Tensor expanded(const Tensor& x) {
  for (int d = 0; d < x.dim() && is_floating(x.dtype()); ++d)
    if (x.shape()[d] > 1) return x.slice(d, 0, 1).expand(x.shape());
  return x;
}
Tensor packed(const Tensor& x) { return expanded(x).contiguous(); }
Tensor rounded(const Tensor& x) { return is_floating(x.dtype()) ? x.to(DType::float32) : x; }
Tensor exact(const Tensor& x) { return rounded(x).to(x.dtype()); }

using Change = Tensor (*)(const Tensor&);

struct Answers {
  Tensors outputs, grads{}, recorded{}, second{}, second_cotangents{};
};

/// Forward, backward, and again if there are second derivatives; cotangents and v as `others` changes them.
Answers answers(const Case& c, Change change, Change others) {
  Tensors inputs, leaves;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(change(c.inputs[i]).detach());
    if (c.requires_grad[i]) leaves.push_back(inputs.back().requires_grad_());
  }
  Answers a{call(c, inputs)};
  Tensors attached, cotangents, all;
  for (const Tensor& y : a.outputs) {
    if (!is_floating(y.dtype())) continue;
    all.push_back(others(c.cotangents.at(all.size())).detach().requires_grad_());
    if (y.requires_grad()) attached.push_back(y), cotangents.push_back(all.back());
  }
  if (attached.empty()) return a;
  const auto of_inputs = [&](const Tensors& some) {
    Tensors result(c.names.size());
    for (size_t i = 0, next = 0; i < result.size(); ++i)
      if (c.requires_grad[i]) result[i] = some[next++];
    return result;
  };
  const bool twice = !c.grad2.is_null();
  a.grads = of_inputs(
      grad(attached, leaves, {.grad_outputs = cotangents, .retain_graph = twice, .allow_unused = true}));
  if (!twice) return a;
  a.recorded = of_inputs(
      grad(attached, leaves, {.grad_outputs = cotangents, .create_graph = true, .allow_unused = true}));
  Tensors gradients, v, wanted = leaves;
  for (size_t i = 0; i < c.v.size(); ++i)
    if (c.v[i].defined() && a.recorded[i].defined() && a.recorded[i].requires_grad())
      gradients.push_back(a.recorded[i]), v.push_back(others(c.v[i]));
  wanted.insert(wanted.end(), all.begin(), all.end());
  Tensors second(wanted.size());
  if (!gradients.empty()) second = grad(gradients, wanted, {.grad_outputs = v, .allow_unused = true});
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!second[i].defined()) second[i] = zeros(wanted[i].shape(), wanted[i].dtype());
  a.second = of_inputs(second);
  a.second_cotangents.assign(second.end() - std::ssize(all), second.end());
  return a;
}

/// The first difference; empty if there is none.
std::string compare(const Tensors& ours, const Tensors& theirs, double tolerance, const Pardon& pardon,
                    const char* what) {
  for (size_t i = 0; i < theirs.size(); ++i) {
    const Tensor got = i < ours.size() ? ours[i] : Tensor();
    std::string message;
    if (theirs[i].defined())
      message = compare_answer(got, theirs[i], tolerance, pardon);
    else if (got.defined() && any_of(got.to(DType::float64), [](double x) { return x != 0; }))
      message = "there must be none or zeros";
    if (!message.empty()) return concat(what, " ", i, ": ", message);
  }
  return "";
}

std::string compare(const Answers& ours, const Answers& theirs, double tolerance, const Pardon& pardon) {
  if (ours.outputs.size() != theirs.outputs.size()) return concat("got ", ours.outputs.size(), " outputs");
  std::string first = compare(ours.outputs, theirs.outputs, tolerance, pardon, "output");
  if (first.empty()) first = compare(ours.grads, theirs.grads, tolerance, pardon, "grad");
  if (first.empty()) first = compare(ours.recorded, theirs.recorded, tolerance, pardon, "recorded grad");
  if (first.empty()) first = compare(ours.second, theirs.second, tolerance, pardon, "grad2");
  return first.empty() ? compare(ours.second_cotangents, theirs.second_cotangents, tolerance, pardon,
                                 "grad2 of cotangent")
                       : first;
}

/// What differs in the first run that does; `by_convention` says whether an intended difference was used.
std::string difference(const json& j, bool& by_convention) {
  const Case c = case_in(j);
  if (j.contains("error")) {
    try {
      call(c, c.inputs);
    } catch (const std::exception&) {  // of gradus, or of JSON: an argument of another type
      return "";
    }
    return "it must fail";
  }
  const bool twice = !c.grad2.is_null();
  const Tensors grads = c.by_input(c.grads);
  const Answers theirs{c.outputs, grads, twice ? grads : Tensors{},
                       twice ? c.by_input(c.grad2["grads"]) : Tensors{},
                       twice ? list_in(c.grad2["cotangents"]) : Tensors{}};
  const Pardon pardon = pardon_of(c, by_convention);
  for (const auto& [run, change] : {std::pair<const char*, Change>{"contiguous ", same},
                                    {"transposed ", transposed},
                                    {"stepped ", stepped}})
    if (const auto d = compare(answers(c, change, change), theirs, 1e-12, pardon); !d.empty()) return run + d;
  if (const auto d = compare(answers(c, expanded, same), answers(c, packed, same), 1e-12, pardon); !d.empty())
    return "expanded " + d;
  return compare(answers(c, rounded, rounded), answers(c, exact, exact), 1e-5, pardon);
}

TEST_CASE("every case that PyTorch answered passes, and every call that it refuses is refused") {
  std::map<std::string, size_t> cases;
  std::set<std::string> ops;
  size_t by_convention = 0;
  for (const auto& file : std::filesystem::directory_iterator(test_files() / "annexes/cases/conform")) {
    if (file.path().extension() != ".jsonl") continue;
    std::istringstream lines(files::read(file.path()));
    for (std::string line; std::getline(lines, line);) {
      const json j = json::parse(line);
      bool pardoned = false;
      INFO(j["id"]);
      CHECK(difference(j, pardoned) == "");
      by_convention += pardoned ? 1 : 0;
      ++cases[file.path().filename().string()];
      ops.insert(j["op"]);
    }
  }
  CHECK(ops.size() == 91);
  const std::string page = files::read(test_files() / "../annexes/cases/README.md");
  for (const std::string& op : ops) CHECK_HAS(page, concat("| `", op, "("));
  CHECK(by_convention == 20);
  CHECK(cases == std::map<std::string, size_t>{{"errors.jsonl", 35},
                                               {"functions.jsonl", 384},
                                               {"more.jsonl", 81},
                                               {"opinfo.jsonl", 377},
                                               {"windows.jsonl", 134},
                                               {"windows_errors.jsonl", 69}});
}

TEST_CASE("a wrong answer anywhere is a difference") {
  const auto f64 = [](const json& data) { return json{{"dtype", "f64"}, {"shape", {2}}, {"data", data}}; };
  json x = f64({2, 3}), other = f64({5, -1});
  x.update({{"name", "x"}, {"requires_grad", true}});
  other.update({{"name", "other"}, {"requires_grad", true}});
  const json product = {{"op", "mul"},
                        {"inputs", {x, other}},
                        {"args", json::object()},
                        {"outputs", {f64({10, -3})}},
                        {"cotangents", {f64({1, 10})}},
                        {"grads", {{"x", f64({5, -10})}, {"other", f64({2, 30})}}},
                        {"grad2",
                         {{"v", {{"x", f64({7, 1})}, {"other", f64({0, 2})}}},
                          {"grads", {{"x", f64({0, 20})}, {"other", f64({7, 10})}}},
                          {"cotangents", {f64({35, 5})}}}}};
  bool pardoned = false;
  CHECK(difference(product, pardoned) == "");
  for (const char* at :
       {"/outputs/0/data/1", "/grads/x/data/0", "/grad2/grads/other/data/1", "/grad2/cotangents/0/data/0"}) {
    json wrong = product;
    json& number = wrong[json::json_pointer(at)];
    number = number.get<double>() + 1e-9;
    CHECK(difference(wrong, pardoned) != "");
    number = "nan";
    CHECK(difference(wrong, pardoned) != "");
  }
  json wrong = product;
  wrong["error"] = "must fail";
  CHECK(difference(wrong, pardoned) == "it must fail");
  CHECK(!pardoned);
}

}  // namespace gradus::cases::test_conform
