// Lines of JSON -> cases.
#include <algorithm>

#include "gradus/autograd/ops.hpp"
#include "gradus/files/json.hpp"
#include "gradus/tools/conform/case.hpp"

namespace gradus::tools::conformance {
namespace {

using files::Field;

std::vector<int64_t> integers(const Field& list) {
  std::vector<int64_t> result;
  for (const Field& item : list.items()) result.push_back(item.integer());
  return result;
}

Written tensor(const Field& field) {
  Written t;
  const Field shape = field.at("shape"), dtype = field.at("dtype");
  const std::vector<Field> data = field.at("data").items();
  size_t count = 1;
  for (const Field& item : shape.items()) {
    const int64_t size = t.shape.emplace_back(item.integer(0));
    if (__builtin_mul_overflow(count, static_cast<size_t>(size), &count))
      shape.refuse("must have fewer elements than 64 bits can count.");
  }
  if (data.size() != count)
    field.at("data").refuse("must have the ", count, " elements of its shape, got ", data.size(), ".");
  if (dtype.text() == "f64") {
    std::vector<double> values;
    for (const Field& item : data) values.push_back(item.extended_number());
    t.data = std::move(values);
  } else if (dtype.text() == "i64") {
    t.dtype = DType::int64;
    t.data = integers(field.at("data"));
  } else if (dtype.text() == "bool") {
    t.dtype = DType::boolean;
    std::vector<bool> values;
    for (const Field& item : data) values.push_back(item.flag());
    t.data = std::move(values);
  } else {
    dtype.refuse("must be f64, i64 or bool, got ", dtype.shown(), ".");
  }
  return t;
}

std::vector<Written> tensors(const Field& list) {
  std::vector<Written> result;
  for (const Field& item : list.items()) result.push_back(tensor(item));
  return result;
}

bool has_input(const Case& c, std::string_view name) {
  return std::any_of(c.inputs.begin(), c.inputs.end(), [&](const Written& i) { return i.name == name; });
}

std::map<std::string, Written> by_input(const Case& c, const Field& field) {
  std::map<std::string, Written> result;
  for (const auto& [name, value] : field.members()) {
    if (!has_input(c, name)) value.refuse("must not be there, for no input has that name.");
    result.emplace(name, tensor(value));
  }
  return result;
}

std::optional<int64_t> bound(const Field& field) {
  if (field.is_null()) return std::nullopt;
  return field.integer();
}

Subscript subscript(const Field& field) {
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

Argument argument(const Field& field) {
  if (field.is_null()) return std::monostate();
  if (field.is_flag()) return field.flag();
  if (field.is_integer()) return field.integer();
  if (field.is_number()) return field.number();
  if (field.is_text()) {
    const std::string text(field.text());
    return text == "nan" || text == "inf" || text == "-inf" ? Argument(field.extended_number()) : text;
  }
  if (!field.is_list()) field.refuse("must be a number, a string or a list, got ", field.shown(), ".");
  const std::vector<Field> items = field.items();
  if (items.empty() || !items.front().is_object()) return integers(field);
  std::vector<Subscript> subscripts;
  for (const Field& item : items) subscripts.push_back(subscript(item));
  return subscripts;
}

SecondOrder second_order(const Case& c, const Field& field) {
  SecondOrder result;
  result.v = by_input(c, field.at("v"));
  result.grads = by_input(c, field.at("grads"));
  for (const Field& item : field.at("cotangents").items())
    result.cotangents.push_back(item.is_null() ? std::nullopt : std::optional(tensor(item)));
  return result;
}

Case parse_case(const Field& root) {
  Case c;
  c.id = root.at("id").text();
  const Field op = root.at("op");
  c.op = op.text();
  if (!is_operation(c.op))
    op.refuse("must be one that there is, got ", op.shown(), ". Hint: tools/conform/README.md lists them.");
  for (const Field& field : root.at("inputs").items()) {
    const Field name = field.at("name");
    if (has_input(c, name.text())) name.refuse("must be of one input only, got ", name.shown(), " again.");
    Written& input = c.inputs.emplace_back(tensor(field));
    input.name = name.text();
    input.requires_grad = field.has("requires_grad") && field.at("requires_grad").flag();
    if (input.requires_grad && !is_floating(input.dtype))
      field.refuse("must be f64 to have a gradient, got ", gradus::name(input.dtype), ".");
  }
  for (const auto& [key, value] : root.at("args").members()) c.arguments.emplace(key, argument(value));
  if (root.has("error")) {
    c.error = root.at("error").text();
    return c;
  }
  c.outputs = tensors(root.at("outputs"));
  c.cotangents = tensors(root.at("cotangents"));
  c.grads = by_input(c, root.at("grads"));
  if (root.has("grad2") && !root.at("grad2").is_null()) c.grad2 = second_order(c, root.at("grad2"));
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
      const files::Json json(one, "conform", concat(file, ":", line));
      cases.push_back(parse_case(json.root()));
      cases.back().line = line;
    } catch (const Error& e) {
      throw Malformed(e.what());
    }
  }
  return cases;
}

}  // namespace gradus::tools::conformance
