#include "gradus/python/layers.hpp"

#include "gradus/nn/attention.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/nn/layers.hpp"
#ifdef GRADUS_HAS_LAYERS  // an annex
#include "gradus/annexes/layers/channel_norms.hpp"
#include "gradus/annexes/layers/convolution.hpp"
#include "gradus/annexes/layers/recurrent.hpp"
#include "gradus/annexes/layers/self_attention.hpp"
#endif

namespace gradus::python {
namespace {

using namespace arguments;

// A module whose members a module of Python lists: its parameters, its buffers, and the layers in it.
class Assembly : public nn::Module {
 public:
  // (name, Layer) or (name, Tensor). A tensor that is no Parameter is a buffer, unless all are parameters.
  Assembly(const std::vector<std::pair<std::string, py::object>>& members, bool all_are_parameters) {
    for (const auto& [name, o] : members) {
      const bool is_layer = !is_tensor(o.ptr());
      const bool is_buffer =
          !all_are_parameters && !PyType_IsSubtype(Py_TYPE(o.ptr()), registered().parameter);
      members_.push_back(
          {name, is_layer ? o.cast<Made>() : nullptr, is_layer ? Tensor() : tensor_of(o.ptr()), is_buffer});
    }
  }
  void visit(nn::Visitor& v) override {
    for (Member& m : members_) {
      if (m.layer && m.name.empty())  // of a subclass of a layer
        m.layer->module().visit(v);
      else if (m.layer)
        v(m.name, m.layer->module());
      else if (m.is_buffer)
        v.buffer(m.name, m.tensor);
      else
        v(m.name, m.tensor);
    }
  }

 private:
  struct Member {
    std::string name;
    Made layer;  // or
    Tensor tensor;
    bool is_buffer;
  };
  std::vector<Member> members_;
};

// Puts another tensor in the place of a parameter or buffer.
struct Replace : nn::Visitor {
  Replace(const std::string& name, T tensor) : name_(name), tensor_(tensor) {}
  void on_parameter(const std::string& name, Tensor& old, nn::Role) override { on_buffer(name, old); }
  void on_buffer(const std::string& name, Tensor& old) override {
    if (name != name_) return;
    if (tensor_.dim() != old.dim())  // sizes may differ: a table of positions is cut
      fail("module", name, " must have ", old.dim(), " dimensions, got shape ", tensor_.shape(), ".");
    old = tensor_;
    found = true;
  }
  bool found = false;

 private:
  std::string name_;
  Tensor tensor_;
};

void set_tensor(const Layer& layer, const std::string& name, T tensor) {
  Replace replace(name, tensor);
  replace.start(layer.module());
  if (!replace.found) fail("module", "the layer must have a parameter '", name, "', got one without it.");
}

py::list named_parameters(const nn::Module& module) {
  py::list all;
  for (const auto& [name, p] : module.named_parameters())
    all.append(py::make_tuple(name, py::reinterpret_steal<py::object>(wrap(p, registered().parameter))));
  return all;
}

// In the order of a visit: parameters, then buffers.
py::dict state_dict(const nn::Module& module) {
  const nn::StateDict state = module.state_dict();
  py::dict ordered;
  for (const auto& [name, shape] : module.state_shapes()) ordered[py::str(name)] = state.at(name);
  return ordered;
}

Made copied(const Layer& layer) {
  const auto copy = std::make_shared<Layer>(layer);
  nn::detail::own_tensors(copy->module());
  return copy;
}

template <class M>
Made made(M module, bool draws = false) {
  return std::make_shared<Layer>(Layer{nn::AnyModule(std::move(module)), draws});
}

// The features of a shape: layers normalize the last dimension.
N only(I shape) {
  if (shape.values.size() != 1)
    fail("module", "normalized_shape must have one dimension, got ", shape.values.size(), ".");
  return shape.values[0];
}

py::object call(const Made& layer, T x, G g) {
  const bool is_long = is_large(x) || x.requires_grad();
  return py::cast(run(*layer, is_long, g, [&](Generator* drop) { return layer->any(x, drop); }));
}

#ifdef GRADUS_HAS_LAYERS
// Whether an option is the second of two names. Throws Error for others.
bool is_second(const char* option, Words given, const char* first, const char* second) {
  if (given != first && given != second)
    fail("module", option, " must be '", first, "' or '", second, "', got '", given, "'.");
  return given == second;
}

template <class M, class... Inputs>
auto called(const Made& layer, G g, const Inputs&... inputs) {
  return run(*layer, true, g, [&](Generator* drop) { return layer->any.get<M>()(inputs..., drop); });
}

template <class M>
py::object call_recurrent(const Made& layer, T x, T h, G g) {
  const nn::RecurrentOutput y = called<M>(layer, g, x, h);
  return py::make_tuple(y.output, y.h_n);
}

py::object call_lstm(const Made& layer, T x, const std::optional<std::pair<Tensor, Tensor>>& hx, G g) {
  const auto [h, c] = hx.value_or(std::pair<Tensor, Tensor>());
  const nn::LSTMOutput y = called<nn::LSTM>(layer, g, x, nn::LSTMState{h, c});
  return py::make_tuple(y.output, py::make_tuple(y.h_n, y.c_n));
}
#endif

}  // namespace

// A row is a line; a long one continues in the next.
// clang-format off

void add_layers(Table& t) {
  using nn::Module;
  py::class_<Module, std::shared_ptr<Module>>(t.module, "Module")
      .def("named_parameters", &named_parameters)
      .def("named_buffers", &Module::named_buffers)
      .def("state_dict", &state_dict)
      .def("load_state_dict", [](Module& self, const nn::StateDict& state, bool strict) { const nn::LoadReport r = self.load_state_dict(state, strict); return std::pair(r.missing, r.unexpected); })
      .def("summary", &Module::summary);
  py::class_<Assembly, Module, std::shared_ptr<Assembly>>(t.module, "Assembly").def(py::init<const std::vector<std::pair<std::string, py::object>>&, bool>());
  py::class_<Layer, Made>(t.module, "Layer")
      .def("module", [](const Made& self) { return std::shared_ptr<Module>(self, &self->module()); })
      .def("deep_copy", &copied)
      .def("set", &set_tensor)
      .def("train", [](const Layer& self, bool on) { self.module().train(on); })
      .def("to", [](const Layer& self, DType dtype) { self.module().to(dtype); });
  Table l = t.part("layers");
  l(":Linear(in_features, out_features, bias=True, generator=None)", [](N in, N out, B bias, G g) { return made(nn::Linear(in, out, g, {.bias = bias})); });
  l(":Embedding(num_embeddings, embedding_dim, padding_idx=None, generator=None)",
    [](N rows, N dim, OptionalN padding, G g) { const nn::Embedding y(rows, dim, g); if (padding) y.weight.detach().select(0, *padding).copy_(zeros({})); return made(y); });
  l(":Dropout(p=0.5, inplace=False)", [](D p, B) { return made(nn::Dropout(p), p > 0); });
  l(":LayerNorm(normalized_shape, eps=1e-05, elementwise_affine=True, bias=True)", [](I shape, D eps, B affine, B bias) { nn::LayerNorm y(only(shape), {.eps = eps, .bias = bias && affine}); if (!affine) y.weight = {}; return made(y); });
  l(":RMSNorm(normalized_shape, eps=None)", [](I shape, OptionalD eps) { return made(nn::RMSNorm(only(shape), {.eps = eps})); });
  l(":MLP(n_embd, hidden, bias=True, dropout=0.0, generator=None)", [](N n, N hidden, B bias, D p, G g) { return made(nn::MLP(n, hidden, g, {.bias = bias, .dropout = p}), p > 0); });
  l(":SwiGLU(n_embd, hidden, dropout=0.0, generator=None)", [](N n, N hidden, D p, G g) { return made(nn::SwiGLU(n, hidden, g, {.dropout = p}), p > 0); });
  l(":MinGRU(input_size, hidden_size, generator=None)", [](N in, N hidden, G g) { return made(nn::MinGRU(in, hidden, g)); });
  l(":MultiHeadAttention(n_embd, n_head, causal=True, bias=True, projection=True, projection_bias=True, dropout=0.0, generator=None)",
    [](N n, N heads, B causal, B bias, B projection, B projection_bias, D p, G g) {
      return made(nn::MultiHeadAttention(n, heads, g, {.causal = causal, .bias = bias, .projection = projection, .projection_bias = projection_bias, .dropout = p}), p > 0); });
  l(":GroupedQueryAttention(n_embd, n_head, n_kv_head, causal=True, rope_theta=10000.0, window=0, qk_norm=False, dropout=0.0, generator=None)",
    [](N n, N heads, N kv, B causal, D theta, N window, B norm, D p, G g) { return made(nn::GroupedQueryAttention(n, heads, kv, g, {.causal = causal, .rope_theta = theta, .window = window, .qk_norm = norm, .dropout = p}), p > 0); });
#ifdef GRADUS_HAS_LAYERS
  l(":SelfAttention(d_in, d_out, num_heads=1, causal=True, dropout=0.0, bias=False, projection=False, generator=None)",
    [](N in, N out, N heads, B causal, D p, B bias, B projection, G g) {
      return made(nn::SelfAttention(in, out, g, {.mask_on = causal ? nn::MaskOn::scores : nn::MaskOn::nothing, .dropout = p, .num_heads = heads, .projection = projection, .bias = bias}), p > 0); });
  l(":RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0, bidirectional=False, generator=None)",
    [](N in, N hidden, N layers, Words f, B bias, B first, D p, B both, G g) {
      return made(nn::RNN(in, hidden, g, {layers, is_second("nonlinearity", f, "tanh", "relu") ? nn::Nonlinearity::relu : nn::Nonlinearity::tanh, bias, first, p, both}), p > 0); });
#define RECURRENT(M) [](N in, N hidden, N layers, B bias, B first, D p, B both, G g) { return made(nn::M(in, hidden, g, {.num_layers = layers, .bias = bias, .batch_first = first, .dropout = p, .bidirectional = both}), p > 0); }
  l(":GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, generator=None)", RECURRENT(GRU));
  l(":LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, generator=None)", RECURRENT(LSTM));
#define CONV(dims) [](N in, N out, I size, I stride, I padding, I dilation, N groups, B bias, G g) { \
      return made(nn::Convolution<dims>(in, out, size, g, {.stride = stride, .padding = autograd::PerDim(padding.values), .dilation = dilation, .groups = groups, .bias = bias})); }
  l(":Conv1d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, generator=None)", CONV(1));
  l(":Conv2d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, generator=None)", CONV(2));
  l(":MaxPool2d(kernel_size, stride=None, padding=0)", [](I size, I stride, I padding) { return made(nn::MaxPool2d(size, {.stride = stride, .padding = padding})); });
  l(":AvgPool2d(kernel_size, stride=None, padding=0)", [](I size, I stride, I padding) { return made(nn::AvgPool2d(size, {.stride = stride, .padding = padding})); });
  l(":BatchNorm1d(num_features, eps=1e-05, momentum=0.1, affine=True)", [](N n, D eps, D momentum, B affine) { return made(nn::BatchNorm1d(n, {.eps = eps, .momentum = momentum, .affine = affine})); });
  l(":BatchNorm2d(num_features, eps=1e-05, momentum=0.1, affine=True)", [](N n, D eps, D momentum, B affine) { return made(nn::BatchNorm2d(n, {.eps = eps, .momentum = momentum, .affine = affine})); });
  l(":GroupNorm(num_groups, num_channels, eps=1e-05, affine=True)", [](N groups, N channels, D eps, B affine) { return made(nn::GroupNorm(groups, channels, {.eps = eps, .affine = affine})); });
#endif
  // -- their calls, with one tensor or as it is said for a layer
  l(":_call(layer, input, generator=None)", of<call>);
  l(":_call_Embedding(layer, input, generator=None) Embedding0", of<call>);
#ifdef GRADUS_HAS_LAYERS
  l(":_call_Conv1d _call_Conv2d(layer, input, generator=None) Convolution0", of<call>);
  l(":_call_BatchNorm1d _call_BatchNorm2d(layer, input, generator=None) NativeBatchNorm0", of<call>);
  l(":_call_GroupNorm(layer, input, generator=None) NativeGroupNorm0", of<call>);
  l(":_call_RNN(layer, input, hx=None, generator=None)", of<call_recurrent<nn::RNN>>);
  l(":_call_GRU(layer, input, hx=None, generator=None)", of<call_recurrent<nn::GRU>>);
  l(":_call_LSTM(layer, input, hx=None, generator=None)", of<call_lstm>);
#endif
  // -- initial values
  Table i = t.part("init");
  i(":xavier_uniform_(tensor, gain=1.0, generator=None)", [](Tensor x, D gain, G g) { nn::xavier_uniform_(x, g, gain); return x; });
  i(":xavier_normal_(tensor, gain=1.0, generator=None)", [](Tensor x, D gain, G g) { nn::xavier_normal_(x, g, gain); return x; });
  i(":kaiming_uniform_(tensor, a=0.0, mode='fan_in', nonlinearity='leaky_relu', generator=None)", [](Tensor x, D a, nn::Fan mode, nn::Nonlinearity f, G g) { nn::kaiming_uniform_(x, g, a, mode, f); return x; });
  i(":kaiming_normal_(tensor, a=0.0, mode='fan_in', nonlinearity='leaky_relu', generator=None)", [](Tensor x, D a, nn::Fan mode, nn::Nonlinearity f, G g) { nn::kaiming_normal_(x, g, a, mode, f); return x; });
  i(":calculate_gain(nonlinearity, param=0.01)", of<nn::calculate_gain>);
  i(":uniform_(tensor, a=0.0, b=1.0, generator=None)", [](Tensor x, D a, D b, G g) { nn::uniform_(x, a, b, g); return x; });
  i(":normal_(tensor, mean=0.0, std=1.0, generator=None)", [](Tensor x, D mean, D std, G g) { nn::normal_(x, mean, std, g); return x; });
  i(":trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None)", [](Tensor x, D mean, D std, D a, D b, G g) { nn::trunc_normal_(x, g, mean, std, a, b); return x; });
  i(":orthogonal_(tensor, gain=1.0, generator=None)", [](Tensor x, D gain, G g) { nn::orthogonal_(x, g, gain); return x; });
  i(":constant_(tensor, val)", [](Tensor x, D value) { nn::constant_(x, value); return x; });
  i(":zeros_(tensor)", [](Tensor x) { nn::constant_(x, 0); return x; });
  i(":ones_(tensor)", [](Tensor x) { nn::constant_(x, 1); return x; });
  i(":eye_(tensor)", [](Tensor x) { nn::eye_(x); return x; });
}

}  // namespace gradus::python
