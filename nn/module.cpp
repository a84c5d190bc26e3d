#include "gradus/nn/module.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::nn {
namespace {

class Collector : public Visitor {
 public:
  // visit() is not const, because other visitors change members; this one only reads.
  explicit Collector(const Module& module) { start(const_cast<Module&>(module)); }

  NamedParameters parameters;
  std::vector<std::pair<std::string, Tensor>> buffers;

 private:
  void on_parameter(const std::string& name, Tensor& parameter, Role role) override {
    if (is_new(name, parameter)) parameters.emplace_back(name, parameter, role);
  }
  void on_buffer(const std::string& name, Tensor& buffer) override {
    if (is_new(name, buffer)) buffers.emplace_back(name, buffer);
  }
  bool is_new(const std::string& name, const Tensor& tensor) {
    if (!names_.insert(name).second) fail("module", "names must be unique, got ", name, " twice.");
    return seen_.insert(tensor.impl()).second;
  }

  std::set<std::string> names_;
  std::set<const autograd::TensorImpl*> seen_;
};

/// A remark for summary() on a parameter that is not trained.
std::string remark(const Tensor& parameter) {
  if (parameter.requires_grad()) return "";
  return parameter.impl()->frozen ? "  frozen" : "  requires no gradient";
}

/// The words, separated by commas; for a long list, the first ones and the number of the others.
std::string join(const std::vector<std::string>& words) {
  constexpr size_t kEnough = 4000, kLongest = 200;  // bytes
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (text.size() >= kEnough) return concat(text, " and ", words.size() - i, " more");
    text += concat(i == 0 ? "" : ", ", words[i].substr(0, kLongest), words[i].size() > kLongest ? "..." : "");
  }
  return text;
}

std::map<std::string, Shape> shapes_of(const StateDict& state) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, values] : state) shapes.emplace(name, values.shape());
  return shapes;
}

}  // namespace

// On a mismatch, the last * takes one more character.
bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Visitor& Visitor::operator()(std::string_view name, Tensor& parameter, std::optional<Role> role) {
  if (!parameter.defined()) return *this;
  const Role own = role.value_or(Role::of(parameter));
  on_parameter(prefix_ + std::string(name), parameter, own.kind == Role::matrix ? role_.value_or(own) : own);
  return *this;
}

Visitor& Visitor::buffer(std::string_view name, Tensor& tensor) {
  if (tensor.defined()) on_buffer(prefix_ + std::string(name), tensor);
  return *this;
}

Visitor& Visitor::operator()(std::string_view name, Module& child, std::optional<Role> role) {
  const std::string outer = prefix_;
  const std::optional<Role> outer_role = role_;
  if (!role_) role_ = role;
  prefix_ += name;
  on_module(prefix_, child);
  prefix_ += '.';
  child.visit(*this);
  prefix_ = outer;
  role_ = outer_role;
  return *this;
}

void Visitor::on_parameter(const std::string&, Tensor&, Role) {}
void Visitor::on_buffer(const std::string&, Tensor&) {}
void Visitor::on_module(const std::string&, Module&) {}

void Visitor::start(Module& root) {
  on_module("", root);
  root.visit(*this);
}

NamedParameters Module::named_parameters() const { return std::move(Collector(*this).parameters); }

std::vector<std::pair<std::string, Tensor>> Module::named_buffers() const {
  return std::move(Collector(*this).buffers);
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> tensors;
  for (const auto& [name, parameter] : named_parameters()) tensors.push_back(parameter);
  return tensors;
}

int64_t Module::num_parameters() const {
  int64_t n = 0;
  for (const auto& [name, parameter] : named_parameters()) n += parameter.numel();
  return n;
}

void Module::zero_grad() {
  for (Tensor& parameter : parameters()) parameter.zero_grad();
}

void Module::train(bool on) {
  detail::for_each_module(*this, [on](const auto&, Module& m) { m.training_ = on; });
}

void Module::add_watch(const std::shared_ptr<detail::Watch>& watch) {
  detail::for_each_module(*this, [&](const auto& path, Module& m) { m.watches_.add(path, watch); });
}

EvaluationMode::EvaluationMode(Module& root) {
  detail::for_each_module(root,
                          [this](const auto&, Module& m) { were_training_.emplace_back(&m, m.training_); });
  root.eval();
}

EvaluationMode::~EvaluationMode() {
  for (const auto& [module, was_training] : were_training_) module->training_ = was_training;
}

void Module::to(DType dtype) {
  if (!is_floating(dtype) && !is_storage(dtype))
    fail("module", "parameters must be float32, float64, ",
         listed(std::span(kDTypeNames).last(kTileTypes + 1)), ", got ", name(dtype), ".");
  detail::replace_tensors(*this, [dtype](const Tensor& old, bool is_parameter) {
    const bool keeps_numbers = is_storage(dtype) && (!is_parameter || old.dim() != 2);
    const DType to = keeps_numbers ? DType::float32 : dtype;
    if (old.dtype() == to || (!is_parameter && !is_floating(old.dtype()))) return old;
    old.impl()->replaced = true;
    return detail::in_place_of(old, old.detach().to(to));
  });
}

void detail::own_tensors(Module& copy) {
  replace_tensors(copy, [](const Tensor& old, bool) {
    if (is_storage(old.dtype())) return old;  // is only read
    Tensor made = raw::clone(old.detach());
    if (old.grad().defined()) made.requires_grad_().set_grad(raw::clone(old.grad()));
    return in_place_of(old, std::move(made));
  });
}

void detail::replace_tensors(Module& module, const std::function<Tensor(const Tensor&, bool)>& made) {
  struct Replace : Visitor {
    explicit Replace(const std::function<Tensor(const Tensor&, bool)>& call) : f(call) {}
    void on_parameter(const std::string&, Tensor& parameter, Role) override { replace(parameter, true); }
    void on_buffer(const std::string&, Tensor& buffer) override { replace(buffer, false); }
    void replace(Tensor& place, bool is_parameter) {
      const Tensor old = place;
      const auto [found, is_new] = replaced.try_emplace(old.impl());
      if (is_new) found->second = {old, f(old, is_parameter)};
      place = found->second.second;
    }
    const std::function<Tensor(const Tensor&, bool)>& f;
    std::map<const autograd::TensorImpl*, std::pair<Tensor, Tensor>> replaced;
  };
  Replace(made).start(module);
}

Tensor detail::in_place_of(const Tensor& old, Tensor made) {
  if (old.requires_grad() && is_floating(made.dtype())) made.requires_grad_();
  made.impl()->frozen = old.impl()->frozen;
  return made;
}

void detail::for_each_module(Module& root, const std::function<void(const std::string&, Module&)>& f) {
  struct Walk : Visitor {
    explicit Walk(const std::function<void(const std::string&, Module&)>& call) : f(call) {}
    void on_module(const std::string& path, Module& module) override { f(path, module); }
    const std::function<void(const std::string&, Module&)>& f;
  };
  Walk(f).start(root);
}

StateDict Module::state_dict() const {
  StateDict state;
  const Collector found(*this);
  for (const auto& [name, parameter] : found.parameters) state.emplace(name, parameter.detach());
  for (const auto& [name, buffer] : found.buffers) state.emplace(name, buffer.detach());
  return state;
}

NamedShapes Module::state_shapes() const {
  NamedShapes shapes;
  const Collector found(*this);
  for (const auto& [name, parameter] : found.parameters) shapes.emplace_back(name, parameter.shape());
  for (const auto& [name, buffer] : found.buffers) shapes.emplace_back(name, buffer.shape());
  return shapes;
}

LoadReport compare_shapes(const NamedShapes& wanted, const std::map<std::string, Shape>& given, bool strict,
                          std::string_view op) {
  std::set<std::string_view> known;
  LoadReport report;
  std::vector<std::string> misshaped;
  for (const auto& [name, shape] : wanted) {
    known.insert(name);
    const auto found = given.find(name);
    if (found == given.end())
      report.missing.push_back(name);
    else if (found->second != shape)
      misshaped.push_back(concat(name, " ", found->second, " for ", shape));
  }
  for (const auto& [name, shape] : given)
    if (!known.contains(name)) report.unexpected.push_back(name);

  std::string faults;
  const auto add = [&](std::string_view kind, const std::vector<std::string>& names) {
    if (!names.empty()) faults += concat(faults.empty() ? "" : "; ", kind, ": ", join(names));
  };
  if (strict) {
    add("missing", report.missing);
    add("unexpected", report.unexpected);
  }
  add("misshaped", misshaped);
  if (!faults.empty())
    fail(op, "names and shapes must be those of the module, got ", faults,
         ". Hint: the values were saved from a model of another shape.");
  return report;
}

void check_state(std::string_view op, const StateDict& own, const StateDict& given) {
  const std::map<std::string, Shape> wanted = shapes_of(own);
  compare_shapes({wanted.begin(), wanted.end()}, shapes_of(given), /*strict=*/true, op);
  for (const auto& [name, values] : own)
    if (const DType dtype = given.at(name).dtype(); dtype != values.dtype())
      fail(op, name, " must be ", gradus::name(values.dtype()), ", got ", gradus::name(dtype), ".");
}

LoadReport Module::load_state_dict(const StateDict& state, bool strict) {
  LoadReport report = compare_shapes(state_shapes(), shapes_of(state), strict);
  StateDict own = state_dict();
  for (auto& [name, tensor] : own)
    if (const auto values = state.find(name); values != state.end()) tensor.copy_(values->second.detach());
  return report;
}

std::string Module::summary() const {
  std::vector<std::array<std::string, 4>> rows;  // name, shape, number of elements, remark
  for (const auto& [name, parameter] : named_parameters())
    rows.push_back({name, concat(parameter.shape()), std::to_string(parameter.numel()), remark(parameter)});
  for (const auto& [name, buffer] : named_buffers())
    rows.push_back({name, concat(buffer.shape()), std::to_string(buffer.numel()), "  buffer"});
  rows.push_back({"total", "", std::to_string(num_parameters()), ""});

  std::array<size_t, 3> widths{};
  for (const auto& row : rows)
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (auto& [name, shape, numel, remark] : rows) {
    name.resize(widths[0], ' ');
    shape.resize(widths[1], ' ');
    numel.insert(0, widths[2] - numel.size(), ' ');
    text += concat(name, "  ", shape, "  ", numel, remark, "\n");
  }
  return text;
}

}  // namespace gradus::nn
