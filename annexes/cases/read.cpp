// Reads cases from JSON. Each field is checked; errors name it and its place.
#include "gradus/annexes/cases/read.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cases {
namespace {

using files::Field;
using files::in_quotes;

// -- tensors and arguments

DType dtype_in(const Field& field) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"f32", DType::float32}, {"f64", DType::float64}, {"i64", DType::int64}, {"bool", DType::boolean}};
  for (const auto& [name, dtype] : kNames)
    if (field.is_text() && field.text() == name) return dtype;
  field.refuse("must be f32, f64, i64 or bool, got ", field.shown(), ".");
}

std::vector<int64_t> integers_in(const Field& field) {
  std::vector<int64_t> all;
  for (const Field& item : field.items()) all.push_back(item.integer());
  return all;
}

std::vector<int64_t> sizes_in(const Field& field, int64_t least) {
  std::vector<int64_t> sizes;
  int64_t elements = 1;
  for (const Field& item : field.items()) {
    const int64_t size = sizes.emplace_back(item.integer(least));
    if (size > 0 && size > kMaxElements / elements)
      field.refuse("must have at most ", kMaxElements, " elements.");
    elements *= std::max<int64_t>(size, 1);
  }
  if (sizes.size() > kMaxDims)
    field.refuse("must have at most ", kMaxDims, " sizes, got ", sizes.size(), ".");
  return sizes;
}

template <class T>
T element_in(const Field& field) {
  if constexpr (std::is_same_v<T, bool>) return field.flag();
  if constexpr (std::is_same_v<T, int64_t>) return field.integer();
  const double x = field.extended_number();
  if (std::is_same_v<T, float> && std::isfinite(x) && std::abs(x) > std::numeric_limits<float>::max())
    field.refuse("must fit a float32, got ", x, ".");
  return static_cast<T>(x);
}

/// The dtype of a tensor that does not name one.
DType dtype_of_data(const std::vector<Field>& data) {
  const auto all = [&](bool (Field::*is)() const) {
    return !data.empty() && std::all_of(data.begin(), data.end(), [&](const Field& f) { return (f.*is)(); });
  };
  return all(&Field::is_flag) ? DType::boolean : all(&Field::is_integer) ? DType::int64 : DType::float64;
}

Tensor tensor_in(const Field& field, bool may_lack_dtype = false) {
  const std::vector<Field> data = field.at("data").items();
  const Shape shape(sizes_in(field.at("shape"), 0));
  if (static_cast<int64_t>(data.size()) != shape.numel())
    field.at("data").refuse("must have ", shape.numel(), " elements for shape ", shape, ", got ", data.size(),
                            ".");
  const DType dtype =
      may_lack_dtype && !field.has("dtype") ? dtype_of_data(data) : dtype_in(field.at("dtype"));
  Tensor out = empty(shape, dtype);
  dispatch_any(dtype, [&]<class T>() {
    std::transform(data.begin(), data.end(), out.mutable_data<T>(), element_in<T>);
  });
  return out;
}

Subscript subscript_in(const Field& field) {
  const auto bound = [](const Field& f) { return f.is_null() ? std::nullopt : std::optional(f.integer()); };
  if (field.is_object() && field.size() == 1) {
    const auto [kind, value] = field.members().front();
    if (kind == "int") return TensorIndex(value.integer());
    if (kind == "newaxis") return TensorIndex(None);
    if (kind == "ellipsis") return TensorIndex(Ellipsis);
    if (kind == "tensor") return std::string(value.text());
    if (kind == "slice" && value.items().size() == 3) {
      const std::vector<Field> s = value.items();
      return TensorIndex(Slice(bound(s[0]), bound(s[1]), bound(s[2]).value_or(1)));
    }
  }
  field.refuse("must be {\"int\"}, {\"slice\": [start, stop, step]}, {\"newaxis\"}, {\"ellipsis\"} or ",
               "{\"tensor\"}, got ", field.shown(), ".");
}

Argument argument_in(const Field& field, std::string_view type) {
  if (type == "int") return field.integer();
  if (type == "seed") return field.bits();
  if (type == "float" || type == "Scalar") return field.extended_number();
  if (type == "bool") return field.flag();
  if (type == "str") return std::string(field.text());
  if (type == "shape") return sizes_in(field, 0);
  if (type == "view") return sizes_in(field, -1);
  if (type == "dims" && !field.is_list()) return std::vector{field.integer()};
  if (type == "padding" && field.is_text()) return std::string(field.text());
  if ((type == "size" || type == "padding") && !field.is_list()) return field.integer();
  if (type == "dtype") return dtype_in(field);
  if (type != "index") return integers_in(field);
  std::vector<Subscript> all;
  for (const Field& item : field.items()) all.push_back(subscript_in(item));
  return all;
}

/// The arguments in the field "args". Throws Malformed for one that the operation does not have, BadCall for
/// one of the wrong kind.
Arguments arguments_in(const Field& args, const Operation& op) {
  Arguments arguments;
  for (const auto& [key, field] : args.members()) {
    if (field.is_object()) field.refuse("must be a number, a string or a list, got ", field.shown(), ".");
    const Parameter* p = op.find(key);
    if (!p) field.refuse("must not be there: ", op.name, " has no argument '", key, "'.");
    if (field.is_null()) continue;
    try {
      if (!p->takes_argument()) field.refuse("must be an input, not an argument, of ", op.name, ".");
      arguments.emplace(key, argument_in(field, p->type));
    } catch (const Error& e) {
      throw BadCall(e.what());
    }
  }
  return arguments;
}

// -- cases of one call

/// A tensor with dtype f64, i64 or bool: float32 runs are made from float64 cases.
Tensor double_tensor_in(const Field& field) {
  if (field.at("dtype").is_text() && field.at("dtype").text() == "f32")
    field.at("dtype").refuse("must be f64, i64 or bool, got 'f32'.");
  return tensor_in(field);
}

Tensors list_in(const Field& list, bool may_have_null = false) {
  Tensors tensors;
  for (const Field& item : list.items())
    tensors.push_back(may_have_null && item.is_null() ? Tensor() : double_tensor_in(item));
  return tensors;
}

/// Input name -> tensor, in the order of the inputs.
Tensors by_input(const CallCase& c, const Field& field) {
  for (const auto& [name, value] : field.members())
    if (!c.input(name).defined()) value.refuse("must not be there, for no input has that name.");
  Tensors tensors;
  for (const std::string& name : c.names)
    tensors.push_back(field.has(name) ? double_tensor_in(field.at(name)) : Tensor());
  return tensors;
}

CallCase call_in(const Field& root) {
  CallCase c;
  c.id = root.at("id").text();
  const Field op = root.at("op");
  c.operation = find_operation(op.text());
  if (!c.operation || c.operation->draws)
    op.refuse("must be a known operation, got ", op.shown(), ". Hint: annexes/cases/README.md lists them.");
  for (const Field& field : root.at("inputs").items()) {
    const Field name = field.at("name");
    if (c.input(name.text()).defined())
      name.refuse("must be of one input only, got ", name.shown(), " again.");
    const Tensor& x = c.given.inputs.emplace_back(double_tensor_in(field));
    c.names.emplace_back(name.text());
    c.requires_grad.push_back(field.has("requires_grad") && field.at("requires_grad").flag());
    if (c.requires_grad.back() && !is_floating(x.dtype()))
      field.refuse("must be f64 to have a gradient, got ", gradus::name(x.dtype()), ".");
  }
  if (root.has("error")) c.error = root.at("error").text();
  try {
    c.arguments = arguments_in(root.at("args"), *c.operation);
  } catch (const BadCall&) {
    if (!c.error) throw;
    c.is_bad = true;
  }
  if (c.error) return c;
  c.answers.outputs = list_in(root.at("outputs"));
  c.given.cotangents = list_in(root.at("cotangents"));
  c.answers.grads = c.answers.recorded_grads = by_input(c, root.at("grads"));
  if (const auto grad2 = root.given("grad2")) {
    c.has_grad2 = true;
    c.given.v = by_input(c, grad2->at("v"));
    c.answers.grad2 = by_input(c, grad2->at("grads"));
    c.answers.grad2_cotangents = list_in(grad2->at("cotangents"), /*may_have_null=*/true);
  }
  return c;
}

// -- cases that are programs

/// A tensor that is alone in its object.
Tensor only_tensor_in(const Field& field, bool may_lack_dtype = false) {
  field.must_have_only({"dtype", "shape", "data"});
  return tensor_in(field, may_lack_dtype);
}

NamedTensors tensors_in(const Field& object, const char* key) {
  NamedTensors tensors;
  if (object.has(key))
    for (const auto& [name, field] : object.at(key).members()) tensors.emplace(name, only_tensor_in(field));
  return tensors;
}

/// The inputs by the parameters of the operation, in their order.
std::vector<std::pair<std::string, std::string>> inputs_in(const Field& step, const Operation& op) {
  std::vector<std::string> parameters,
      names = step.has("in") ? step.at("in").texts() : std::vector<std::string>{};
  size_t least = 0;
  for (const Parameter& p : op.parameters) {
    if (p.takes_tensor()) parameters.push_back(p.name);
    least += p.required && !p.takes_argument() ? 1 : 0;
    if (!p.is_list()) continue;
    parameters.clear();
    for (size_t i = 0; i < names.size(); ++i) parameters.push_back(concat(p.name, ".", i));
  }
  if (names.size() < least || names.size() > parameters.size())
    step.refuse("needs the inputs of ", op.signature, ", got ", names.size(), ".");
  std::vector<std::pair<std::string, std::string>> inputs;
  for (size_t i = 0; i < names.size(); ++i) inputs.emplace_back(parameters[i], names[i]);
  return inputs;
}

/// One tensor, or a list with one for each output of the step.
Tensors results_in(const Field& step, const char* key, size_t outputs) {
  if (!step.has(key)) return {};
  const Field field = step.at(key);
  const std::vector<Field> items = field.is_list() ? field.items() : std::vector{field};
  if (items.size() != outputs)
    field.refuse("must be a tensor for each of ", outputs, " outputs, got ", items.size(), ".");
  Tensors tensors;
  for (const Field& item : items) tensors.push_back(only_tensor_in(item, /*may_lack_dtype=*/true));
  return tensors;
}

double tolerance_in(const Field& field) {
  const double tolerance = field.extended_number();
  if (!(tolerance >= 0 && std::isfinite(tolerance)))
    field.refuse("must be a finite number of at least 0, got ", tolerance, ".");
  return tolerance;
}

Step step_in(files::Json& json, const Field& step, std::string_view case_name, size_t index) {
  step.must_have_only(
      {"op", "in", "args", "out", "expected", "atol", "rtol", "value", "text", "cell", "notes"});
  const Field op = step.at("op");
  Step s;
  s.operation = find_operation(op.text());
  if (!s.operation) op.refuse("must be an operation of the format, got ", op.shown(), ".");
  json.call(step, place_of(case_name, index, op.text()));

  s.inputs = inputs_in(step, *s.operation);
  if (step.has("args")) s.arguments = arguments_in(step.at("args"), *s.operation);
  if (step.has("out"))
    s.outputs =
        step.at("out").is_text() ? std::vector{std::string(step.at("out").text())} : step.at("out").texts();
  s.expected = results_in(step, "expected", s.outputs.size());
  s.value = results_in(step, "value", s.outputs.size());
  for (const char* key : {"atol", "rtol"})
    if (step.has(key) != step.has("expected"))
      step.refuse("must have expected, atol and rtol, or none of them.");
  if (step.has("expected")) {
    s.atol = tolerance_in(step.at("atol"));
    s.rtol = tolerance_in(step.at("rtol"));
  }
  if (step.has("text")) {
    if (s.outputs.size() != 1) step.refuse("must have one output for a text, got ", s.outputs.size(), ".");
    s.text.emplace();
    for (const std::string& line : step.at("text").texts()) *s.text += line + '\n';
    if (!s.text->empty()) s.text->pop_back();
  }
  return s;
}

ProgramCase program_in(files::Json& json, const Field& field) {
  field.must_have_only(
      {"name", "seed_file", "kind", "system", "notes", "manual_seed", "inputs", "weights", "steps"});
  ProgramCase c;
  c.name = field.at("name").text();
  json.call(field, concat("case ", in_quotes(c.name)));
  if (field.has("manual_seed") && !field.at("manual_seed").is_null())
    c.manual_seed = field.at("manual_seed").bits();
  c.inputs = tensors_in(field, "inputs");
  c.weights = tensors_in(field, "weights");
  for (const Field& step : field.at("steps").items())
    c.steps.push_back(step_in(json, step, c.name, c.steps.size()));
  return c;
}

// -- files

/// Calls take(json, field, line) for each case: in a list, or one object per line.
template <class Take>
void for_each_case(std::string_view text, const char* verb, const std::string& file, const Take& take) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '[') {
    files::Json json(text, verb, file);
    int64_t count = 0;
    for (const Field& field : json.root().items()) {
      json.call(field, concat("cases[", count, "]"));
      take(json, field, ++count);
    }
    return;
  }
  std::istringstream lines{std::string(text)};
  std::string one;
  for (int64_t line = 1; std::getline(lines, one); ++line) {
    if (one.find_first_not_of(" \t\r") == one.npos) continue;
    files::Json json(one, verb, concat(file, ":", line));
    take(json, json.root(), line);
  }
}

}  // namespace

Tensor CallCase::input(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return given.inputs[i];
  return {};
}

std::string place_of(std::string_view case_name, size_t step, std::string_view op) {
  return concat("case ", in_quotes(case_name), ", steps[", step, "] (", op, ")");
}

std::vector<CallCase> read_calls(std::string_view text, const std::string& file) {
  std::vector<CallCase> cases;
  for_each_case(text, "conform", file, [&](files::Json&, const Field& field, int64_t line) {
    cases.push_back(call_in(field));
    cases.back().line = line;
  });
  return cases;
}

std::vector<ProgramCase> read_programs(std::string_view text, const std::string& file) {
  std::vector<ProgramCase> cases;
  for_each_case(text, "replay", file, [&](files::Json& json, const Field& field, int64_t) {
    cases.push_back(program_in(json, field));
  });
  return cases;
}

}  // namespace gradus::cases
