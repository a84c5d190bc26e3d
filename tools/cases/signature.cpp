// Signatures, and calls that are bound to them.
#include <algorithm>
#include <sstream>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/tools/cases/operations.hpp"

namespace gradus::cases {
namespace {

Argument default_of(std::string_view type, const std::string& text) {
  if (type == "int") return int64_t{std::stoll(text)};
  if (type == "float") return std::stod(text);
  if (type == "bool") return text == "True";
  if (type == "dtype") return DType::float32;
  return text;
}

/// Whether `input` is NAME.0, NAME.1, ...
bool is_element(std::string_view input, std::string_view name) {
  return input.starts_with(name) && input.substr(name.size()).starts_with('.');
}

template <class... Parts>
[[noreturn]] void refuse_call(const Parts&... parts) {
  throw BadCall(concat(parts...));
}

/// Throws unless the signature has these inputs and arguments, and they are all that it needs.
void check_names(const Operation& op, const Inputs& inputs, const Arguments& arguments) {
  std::vector<std::string_view> subscripts;
  if (const auto index = arguments.find("index"); index != arguments.end())
    if (const auto* list = std::get_if<std::vector<Subscript>>(&index->second))
      for (const Subscript& s : *list)
        if (const auto* name = std::get_if<std::string>(&s)) subscripts.push_back(*name);
  for (const auto& [name, unused] : inputs) {
    const bool known =
        std::any_of(op.parameters.begin(), op.parameters.end(), [&, &name = name](const Parameter& p) {
          return p.is_list() ? is_element(name, p.name) : p.takes_tensor() && p.name == name;
        });
    if (!known && std::find(subscripts.begin(), subscripts.end(), name) == subscripts.end())
      throw Malformed(concat(op.name, " has no input '", name, "'."));
  }
  for (const auto& [name, unused] : arguments)
    if (const Parameter* p = op.find(name); !p || !p->takes_argument())
      throw Malformed(concat(op.name, " has no argument '", name, "'."));
  for (const Parameter& p : op.parameters) {
    const bool given =
        arguments.contains(p.name) || std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
          return p.is_list() ? is_element(input.first, p.name) : input.first == p.name;
        });
    if (p.required && !given)
      refuse_call(op.name, " needs ",
                  p.type == "Scalar" ? concat("'", p.name, "', an input or a number.")
                  : p.is_list()      ? "inputs 'tensors.0', 'tensors.1', ..."
                  : p.takes_tensor() ? concat("an input '", p.name, "'.")
                                     : concat("an argument '", p.name, "'."));
  }
}

}  // namespace

Operation::Operation(std::string_view text, std::function<Tensors(const Call&)> function, bool is_random)
    : signature(text), name(text.substr(0, text.find('('))), run(std::move(function)), draws(is_random) {
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

Tensors run_operation(const Operation& op, const Inputs& inputs, const Arguments& arguments,
                      std::optional<Generator>& stream) {
  check_names(op, inputs, arguments);
  return op.run(Call(op, inputs, arguments, stream));
}

void check_elements(double count) {
  if (count > static_cast<double>(kMaxElements))
    fail("cases", "a result must have at most ", kMaxElements, " elements, got ", count, ".");
}

void check_elements(const Shape& shape) {
  double count = 1;
  for (const int64_t size : shape) count *= static_cast<double>(size);
  check_elements(count);
}

Tensor Call::tensor(std::string_view name) const {
  for (const auto& [input, value] : inputs_)
    if (input == name) return value;
  return {};
}

Tensors Call::tensors() const {
  Tensors all;
  for (Tensor t = tensor("tensors.0"); t.defined(); t = tensor(concat("tensors.", all.size())))
    all.push_back(t);
  if (all.size() != inputs_.size() || (has("count") && integer("count") != static_cast<int64_t>(all.size())))
    refuse_call(op_.name, " needs 'count' inputs, called tensors.0, tensors.1, ..., got ", inputs_.size(),
                ".");
  return all;
}

Tensor Call::scalar(std::string_view name) const {
  if (Tensor t = tensor(name); t.defined() || !has(name)) return t;
  return full({}, number(name), x().dtype());
}

std::vector<TensorIndex> Call::subscripts() const {
  std::vector<TensorIndex> list;
  for (const Subscript& s : get<std::vector<Subscript>>("index")) {
    const auto* name = std::get_if<std::string>(&s);
    if (name && !tensor(*name).defined()) refuse_call(op_.name, " needs an input '", *name, "'.");
    list.push_back(name ? TensorIndex(tensor(*name)) : std::get<TensorIndex>(s));
  }
  return list;
}

int64_t Call::count(std::string_view name, int64_t least) const {
  const int64_t n = integer(name);
  if (n < least) fail("cases", name, " must be at least ", least, ", got ", n, ".");
  check_elements(static_cast<double>(n));
  return n;
}

Generator& Call::generator() const {
  if (!stream)
    fail("cases",
         "draws random numbers, which needs a seed before, got none. Hint: give the case a manual_seed.");
  return *stream;
}

const Argument* Call::find(std::string_view name) const {
  if (const auto given = arguments_.find(name); given != arguments_.end()) return &given->second;
  const Parameter* p = op_.find(name);
  return p && p->otherwise ? &*p->otherwise : nullptr;
}

const Operation* find_operation(std::string_view name) {
  const auto& all = operations();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Operation& op) { return op.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace gradus::cases
