// Lines of JSON -> cases.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "gradus/autograd/ops.hpp"
#include "gradus/models/conform/case.hpp"

namespace gradus::models::conformance {
namespace {

using Json = nlohmann::json;

// The beginning of a value, on one line.
std::string shown(const Json& json) {
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

const Json& member(const Json& object, const char* key) {
  if (!object.is_object()) refuse("there must be an object with '", key, "', got ", shown(object), ".");
  const auto found = object.find(key);
  if (found == object.end()) refuse("there must be a field '", key, "' in ", shown(object), ".");
  return *found;
}

const Json& list(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_array()) refuse("'", key, "' must be a list, got ", shown(value), ".");
  return value;
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) refuse("'", key, "' must be a string, got ", shown(value), ".");
  return value.get<std::string>();
}

int64_t integer(const Json& value, const char* what) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  if (!fits) refuse(what, " must be a whole number of 64 bits, got ", shown(value), ".");
  return value.get<int64_t>();
}

std::optional<double> special_number(const Json& value) {
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

double number(const Json& value, const char* what) {
  if (const auto special = special_number(value)) return *special;
  if (!value.is_number())
    refuse(what, " must be a number, \"nan\", \"inf\" or \"-inf\", got ", shown(value), ".");
  return value.get<double>();
}

bool flag(const Json& value, const char* what) {
  if (!value.is_boolean()) refuse(what, " must be true or false, got ", shown(value), ".");
  return value.get<bool>();
}

std::vector<int64_t> integers(const Json& values, const char* what) {
  std::vector<int64_t> result;
  for (const Json& value : values) result.push_back(integer(value, what));
  return result;
}

Written tensor(const Json& json) {
  Written t;
  t.shape = integers(list(json, "shape"), "a size");
  size_t count = 1;
  for (const int64_t size : t.shape) {
    if (size < 0) refuse("a size must be at least 0, got ", size, ".");
    if (__builtin_mul_overflow(count, static_cast<size_t>(size), &count))
      refuse("there must be fewer elements than a shape ", shown(json["shape"]), " has.");
  }
  const Json& data = list(json, "data");
  if (data.size() != count)
    refuse("'data' must have ", count, " elements for shape ", shown(json["shape"]), ", got ", data.size(),
           ".");
  const std::string dtype = text(json, "dtype");
  if (dtype == "f64") {
    std::vector<double> values;
    for (const Json& value : data) values.push_back(number(value, "an f64 element"));
    t.data = std::move(values);
  } else if (dtype == "i64") {
    t.dtype = DType::int64;
    t.data = integers(data, "an i64 element");
  } else if (dtype == "bool") {
    t.dtype = DType::boolean;
    std::vector<bool> values;
    for (const Json& value : data) values.push_back(flag(value, "a bool element"));
    t.data = std::move(values);
  } else {
    refuse("'dtype' must be f64, i64 or bool, got '", dtype, "'.");
  }
  return t;
}

std::vector<Written> tensors(const Json& values) {
  std::vector<Written> result;
  for (const Json& value : values) result.push_back(tensor(value));
  return result;
}

bool has_input(const Case& c, std::string_view name) {
  return std::any_of(c.inputs.begin(), c.inputs.end(), [&](const Written& i) { return i.name == name; });
}

std::map<std::string, Written> by_input(const Case& c, const Json& object, const char* key) {
  const Json& values = member(object, key);
  if (!values.is_object()) refuse("'", key, "' must be tensors by name, got ", shown(values), ".");
  std::map<std::string, Written> result;
  for (const auto& [name, value] : values.items()) {
    if (!has_input(c, name)) refuse("'", key, "' must have names of inputs, got '", name, "'.");
    result.emplace(name, tensor(value));
  }
  return result;
}

std::optional<int64_t> bound(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return integer(value, "a bound of a slice");
}

Subscript subscript(const Json& json) {
  if (json.is_object() && json.size() == 1) {
    if (json.contains("int")) return Index(integer(json["int"], "a subscript"));
    if (json.contains("newaxis")) return Index(None);
    if (json.contains("ellipsis")) return Index(Ellipsis);
    if (json.contains("tensor")) return text(json, "tensor");
    if (json.contains("slice") && list(json, "slice").size() == 3) {
      const Json& s = json["slice"];
      return Index(Slice(bound(s[0]), bound(s[1]), bound(s[2]).value_or(1)));
    }
  }
  refuse("a subscript must be {\"int\"}, {\"slice\": [start, stop, step]}, {\"newaxis\"}, {\"ellipsis\"} or ",
         "{\"tensor\"}, got ", shown(json), ".");
}

Argument argument(const Json& json) {
  if (json.is_null()) return std::monostate();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return integer(json, "an argument");
  if (json.is_number()) return json.get<double>();
  if (const auto special = special_number(json)) return *special;
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_array()) refuse("an argument must be a number, a string or a list, got ", shown(json), ".");
  if (json.empty() || !json[0].is_object()) return integers(json, "an element of a list");
  std::vector<Subscript> subscripts;
  for (const Json& value : json) subscripts.push_back(subscript(value));
  return subscripts;
}

SecondOrder second_order(const Case& c, const Json& json) {
  SecondOrder result;
  result.v = by_input(c, json, "v");
  result.grads = by_input(c, json, "grads");
  for (const Json& value : list(json, "cotangents"))
    result.cotangents.push_back(value.is_null() ? std::nullopt : std::optional(tensor(value)));
  return result;
}

Case parse_case(const Json& json) {
  Case c;
  c.id = text(json, "id");
  c.op = text(json, "op");
  if (!is_operation(c.op))
    refuse("'op' must be one that there is, got '", c.op, "'. Hint: models/conform/README.md lists them.");
  for (const Json& value : list(json, "inputs")) {
    const std::string name = text(value, "name");
    if (has_input(c, name)) refuse("inputs must have names of their own, got '", name, "' twice.");
    Written& input = c.inputs.emplace_back(tensor(value));
    input.name = name;
    input.requires_grad = value.contains("requires_grad") && flag(value["requires_grad"], "'requires_grad'");
    if (input.requires_grad && !is_floating(input.dtype))
      refuse("input '", name, "' must be f64 to have a gradient, got ", gradus::name(input.dtype), ".");
  }
  if (!member(json, "args").is_object()) refuse("'args' must be an object, got ", shown(json["args"]), ".");
  for (const auto& [key, value] : json["args"].items()) c.arguments.emplace(key, argument(value));
  if (json.contains("error")) {
    c.error = text(json, "error");
    return c;
  }
  c.outputs = tensors(list(json, "outputs"));
  c.cotangents = tensors(list(json, "cotangents"));
  c.grads = by_input(c, json, "grads");
  if (json.contains("grad2") && !json["grad2"].is_null()) c.grad2 = second_order(c, json["grad2"]);
  return c;
}

}  // namespace

Tensor Written::make() const {
  return std::visit([&](const auto& values) { return gradus::tensor(values, Shape(shape)); }, data);
}

std::vector<Case> parse(std::string_view text, const std::string& file) {
  std::vector<Case> cases;
  int64_t line = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      cases.push_back(parse_case(Json::parse(one)));
      cases.back().line = line;
    } catch (const Json::parse_error& e) {
      refuse("[conform] ", file, ":", line, ": there must be JSON, got a parse error at column ", e.byte,
             ".");
    } catch (const Json::exception&) {
      refuse("[conform] ", file, ":", line, ": there must be JSON whose numbers a float64 can hold.");
    } catch (const Malformed& e) {
      refuse("[conform] ", file, ":", line, ": ", e.what());
    }
  }
  return cases;
}

}  // namespace gradus::models::conformance
