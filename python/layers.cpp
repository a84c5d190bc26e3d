#include "gradus/python/layers.hpp"

#include "gradus/nn/attention.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/python/operation.hpp"
#ifdef GRADUS_HAS_LAYERS  // an annex
#include "gradus/annexes/layers/convolution.hpp"
#include "gradus/annexes/layers/self_attention.hpp"
#endif

namespace gradus::python {

Assembly::Assembly(const py::list& members, bool all_are_parameters) {
  for (const py::handle member : members) {
    const auto pair = member.cast<std::pair<std::string, py::object>>();
    PyObject* const o = pair.second.ptr();
    const bool is_layer = !is_tensor(o);
    members_.push_back(
        {pair.first, is_layer ? pair.second.cast<std::shared_ptr<Layer>>() : nullptr,
         is_layer ? Tensor() : tensor_of(o),
         !is_layer && !all_are_parameters && !PyType_IsSubtype(Py_TYPE(o), registered().parameter)});
  }
}

void Assembly::visit(nn::Visitor& v) {
  for (Member& m : members_) {
    if (m.layer)
      v(m.name, m.layer->module());
    else if (m.is_buffer)
      v.buffer(m.name, m.tensor);
    else
      v(m.name, m.tensor);
  }
}

namespace {

using N = int64_t;
using D = double;
using B = bool;
using G = const Random&;
using Made = std::shared_ptr<Layer>;

template <class M>
Made made(M module, bool draws = false) {
  return std::make_shared<Layer>(Layer{nn::AnyModule(std::move(module)), draws});
}

Tensor call(const Layer& layer, const Tensor& x, G g) {
  const bool draws = layer.draws && layer.module().training();
  Unlocked unlocked(draws || is_large(x) || x.requires_grad());
  if (!draws) return layer.any(x);
  unlocked.lock(g);
  return layer.any(x, g.get());
}

// Puts another tensor in the place of a parameter.
struct Replace : nn::Visitor {
  Replace(const std::string& name, const Tensor& tensor) : name_(name), tensor_(tensor) {}
  void on_parameter(const std::string& name, Tensor& parameter, nn::Role) override {
    replace(name, parameter);
  }
  void on_buffer(const std::string& name, Tensor& buffer) override { replace(name, buffer); }
  bool found = false;

 private:
  void replace(const std::string& name, Tensor& old) {
    if (name != name_) return;
    if (tensor_.shape() != old.shape())
      fail("module", name, " must be of shape ", old.shape(), ", got ", tensor_.shape(), ".");
    old = tensor_;
    found = true;
  }
  std::string name_;
  Tensor tensor_;
};

void set_tensor(const Layer& layer, const std::string& name, const Tensor& tensor) {
  Replace replace(name, tensor);
  replace.start(layer.module());
  if (!replace.found) fail("module", "the layer must have a parameter '", name, "', got one without it.");
}

py::list named_parameters(const nn::Module& module) {
  py::list all;
  for (const auto& [name, parameter] : module.named_parameters())
    all.append(py::make_tuple(name, py::reinterpret_steal<py::object>(wrap_parameter(parameter))));
  return all;
}

// In the order of a visit: parameters, then buffers.
py::dict state_dict(const nn::Module& module) {
  const nn::StateDict state = module.state_dict();
  py::dict ordered;
  for (const auto& [name, shape] : module.state_shapes()) ordered[py::str(name)] = state.at(name);
  return ordered;
}

}  // namespace

// A row is a line.
// clang-format off

void add_layers(py::module_& m) {
  using nn::Module;
  py::class_<Module, std::shared_ptr<Module>>(m, "Module")
      .def("named_parameters", [](const Module& self) { return named_parameters(self); })
      .def("named_buffers", &Module::named_buffers)
      .def("state_dict", [](const Module& self) { return state_dict(self); })
      .def("load_state_dict", [](Module& self, const nn::StateDict& state, bool strict) { const nn::LoadReport report = self.load_state_dict(state, strict); return std::pair(report.missing, report.unexpected); })
      .def("summary", &Module::summary);
  py::class_<Assembly, Module, std::shared_ptr<Assembly>>(m, "Assembly").def(py::init<const py::list&, bool>());
  py::class_<Layer, std::shared_ptr<Layer>>(m, "Layer")
      .def("module", [](const Made& self) { return std::shared_ptr<Module>(self, &self->module()); })
      .def("deep_copy", [](const Layer& self) { const auto copy = std::make_shared<Layer>(self); nn::detail::own_tensors(copy->module()); return copy; })
      .def("set", &set_tensor)
      .def("train", [](const Layer& self, bool on) { self.module().train(on); })
      .def("to", [](const Layer& self, DType dtype) { self.module().to(dtype); });
  Table t(m);
  t.function("call_layer(layer, input, generator=None)", [](const Made& layer, py::handle x, G g) { return py::cast(call(*layer, x.cast<Tensor>(), g)); });
  py::module_ layers = m.def_submodule("layers");
  Table l(layers);
  l.function("Linear(in_features, out_features, bias=True, generator=None)", [](N in, N out, B bias, G g) { return made(nn::Linear(in, out, g, {.bias = bias})); });
  l.function("Embedding(num_embeddings, embedding_dim, generator=None)", [](N rows, N dim, G g) { return made(nn::Embedding(rows, dim, g)); });
  l.function("Dropout(p=0.5)", [](D p) { return made(nn::Dropout(p), p > 0); });
  l.function("LayerNorm(normalized_shape, eps=1e-05, bias=True)", [](N features, D eps, B bias) { return made(nn::LayerNorm(features, {.eps = eps, .bias = bias})); });
  l.function("RMSNorm(normalized_shape, eps=None)", [](N features, const std::optional<double>& eps) { return made(nn::RMSNorm(features, {.eps = eps})); });
  l.function("MLP(n_embd, hidden, bias=True, dropout=0.0, generator=None)", [](N n, N hidden, B bias, D p, G g) { return made(nn::MLP(n, hidden, g, {.bias = bias, .dropout = p}), p > 0); });
  l.function("SwiGLU(n_embd, hidden, dropout=0.0, generator=None)", [](N n, N hidden, D p, G g) { return made(nn::SwiGLU(n, hidden, g, {.dropout = p}), p > 0); });
  l.function("MinGRU(input_size, hidden_size, generator=None)", [](N in, N hidden, G g) { return made(nn::MinGRU(in, hidden, g)); });
  l.function("MultiHeadAttention(n_embd, n_head, causal=True, bias=True, projection=True, projection_bias=True, dropout=0.0, generator=None)", [](N n, N heads, B causal, B bias, B projection, B projection_bias, D p, G g) { return made(nn::MultiHeadAttention(n, heads, g, {.causal = causal, .bias = bias, .projection = projection, .projection_bias = projection_bias, .dropout = p}), p > 0); });
  l.function("GroupedQueryAttention(n_embd, n_head, n_kv_head, causal=True, rope_theta=10000.0, window=0, qk_norm=False, dropout=0.0, generator=None)", [](N n, N heads, N kv, B causal, D theta, N window, B norm, D p, G g) { return made(nn::GroupedQueryAttention(n, heads, kv, g, {.causal = causal, .rope_theta = theta, .window = window, .qk_norm = norm, .dropout = p}), p > 0); });
#ifdef GRADUS_HAS_LAYERS
  l.function("SelfAttention(d_in, d_out, num_heads=1, causal=True, dropout=0.0, bias=False, projection=False, generator=None)", [](N in, N out, N heads, B causal, D p, B bias, B projection, G g) { return made(nn::SelfAttention(in, out, g, {.mask_on = causal ? nn::MaskOn::scores : nn::MaskOn::nothing, .dropout = p, .num_heads = heads, .projection = projection, .bias = bias}), p > 0); });
#define CONV(dims) [](N in, N out, const Ints& size, const Ints& stride, const Ints& padding, const Ints& dilation, N groups, B bias, G g) { return made(nn::Convolution<dims>(in, out, autograd::PerDim(size.values), g, {.stride = autograd::PerDim(stride.values), .padding = autograd::PerDim(padding.values), .dilation = autograd::PerDim(dilation.values), .groups = groups, .bias = bias})); }
  l.function("Conv1d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, generator=None)", CONV(1));
  l.function("Conv2d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, generator=None)", CONV(2));
  l.function("MaxPool2d(kernel_size, stride=None, padding=0)", [](const Ints& size, const Ints& stride, const Ints& padding) { return made(nn::MaxPool2d(autograd::PerDim(size.values), {.stride = autograd::PerDim(stride.values), .padding = autograd::PerDim(padding.values)})); });
  l.function("AvgPool2d(kernel_size, stride=None, padding=0)", [](const Ints& size, const Ints& stride, const Ints& padding) { return made(nn::AvgPool2d(autograd::PerDim(size.values), {.stride = autograd::PerDim(stride.values), .padding = autograd::PerDim(padding.values)})); });
  l.function("BatchNorm1d(num_features, eps=1e-05, momentum=0.1, affine=True)", [](N n, D eps, D momentum, B affine) { return made(nn::BatchNorm1d(n, {.eps = eps, .momentum = momentum, .affine = affine})); });
  l.function("BatchNorm2d(num_features, eps=1e-05, momentum=0.1, affine=True)", [](N n, D eps, D momentum, B affine) { return made(nn::BatchNorm2d(n, {.eps = eps, .momentum = momentum, .affine = affine})); });
  l.function("GroupNorm(num_groups, num_channels, eps=1e-05, affine=True)", [](N groups, N channels, D eps, B affine) { return made(nn::GroupNorm(groups, channels, {.eps = eps, .affine = affine})); });
#endif
  // -- initial values
  py::module_ init = m.def_submodule("init");
  Table i(init);
  i.function("xavier_uniform_(tensor, gain=1.0, generator=None)", [](Tensor x, D gain, G g) { nn::xavier_uniform_(x, g, gain); return x; });
  i.function("xavier_normal_(tensor, gain=1.0, generator=None)", [](Tensor x, D gain, G g) { nn::xavier_normal_(x, g, gain); return x; });
  i.function("kaiming_uniform_(tensor, a=0.0, generator=None)", [](Tensor x, D a, G g) { nn::kaiming_uniform_(x, g, a); return x; });
  i.function("kaiming_normal_(tensor, a=0.0, generator=None)", [](Tensor x, D a, G g) { nn::kaiming_normal_(x, g, a); return x; });
  i.function("uniform_(tensor, a=0.0, b=1.0, generator=None)", [](Tensor x, D a, D b, G g) { nn::uniform_(x, a, b, g); return x; });
  i.function("normal_(tensor, mean=0.0, std=1.0, generator=None)", [](Tensor x, D mean, D std, G g) { nn::normal_(x, mean, std, g); return x; });
  i.function("trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None)", [](Tensor x, D mean, D std, D a, D b, G g) { nn::trunc_normal_(x, g, mean, std, a, b); return x; });
  i.function("orthogonal_(tensor, gain=1.0, generator=None)", [](Tensor x, D gain, G g) { nn::orthogonal_(x, g, gain); return x; });
  i.function("constant_(tensor, val)", [](Tensor x, D value) { nn::constant_(x, value); return x; });
  i.function("eye_(tensor)", [](Tensor x) { nn::eye_(x); return x; });
}

}  // namespace gradus::python
