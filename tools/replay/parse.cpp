// JSON -> structs. Whatever is not as the format has it is refused by name and place.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/replay/program.hpp"

namespace gradus::tools::detail {
namespace {

using files::Field;
using files::in_quotes;

DType dtype_in(const Field& field) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"f32", DType::float32}, {"f64", DType::float64}, {"i64", DType::int64}, {"bool", DType::boolean}};
  for (const auto& [name, dtype] : kNames)
    if (field.is_text() && field.text() == name) return dtype;
  field.refuse("must be f32, f64, i64 or bool, got ", field.shown(), ".");
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

double float_in(const Field& field, DType dtype) {
  const double x = field.extended_number();
  if (dtype == DType::float32 && std::isfinite(x) && std::abs(x) > std::numeric_limits<float>::max())
    field.refuse("must fit a float32, got ", x, ".");
  return x;
}

/// What its data look like, where a tensor does not say.
DType dtype_of_data(const std::vector<Field>& data) {
  const auto all = [&](bool (Field::*is)() const) {
    return !data.empty() && std::all_of(data.begin(), data.end(), [&](const Field& f) { return (f.*is)(); });
  };
  return all(&Field::is_flag) ? DType::boolean : all(&Field::is_integer) ? DType::int64 : DType::float64;
}

Tensor tensor_in(const Field& field, bool may_lack_dtype = false) {
  field.must_have_only({"dtype", "shape", "data"});
  const std::vector<Field> data = field.at("data").items();
  const Shape shape(sizes_in(field.at("shape"), 0));
  if (static_cast<int64_t>(data.size()) != shape.numel())
    field.at("data").refuse("must have ", shape.numel(), " elements for shape ", shape, ", got ", data.size(),
                            ".");
  const DType dtype =
      may_lack_dtype && !field.has("dtype") ? dtype_of_data(data) : dtype_in(field.at("dtype"));
  Tensor out = empty(shape, dtype);
  dispatch_any(dtype, [&]<class T>() {
    T* x = out.mutable_data<T>();
    for (const Field& item : data) {
      if constexpr (std::is_same_v<T, bool>)
        *x++ = item.flag();
      else if constexpr (std::is_same_v<T, int64_t>)
        *x++ = item.integer();
      else
        *x++ = static_cast<T>(float_in(item, dtype));
    }
  });
  return out;
}

NamedTensors tensors_in(const Field& object, const char* key) {
  NamedTensors tensors;
  if (object.has(key))
    for (const auto& [name, field] : object.at(key).members()) tensors.emplace(name, tensor_in(field));
  return tensors;
}

Argument argument_in(const Field& field, Kind kind) {
  switch (kind) {
    case Kind::integer:
      return field.integer();
    case Kind::seed:
      return field.bits();
    case Kind::number:
      return field.extended_number();
    case Kind::flag:
      return field.flag();
    case Kind::shape:
      return sizes_in(field, 0);
    case Kind::view:
      return sizes_in(field, -1);
    case Kind::dims: {
      std::vector<int64_t> dims;
      if (field.is_list())
        for (const Field& item : field.items()) dims.push_back(item.integer());
      else if (!field.is_null())
        dims.push_back(field.integer());
      return dims;
    }
    case Kind::dtype:
      return dtype_in(field);
    default: {
      if (field.text() != "default" && field.text() != "mkl")
        field.refuse("must be default or mkl, got ", field.shown(), ".");
      return std::string(field.text());
    }
  }
}

Arguments arguments_in(const Field& step, const Operation& operation) {
  Arguments arguments;
  std::vector<std::pair<std::string_view, Field>> given;
  if (step.has("args")) given = step.at("args").members();
  for (const auto& [key, field] : given) {
    const auto& known = operation.parameters;
    const auto parameter = std::find_if(known.begin(), known.end(),
                                        [&, &name = key](const Parameter& p) { return p.name == name; });
    if (parameter == known.end())
      field.refuse("must not be there: ", operation.name, " takes no such argument.");
    arguments.set(key, argument_in(field, parameter->kind));
  }
  for (const Parameter& p : operation.parameters)
    if (p.required &&
        std::none_of(given.begin(), given.end(), [&](const auto& g) { return g.first == p.name; }))
      step.refuse("must have the argument '", p.name, "' in args.");
  return arguments;
}

std::vector<std::string> outputs_in(const Field& step) {
  if (!step.has("out")) return {};
  const Field out = step.at("out");
  return out.is_text() ? std::vector{std::string(out.text())} : out.texts();
}

/// One tensor, or a list of as many as the step has outputs.
std::vector<Tensor> results_in(const Field& step, const char* key, size_t outputs) {
  if (!step.has(key)) return {};
  const Field field = step.at(key);
  const std::vector<Field> items = field.is_list() ? field.items() : std::vector{field};
  if (items.size() != outputs)
    field.refuse("must be a tensor for each of ", outputs, " outputs, got ", items.size(), ".");
  std::vector<Tensor> tensors;
  for (const Field& item : items) tensors.push_back(tensor_in(item, true));
  return tensors;
}

double tolerance_in(const Field& step, const char* key) {
  const double tolerance = step.at(key).extended_number();
  if (!(tolerance >= 0 && std::isfinite(tolerance)))
    step.at(key).refuse("must be a finite number of at least 0, got ", tolerance, ".");
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

  if (step.has("in")) s.inputs = step.at("in").texts();
  const auto [least, most] = std::pair(s.operation->min_inputs, s.operation->max_inputs);
  if (s.inputs.size() < least || s.inputs.size() > most)
    step.refuse("needs ", least,
                most == least        ? ""
                : most == kAnyNumber ? " or more"
                                     : concat(" to ", most),
                " inputs, got ", s.inputs.size(), ".");
  s.outputs = outputs_in(step);
  s.arguments = arguments_in(step, *s.operation);
  s.expected = results_in(step, "expected", s.outputs.size());
  s.value = results_in(step, "value", s.outputs.size());
  for (const char* key : {"atol", "rtol"})
    if (step.has(key) != step.has("expected"))
      step.refuse("must have expected, atol and rtol, or none of them.");
  if (step.has("expected")) {
    s.atol = tolerance_in(step, "atol");
    s.rtol = tolerance_in(step, "rtol");
  }
  if (step.has("text")) {
    if (s.outputs.size() != 1) step.refuse("must have one output for a text, got ", s.outputs.size(), ".");
    s.text.emplace();
    for (const std::string& line : step.at("text").texts()) *s.text += line + '\n';
    if (!s.text->empty()) s.text->pop_back();
  }
  return s;
}

Case case_in(files::Json& json, const Field& field) {
  field.must_have_only(
      {"name", "seed_file", "kind", "system", "notes", "manual_seed", "inputs", "weights", "steps"});
  Case c;
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

}  // namespace

std::string place_of(std::string_view case_name, size_t step, std::string_view op) {
  return concat("case ", in_quotes(case_name), ", steps[", step, "] (", op, ")");
}

std::vector<Case> parse_program(std::string_view text, const std::string& file) {
  files::Json json(text, "replay", file);
  std::vector<Case> cases;
  for (const Field& field : json.root().items()) {
    json.call(field, concat("cases[", cases.size(), "]"));
    cases.push_back(case_in(json, field));
  }
  return cases;
}

}  // namespace gradus::tools::detail
