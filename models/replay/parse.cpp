// JSON -> structs. Whatever is not as the format has it is refused by name and place.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/models/replay/program.hpp"

namespace gradus::models::detail {
namespace {

using Json = nlohmann::json;

/// What an error shows of a value: never all of a large one, and nothing by recursion.
std::string shown(const Json& json) {
  if (json.is_object()) return concat("an object of ", json.size());
  if (json.is_array()) return concat("a list of ", json.size());
  return json.is_string() ? in_quotes(json.get_ref<const std::string&>()) : json.dump();
}

/// A value of the file, and how errors call it.
class Field {
 public:
  Field(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}
  Field called(std::string place) const { return {json_, std::move(place)}; }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("replay", place(), " ", parts...);
  }

  // -- objects

  bool has(const char* key) const { return json_.contains(key); }
  Field at(const char* key) const {
    if (!has(key)) refuse("must have a field '", key, "'.");
    return {json_[key], concat(place(), ", ", key)};
  }
  /// Each member, by name.
  std::vector<std::pair<std::string, Field>> members() const {
    must_be(json_.is_object(), "an object");
    std::vector<std::pair<std::string, Field>> all;
    for (const auto& [key, value] : json_.items())
      all.emplace_back(key, Field(value, concat(place(), ", ", in_quotes(key))));
    return all;
  }
  /// Refuses what is not an object, and fields that would be passed over.
  void must_have_only(std::initializer_list<std::string_view> known) const {
    must_be(json_.is_object(), "an object");
    for (const auto& [key, value] : json_.items())
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        std::string names;
        for (const std::string_view name : known) names += concat(names.empty() ? "" : ", ", name);
        refuse("must have no field ", in_quotes(key), ". Hint: there are ", names, ".");
      }
  }

  // -- lists

  size_t size() const {
    must_be(json_.is_array(), "a list");
    return json_.size();
  }
  Field item(size_t i) const {
    Field field(json_[i], place());
    field.index_ = i;
    return field;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> list;
    for (size_t i = 0; i < size(); ++i) list.push_back(item(i).text());
    return list;
  }

  // -- single values

  bool is_null() const { return json_.is_null(); }
  bool is_string() const { return json_.is_string(); }
  bool is_integer() const { return json_.is_number_integer(); }
  bool is_boolean() const { return json_.is_boolean(); }
  bool is_list() const { return json_.is_array(); }

  const std::string& text() const {
    must_be(json_.is_string(), "a string");
    return json_.get_ref<const std::string&>();
  }
  bool flag() const {
    must_be(json_.is_boolean(), "true or false");
    return json_.get<bool>();
  }
  int64_t integer() const {
    must_be(is_integer() && !is_beyond_int64(), "a whole number of 64 bits");
    return json_.get<int64_t>();
  }
  /// PyTorch takes seeds with and without sign, and reads both as two's complement.
  int64_t seed() const {
    must_be(is_integer(), "a whole number of 64 bits");
    return static_cast<int64_t>(is_beyond_int64() ? json_.get<uint64_t>()
                                                  : static_cast<uint64_t>(json_.get<int64_t>()));
  }
  double number() const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (json_.is_string()) {
      if (text() == "-inf") return -kInfinity;
      if (text() == "inf") return kInfinity;
      if (text() == "nan") return std::numeric_limits<double>::quiet_NaN();
    }
    must_be(json_.is_number(), "a number or \"-inf\"");
    return json_.get<double>();
  }

 private:
  void must_be(bool is, std::string_view what) const {
    if (!is) refuse("must be ", what, ", got ", shown(json_), ".");
  }
  bool is_beyond_int64() const {
    return json_.is_number_unsigned() && json_.get<uint64_t>() > std::numeric_limits<int64_t>::max();
  }

  std::string place() const { return index_ ? concat(place_, "[", *index_, "]") : place_; }

  const Json& json_;
  std::string place_;
  std::optional<size_t> index_;  // in the list at place_; put into words only when something is wrong
};

DType dtype_in(const Field& field) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"f32", DType::float32}, {"f64", DType::float64}, {"i64", DType::int64}, {"bool", DType::boolean}};
  for (const auto& [name, dtype] : kNames)
    if (field.is_string() && field.text() == name) return dtype;
  field.refuse("must be f32, f64, i64 or bool, got ",
               field.is_string() ? in_quotes(field.text()) : "no string", ".");
}

std::vector<int64_t> sizes_in(const Field& field, int64_t least) {
  std::vector<int64_t> sizes;
  int64_t elements = 1;
  for (size_t i = 0; i < field.size(); ++i) {
    const int64_t size = sizes.emplace_back(field.item(i).integer());
    if (size < least) field.item(i).refuse("must be at least ", least, ", got ", size, ".");
    if (size > 0 && size > kMaxElements / elements)
      field.refuse("must have at most ", kMaxElements, " elements.");
    elements *= std::max<int64_t>(size, 1);
  }
  if (sizes.size() > kMaxDims)
    field.refuse("must have at most ", kMaxDims, " sizes, got ", sizes.size(), ".");
  return sizes;
}

double float_in(const Field& field, DType dtype) {
  const double x = field.number();
  if (dtype == DType::float32 && std::isfinite(x) && std::abs(x) > std::numeric_limits<float>::max())
    field.refuse("must fit a float32, got ", x, ".");
  return x;
}

/// What its data look like, where a tensor does not say.
DType dtype_of_data(const Field& data) {
  bool booleans = data.size() > 0, integers = booleans;
  for (size_t i = 0; i < data.size(); ++i) {
    booleans = booleans && data.item(i).is_boolean();
    integers = integers && data.item(i).is_integer();
  }
  return booleans ? DType::boolean : integers ? DType::int64 : DType::float64;
}

Tensor tensor_in(const Field& field, bool may_lack_dtype = false) {
  field.must_have_only({"dtype", "shape", "data"});
  const Field data = field.at("data");
  const Shape shape(sizes_in(field.at("shape"), 0));
  const size_t count = data.size();
  if (static_cast<int64_t>(count) != shape.numel())
    data.refuse("must have ", shape.numel(), " elements for shape ", shape, ", got ", count, ".");
  const DType dtype =
      may_lack_dtype && !field.has("dtype") ? dtype_of_data(data) : dtype_in(field.at("dtype"));
  Tensor out = empty(shape, dtype);
  dispatch_any(dtype, [&]<class T>() {
    T* x = out.mutable_data<T>();
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bool>)
        x[i] = data.item(i).flag();
      else if constexpr (std::is_same_v<T, int64_t>)
        x[i] = data.item(i).integer();
      else
        x[i] = static_cast<T>(float_in(data.item(i), dtype));
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
      return field.seed();
    case Kind::number:
      return field.number();
    case Kind::flag:
      return field.flag();
    case Kind::shape:
      return sizes_in(field, 0);
    case Kind::view:
      return sizes_in(field, -1);
    case Kind::dims: {
      std::vector<int64_t> dims;
      if (field.is_list())
        for (size_t i = 0; i < field.size(); ++i) dims.push_back(field.item(i).integer());
      else if (!field.is_null())
        dims.push_back(field.integer());
      return dims;
    }
    case Kind::dtype:
      return dtype_in(field);
    default: {
      const std::string& name = field.text();
      if (name != "default" && name != "mkl")
        field.refuse("must be default or mkl, got ", in_quotes(name), ".");
      return name;
    }
  }
}

Arguments arguments_in(const Field& step, const Operation& operation) {
  Arguments arguments;
  std::vector<std::pair<std::string, Field>> given;
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
  return out.is_string() ? std::vector{out.text()} : out.texts();
}

/// One tensor, or a list of as many as the step has outputs.
std::vector<Tensor> results_in(const Field& step, const char* key, size_t outputs) {
  if (!step.has(key)) return {};
  const Field field = step.at(key);
  const size_t count = field.is_list() ? field.size() : 1;
  if (count != outputs) field.refuse("must be a tensor for each of ", outputs, " outputs, got ", count, ".");
  if (!field.is_list()) return {tensor_in(field, true)};
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) tensors.push_back(tensor_in(field.item(i), true));
  return tensors;
}

double tolerance_in(const Field& step, const char* key) {
  const double tolerance = step.at(key).number();
  if (!(tolerance >= 0 && std::isfinite(tolerance)))
    step.at(key).refuse("must be a finite number of at least 0, got ", tolerance, ".");
  return tolerance;
}

Step step_in(const Field& bare, const std::string& file, const std::string& case_name, size_t index) {
  bare.must_have_only(
      {"op", "in", "args", "out", "expected", "atol", "rtol", "value", "text", "cell", "notes"});
  const std::string& name = bare.at("op").text();
  Step s;
  s.operation = find_operation(name);
  if (!s.operation) bare.at("op").refuse("must be an operation of the format, got ", in_quotes(name), ".");
  const Field step = bare.called(concat(file, ": ", place_of(case_name, index, name)));

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

Case case_in(const Field& bare, const std::string& file) {
  bare.must_have_only(
      {"name", "seed_file", "kind", "system", "notes", "manual_seed", "inputs", "weights", "steps"});
  Case c;
  c.name = bare.at("name").text();
  const Field field = bare.called(concat(file, ": case ", in_quotes(c.name)));
  if (field.has("manual_seed") && !field.at("manual_seed").is_null())
    c.manual_seed = field.at("manual_seed").seed();
  c.inputs = tensors_in(field, "inputs");
  c.weights = tensors_in(field, "weights");
  const Field steps = field.at("steps");
  for (size_t i = 0; i < steps.size(); ++i) c.steps.push_back(step_in(steps.item(i), file, c.name, i));
  return c;
}

Json json_of(std::string_view text, const std::string& file) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    // "[json.exception...] parse error at line 1, column 2: syntax error while ...": without its name.
    const std::string_view what = e.what();
    const size_t end = what.find("] ");
    fail("replay", file, " must be JSON, got a ",
         what.substr(end == std::string_view::npos ? 0 : end + 2).substr(0, 200), ".");
  }
}

}  // namespace

std::string in_quotes(std::string_view text, size_t most) {
  const std::string escaped = Json(std::string(text.substr(0, most)))
                                  .dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::ignore);
  return concat("'", std::string_view(escaped).substr(1, escaped.size() - 2),
                text.size() > most ? "...'" : "'");
}

std::string place_of(std::string_view case_name, size_t step, std::string_view op) {
  return concat("case ", in_quotes(case_name), ", steps[", step, "] (", op, ")");
}

std::vector<Case> parse_program(std::string_view text, const std::string& file) {
  const Json json = json_of(text, file);
  std::vector<Case> cases;
  const Field list(json, file);
  for (size_t i = 0; i < list.size(); ++i)
    cases.push_back(case_in(list.item(i).called(concat(file, ": cases[", i, "]")), file));
  return cases;
}

}  // namespace gradus::models::detail
