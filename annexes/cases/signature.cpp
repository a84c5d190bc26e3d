#include "gradus/annexes/cases/signature.hpp"

#include <algorithm>
#include <sstream>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::cases {
namespace {

Argument default_of(std::string_view type, const std::string& text) {
  if (type == "int" || type == "size" || type == "padding") return int64_t{std::stoll(text)};
  if (type == "float") return std::stod(text);
  if (type == "bool") return text == "True";
  if (type == "dtype") return DType::float32;
  return text;
}

bool is_subscript(const Call& c, const std::string& input) {
  const auto index = c.arguments.find("index");
  const auto* list =
      index == c.arguments.end() ? nullptr : std::get_if<std::vector<Subscript>>(&index->second);
  return list && std::any_of(list->begin(), list->end(), [&](const Subscript& s) {
           const auto* name = std::get_if<std::string>(&s);
           return name && *name == input;
         });
}

/// Throws unless each input has a parameter or is a subscript, and all required arguments are given.
void check_names(const Call& c) {
  const auto& parameters = c.op.parameters;
  for (const auto& [name, unused] : c.inputs) {
    const auto takes_it = [&, &input = name](const Parameter& p) { return p.takes_input(input); };
    if (std::none_of(parameters.begin(), parameters.end(), takes_it) && !is_subscript(c, name))
      throw Malformed(concat(c.op.name, " has no input '", name, "'."));
  }
  for (const Parameter& p : parameters) {
    const auto is_for_it = [&](const auto& input) { return p.takes_input(input.first); };
    if (!p.required || c.arguments.contains(p.name) ||
        std::any_of(c.inputs.begin(), c.inputs.end(), is_for_it))
      continue;
    throw BadCall(concat(c.op.name, " needs ",
                         p.type == "Scalar" ? concat("'", p.name, "', an input or a number.")
                         : p.is_list()      ? "inputs 'tensors.0', 'tensors.1', ..."
                         : p.takes_tensor() ? concat("an input '", p.name, "'.")
                                            : concat("an argument '", p.name, "'.")));
  }
}

}  // namespace

Operation::Operation(std::string_view text, std::function<Tensors(const Call&)> function, bool random)
    : signature(text), name(text.substr(0, text.find('('))), run(std::move(function)), draws(random) {
  std::istringstream words(signature.substr(name.size() + 1, signature.size() - name.size() - 2));
  for (std::string type, rest; words >> type >> rest;) {
    if (rest.ends_with(',')) rest.pop_back();
    const size_t equals = rest.find('=');
    const bool optional = type.ends_with('?') || equals != std::string::npos;
    if (type.ends_with('?')) type.pop_back();
    Parameter& p = parameters.emplace_back(Parameter{type, rest.substr(0, equals), !optional, {}});
    if (equals != std::string::npos) p.otherwise = default_of(type, rest.substr(equals + 1));
  }
}

const Parameter* Operation::find(std::string_view parameter) const {
  for (const Parameter& p : parameters)
    if (p.name == parameter) return &p;
  return nullptr;
}

bool Parameter::takes_input(std::string_view input) const {
  return is_list() ? input.starts_with(name + ".") : takes_tensor() && input == name;
}

Tensors run_operation(const Operation& op, const Inputs& inputs, const Arguments& arguments,
                      std::optional<Generator>& stream) {
  const Call call{op, inputs, arguments, stream};
  check_names(call);
  return op.run(call);
}

Tensor Call::tensor(std::string_view name) const {
  for (const auto& [input, value] : inputs)
    if (input == name) return value;
  return {};
}

Tensors Call::tensors(const Parameter& list) const {
  Tensors all;
  for (Tensor t = tensor(concat(list.name, ".0")); t.defined();
       t = tensor(concat(list.name, ".", all.size())))
    all.push_back(t);
  const Argument* const count = argument("count");
  if (all.size() != inputs.size() || (count && std::get<int64_t>(*count) != static_cast<int64_t>(all.size())))
    throw BadCall(concat(op.name, " needs 'count' inputs, called ", list.name, ".0, ", list.name,
                         ".1, ..., got ", inputs.size(), "."));
  return all;
}

Tensor Call::scalar(std::string_view name) const {
  const Tensor input = tensor(name);
  const Argument* const number = argument(name);
  return input.defined() || !number ? input : full({}, std::get<double>(*number), tensor("x").dtype());
}

std::vector<TensorIndex> Call::subscripts(std::string_view name) const {
  std::vector<TensorIndex> list;
  for (const Subscript& s : std::get<std::vector<Subscript>>(*argument(name))) {
    const auto* input = std::get_if<std::string>(&s);
    if (input && !tensor(*input).defined()) throw BadCall(concat(op.name, " needs an input '", *input, "'."));
    list.push_back(input ? TensorIndex(tensor(*input)) : std::get<TensorIndex>(s));
  }
  return list;
}

const Argument* Call::argument(std::string_view name) const {
  if (const auto given = arguments.find(name); given != arguments.end()) return &given->second;
  const Parameter* p = op.find(name);
  return p && p->otherwise ? &*p->otherwise : nullptr;
}

}  // namespace gradus::cases
