#include "gradus/tools/operations.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "gradus/autograd/ops.hpp"

namespace gradus::tools {
namespace {

using Results = std::vector<Tensor>;

template <class... Parts>
[[noreturn]] void refuse_call(const Parts&... parts) {
  throw BadCall(concat(parts...));
}

/// The inputs and arguments of an op by name. What nobody asks for was not meant for the op:
/// check_all_used().
class Call {
 public:
  Call(std::string_view op, const Inputs& inputs, const ArgumentsByName& arguments)
      : op_(op), inputs_(inputs), arguments_(arguments) {}

  // -- inputs

  Tensor optional_tensor(std::string_view name) const {
    for (const auto& [input, value] : inputs_)
      if (input == name) {
        used_.insert(input);
        return value;
      }
    return {};
  }
  Tensor tensor(std::string_view name) const {
    Tensor t = optional_tensor(name);
    if (!t.defined()) refuse_call(op_, " needs an input '", name, "'.");
    return t;
  }
  Tensor x() const { return tensor("x"); }

  // -- arguments

  /// Whether it is given and not null.
  bool has(std::string_view name) const {
    const Argument* value = find(name);
    return value && !std::holds_alternative<std::monostate>(*value);
  }
  template <class T>
  T get(std::string_view name) const {
    const Argument* value = find(name);
    if (!value) refuse_call(op_, " needs an argument '", name, "'.");
    if constexpr (std::is_same_v<T, double>)
      if (const auto* whole = std::get_if<int64_t>(value)) return static_cast<double>(*whole);
    const T* wanted = std::get_if<T>(value);
    if (!wanted) refuse_call("the argument '", name, "' of ", op_, " is of the wrong kind.");
    return *wanted;
  }
  template <class T>
  T get(std::string_view name, T otherwise) const {
    return has(name) ? get<T>(name) : otherwise;
  }
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  int64_t dim() const { return integer("dim"); }
  int64_t dim_or_first() const { return get<int64_t>("dim", 0); }
  bool keepdim() const { return get("keepdim", false); }
  Shape shape(std::string_view name) const { return Shape(get<std::vector<int64_t>>(name)); }
  /// An integer or a list of them.
  bool is_list(std::string_view name) const {
    const Argument* value = find(name);
    return value && std::holds_alternative<std::vector<int64_t>>(*value);
  }
  autograd::Dims dims() const {
    if (!has("dim")) return {};
    return is_list("dim") ? get<autograd::Dims>("dim") : autograd::Dims{dim()};
  }
  /// A tensor, or a number as a scalar that goes with x; undefined for null.
  Tensor tensor_or_number(std::string_view name) const {
    if (Tensor t = optional_tensor(name); t.defined() || !has(name)) return t;
    return full({}, get<double>(name), x().dtype());
  }
  Tensor other() const {
    Tensor t = tensor_or_number("other");
    if (!t.defined()) refuse_call(op_, " needs 'other', an input or a number.");
    return t;
  }
  Reduction reduction() const {
    const auto name = get<std::string>("reduction", "mean");
    if (name == "none") return Reduction::none;
    if (name == "sum") return Reduction::sum;
    if (name != "mean") fail(op_, "reduction must be none, mean or sum, got '", name, "'.");
    return Reduction::mean;
  }
  std::vector<TensorIndex> subscripts() const {
    if (is_list("index") && get<std::vector<int64_t>>("index").empty()) return {};
    std::vector<TensorIndex> list;
    for (const Subscript& s : get<std::vector<Subscript>>("index")) {
      const auto* name = std::get_if<std::string>(&s);
      list.push_back(name ? TensorIndex(tensor(*name)) : std::get<TensorIndex>(s));
    }
    return list;
  }

  void check_all_used() const {
    for (const auto& [name, value] : inputs_)
      if (!used_.count(name)) refuse(op_, " has no input '", name, "'.");
    for (const auto& [name, value] : arguments_)
      if (!used_.count(name)) refuse(op_, " has no argument '", name, "'.");
  }

 private:
  const Argument* find(std::string_view name) const {
    const auto found = arguments_.find(name);
    if (found == arguments_.end()) return nullptr;
    used_.insert(found->first);
    return &found->second;
  }

  std::string_view op_;
  const Inputs& inputs_;
  const ArgumentsByName& arguments_;
  mutable std::set<std::string, std::less<>> used_;
};

using Operation = std::function<Results(const Call&)>;

Operation unary(Tensor (*f)(const Tensor&)) {
  return [f](const Call& c) { return Results{f(c.x())}; };
}

Operation binary(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Call& c) { return Results{f(c.x(), c.other())}; };
}

Operation binary_of_tensors(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Call& c) { return Results{f(c.x(), c.tensor("other"))}; };
}

// f(x, alpha * other)
Operation scaled(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Call& c) {
    const auto alpha = c.get("alpha", 1.0);
    return Results{f(c.x(), alpha == 1.0 ? c.other() : c.other() * alpha)};
  };
}

Operation along(Tensor (*f)(const Tensor&, int64_t dim)) {
  return [f](const Call& c) { return Results{f(c.x(), c.dim())}; };
}

Operation reduction(Tensor (*f)(const Tensor&, const autograd::Dims&, bool keepdim)) {
  return [f](const Call& c) { return Results{f(c.x(), c.dims(), c.keepdim())}; };
}

Operation spread(Tensor (*f)(const Tensor&, const autograd::Dims&, int64_t correction, bool keepdim)) {
  return [f](const Call& c) {
    const int64_t unbiased = c.get("unbiased", true) ? 1 : 0;
    return Results{f(c.x(), c.dims(), c.get("correction", unbiased), c.keepdim())};
  };
}

Operation extreme(Tensor (*of_all)(const Tensor&),
                  autograd::Extreme (*along_dim)(const Tensor&, int64_t, bool)) {
  return [=](const Call& c) {
    if (!c.has("dim")) return Results{of_all(c.x())};
    const autograd::Extreme e = along_dim(c.x(), c.dim(), c.keepdim());
    return Results{e.values, e.indices};
  };
}

Operation triangle(Tensor (*f)(const Tensor&, int64_t diagonal)) {
  return [f](const Call& c) { return Results{f(c.x(), c.get<int64_t>("diagonal", 0))}; };
}

Operation joined(Tensor (*f)(const std::vector<Tensor>&, int64_t dim)) {
  return [f](const Call& c) {
    std::vector<Tensor> tensors;
    for (int64_t i = 0, n = c.integer("count"); i < n; ++i)
      tensors.push_back(c.tensor(concat("tensors.", i)));
    return Results{f(tensors, c.dim_or_first())};
  };
}

Gelu form_of_gelu(const Call& c) {
  const auto form = c.get<std::string>("approximate", "none");
  if (form != "none" && form != "tanh") fail("gelu", "approximate must be none or tanh, got '", form, "'.");
  return form == "tanh" ? Gelu::tanh : Gelu::none;
}

Results gelu_linear(const Call& c) {
  return {gradus::gelu_linear(c.x(), c.tensor("weight"), c.optional_tensor("bias"), form_of_gelu(c))};
}

Results clamp(const Call& c) {
  const bool has_tensor = c.optional_tensor("min").defined() || c.optional_tensor("max").defined();
  const bool has_number = c.has("min") || c.has("max");
  if (has_tensor || !has_number)
    return {gradus::clamp(c.x(), c.tensor_or_number("min"), c.tensor_or_number("max"))};
  const double inf = std::numeric_limits<double>::infinity();
  return {gradus::clamp(c.x(), c.get("min", -inf), c.get("max", inf))};
}

Results masked_fill(const Call& c) {
  if (const Tensor value = c.optional_tensor("value"); value.defined())
    return {gradus::masked_fill(c.x(), c.tensor("mask"), value)};
  return {gradus::masked_fill(c.x(), c.tensor("mask"), c.get<double>("value"))};
}

Results sum(const Call& c) {
  const Tensor x = c.x();
  return {gradus::sum(x.dtype() == DType::boolean ? x.to(DType::int64) : x, c.dims(), c.keepdim())};
}

Results squeeze(const Call& c) { return {c.has("dim") ? c.x().squeeze(c.dim()) : c.x().squeeze()}; }

Results split(const Call& c) {
  if (c.is_list("size")) return c.x().split(c.get<std::vector<int64_t>>("size"), c.dim_or_first());
  return c.x().split(c.integer("size"), c.dim_or_first());
}

Results slice(const Call& c) {
  return {c.x().slice(c.dim_or_first(), c.get<int64_t>("start", 0),
                      c.get("end", std::numeric_limits<int64_t>::max()), c.get<int64_t>("step", 1))};
}

Results index_add(const Call& c) {
  const auto alpha = c.get("alpha", 1.0);
  const Tensor source = c.tensor("source");
  return {gradus::index_add(c.x(), c.dim(), c.tensor("index"), alpha == 1.0 ? source : source * alpha)};
}

Results embedding(const Call& c) {
  std::optional<int64_t> padding;
  if (c.has("padding_idx")) padding = c.integer("padding_idx");
  return {gradus::embedding(c.tensor("weight"), c.tensor("index"), padding)};
}

Results layer_norm(const Call& c) {
  return {gradus::layer_norm(c.x(), c.shape("normalized_shape"), c.optional_tensor("weight"),
                             c.optional_tensor("bias"), c.get("eps", 1e-5))};
}

Results rotary_embedding(const Call& c) {
  return {gradus::rotary_embedding(c.x(), c.get<int64_t>("offset", 0), c.get("base", 10000.0))};
}

Results cross_entropy(const Call& c) {
  return {gradus::cross_entropy(c.x(), c.tensor("target"),
                                {.weight = c.optional_tensor("weight"),
                                 .ignore_index = c.get<int64_t>("ignore_index", -100),
                                 .reduction = c.reduction(),
                                 .label_smoothing = c.get("label_smoothing", 0.0)})};
}

// PyTorch's causal mask lets query i see the keys up to i, ours those up to i + S - T: the same for T = S.
Tensor causal_mask(const Tensor& q, const Tensor& k, const Tensor& mask) {
  const Tensor seen = tril(ones({q.size(-2), k.size(-2)})).to(DType::boolean);
  if (!mask.defined()) return seen;
  if (mask.dtype() == DType::boolean) return where(seen, mask, zeros({}, DType::boolean));
  return gradus::masked_fill(mask, eq(seen, 0.0), -std::numeric_limits<double>::infinity());
}

Results scaled_dot_product_attention(const Call& c) {
  const Tensor q = c.tensor("q"), k = c.tensor("k"), v = c.tensor("v");
  AttentionOptions options;
  options.causal = c.get("is_causal", false);
  if (c.has("scale")) options.scale = c.get<double>("scale");
  options.mask = c.optional_tensor("mask");
  options.enable_gqa = c.get("enable_gqa", false);
  if (options.causal && q.dim() > 1 && k.dim() > 1 && q.size(-2) != k.size(-2)) {
    options.causal = false;
    options.mask = causal_mask(q, k, options.mask);
  }
  return {gradus::scaled_dot_product_attention(q, k, v, options)};
}

const std::map<std::string_view, Operation>& operations() {
  static const std::map<std::string_view, Operation> all{
      {"neg", unary(neg)},
      {"abs", unary(gradus::abs)},
      {"exp", unary(gradus::exp)},
      {"log", unary(gradus::log)},
      {"sqrt", unary(gradus::sqrt)},
      {"rsqrt", unary(rsqrt)},
      {"tanh", unary(gradus::tanh)},
      {"sigmoid", unary(sigmoid)},
      {"relu", unary(relu)},
      {"silu", unary(silu)},
      {"sin", unary(gradus::sin)},
      {"cos", unary(gradus::cos)},
      {"gelu", [](const Call& c) { return Results{gelu(c.x(), form_of_gelu(c))}; }},
      {"swiglu", [](const Call& c) { return Results{swiglu(c.tensor("gate"), c.tensor("up"))}; }},
      {"rotary_embedding", rotary_embedding},
      {"add", scaled(add)},
      {"sub", scaled(sub)},
      {"mul", binary(mul)},
      {"div", binary(gradus::div)},
      {"pow", binary(gradus::pow)},
      {"maximum", binary_of_tensors(maximum)},
      {"minimum", binary_of_tensors(minimum)},
      {"clamp", clamp},
      {"where", [](const Call& c) { return Results{where(c.tensor("condition"), c.x(), c.other())}; }},
      {"masked_fill", masked_fill},
      {"softmax", along(softmax)},
      {"log_softmax", along(log_softmax)},
      {"cumsum", along([](const Tensor& x, int64_t dim) { return cumsum(x, dim); })},
      {"logsumexp", reduction(logsumexp)},
      {"sum", sum},
      {"mean", reduction(mean)},
      {"amax", reduction(amax)},
      {"amin", reduction(amin)},
      {"var", spread(var)},
      {"std", spread(gradus::std)},
      {"max", extreme(gradus::max, gradus::max)},
      {"min", extreme(gradus::min, gradus::min)},
      {"matmul", binary_of_tensors(matmul)},
      {"mm", binary_of_tensors(mm)},
      {"bmm", binary_of_tensors(bmm)},
      {"linear",
       [](const Call& c) { return Results{linear(c.x(), c.tensor("weight"), c.optional_tensor("bias"))}; }},
      {"gelu_linear", gelu_linear},
      {"swiglu_linear",
       [](const Call& c) {
         return Results{
             swiglu_linear(c.tensor("gate"), c.tensor("up"), c.tensor("weight"), c.optional_tensor("bias"))};
       }},
      {"scaled_dot_product_attention", scaled_dot_product_attention},
      {"transpose",
       [](const Call& c) { return Results{c.x().transpose(c.integer("dim0"), c.integer("dim1"))}; }},
      {"permute", [](const Call& c) { return Results{c.x().permute(c.get<std::vector<int64_t>>("dims"))}; }},
      {"reshape", [](const Call& c) { return Results{c.x().reshape(c.shape("shape"))}; }},
      {"expand", [](const Call& c) { return Results{c.x().expand(c.shape("shape"))}; }},
      {"squeeze", squeeze},
      {"unsqueeze", [](const Call& c) { return Results{c.x().unsqueeze(c.dim())}; }},
      {"cat", joined(cat)},
      {"stack", joined(stack)},
      {"split", split},
      {"chunk", [](const Call& c) { return c.x().chunk(c.integer("chunks"), c.dim_or_first()); }},
      {"slice", slice},
      {"select", [](const Call& c) { return Results{c.x().select(c.dim(), c.integer("index"))}; }},
      {"__getitem__", [](const Call& c) { return Results{c.x().index(c.subscripts())}; }},
      {"index_select",
       [](const Call& c) { return Results{index_select(c.x(), c.dim(), c.tensor("index"))}; }},
      {"gather", [](const Call& c) { return Results{gather(c.x(), c.dim(), c.tensor("index"))}; }},
      {"scatter_add",
       [](const Call& c) {
         return Results{scatter_add(c.x(), c.dim(), c.tensor("index"), c.tensor("src"))};
       }},
      {"index_add", index_add},
      {"embedding", embedding},
      {"tril", triangle(tril)},
      {"triu", triangle(triu)},
      {"layer_norm", layer_norm},
      {"cross_entropy", cross_entropy},
      {"mse_loss", [](const Call& c) { return Results{mse_loss(c.x(), c.tensor("target"), c.reduction())}; }},
  };
  return all;
}

}  // namespace

bool is_operation(std::string_view name) { return operations().count(name) > 0; }

std::vector<Tensor> run_operation(std::string_view op, const Inputs& inputs,
                                  const ArgumentsByName& arguments) {
  const Call call(op, inputs, arguments);
  std::vector<Tensor> results = operations().at(op)(call);
  call.check_all_used();
  return results;
}

}  // namespace gradus::tools
