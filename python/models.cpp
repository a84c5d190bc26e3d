// Decoders and their tokenizers, files of tensors, and what happens inside of a model.
#include <pybind11/functional.h>
#include <pybind11/stl/filesystem.h>

#include "gradus/data/tokenizer.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/nn/watch.hpp"
#include "gradus/python/layers.hpp"
#include "gradus/python/operation.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::python {
namespace {

using Made = std::shared_ptr<Layer>;
using Path = std::filesystem::path;
using models::Decoder;

Decoder& decoder_of(const Made& layer) { return layer->any.get<Decoder>(); }

Made layer_of(Decoder model) {
  const bool draws = model.config().dropout > 0;
  return std::make_shared<Layer>(Layer{nn::AnyModule(std::move(model)), draws});
}

// A new decoder of a preset or an architecture, with other sizes.
Made make_decoder(const std::string& name, const std::map<std::string, double>& sizes, const Random& g) {
  const std::vector<std::string> presets = models::preset_names();
  models::DecoderConfig c;
  if (std::find(presets.begin(), presets.end(), name) != presets.end())
    c = models::preset(name);
  else
    c.arch = name;
  const std::map<std::string, int64_t*> fields{{"vocab_size", &c.vocab_size}, {"block_size", &c.block_size},
                                               {"n_layer", &c.n_layer},       {"n_head", &c.n_head},
                                               {"n_embd", &c.n_embd},         {"n_kv_head", &c.n_kv_head},
                                               {"n_inner", &c.n_inner}};
  const std::map<std::string, bool*> choices{
      {"bias", &c.bias}, {"tie_word_embeddings", &c.tie_word_embeddings}, {"qk_norm", &c.qk_norm}};
  for (const auto& [field, value] : sizes) {
    if (fields.count(field))
      *fields.at(field) = static_cast<int64_t>(value);
    else if (choices.count(field))
      *choices.at(field) = value != 0;
    else if (field == "dropout")
      c.dropout = value;
    else
      fail("decoder", "has no option '", field, "'.");
  }
  return layer_of(Decoder(c, g));
}

py::dict config_of(const Made& layer) {
  const models::DecoderConfig& c = decoder_of(layer).config();
  return py::dict(py::arg("arch") = c.arch, py::arg("vocab_size") = c.vocab_size,
                  py::arg("block_size") = c.block_size, py::arg("n_layer") = c.n_layer,
                  py::arg("n_head") = c.n_head, py::arg("n_embd") = c.n_embd, py::arg("dropout") = c.dropout,
                  py::arg("bias") = c.bias);
}

std::pair<Made, std::optional<data::Tokenizer>> load(const Path& folder, bool with_tokenizer) {
  const py::gil_scoped_release unlocked;
  if (!with_tokenizer) return {layer_of(models::load_pretrained(folder)), {}};
  train::TrainedModel trained = train::load_trained(folder);
  return {layer_of(std::move(trained.model)), std::move(trained.tokenizer)};
}

std::vector<int64_t> generate(const Made& layer, const std::vector<int64_t>& prompt,
                              const models::SampleOptions& options, const Random& g,
                              const py::object& on_token) {
  std::unique_ptr<py::error_already_set> interrupted;
  const auto next = [&](int64_t token) {
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() == 0) return on_token.is_none() || !on_token(token).equal(py::bool_(false));
    interrupted = std::make_unique<py::error_already_set>();
    return false;
  };
  std::vector<int64_t> tokens;
  {
    Unlocked unlocked(true);
    unlocked.lock(g);
    tokens = models::generate(decoder_of(layer), prompt, options, g, next);
  }
  if (interrupted) throw std::move(*interrupted);
  return tokens;
}

Tensor loss(const Made& layer, const Tensor& x, const Tensor& y, const Random& g) {
  const bool draws = layer->draws && layer->module().training();
  Unlocked unlocked(true);
  if (draws) unlocked.lock(g);
  return decoder_of(layer).loss(x, y, draws ? g.get() : nullptr);
}

std::pair<nn::StateDict, nn::Metadata> load_file(const Path& path, bool keep_float64) {
  const auto file = nn::open_tensors(path);
  nn::StateDict state;
  for (const nn::TensorEntry& entry : file->header().entries)
    state[entry.name] = file->read(entry, keep_float64);
  return {state, file->header().metadata};
}

void add_watches(py::module_& m) {
  using nn::Activations;
  using nn::Intervention;
  py::class_<Activations>(m, "Activations")
      .def(py::init([](nn::Module& module, const std::vector<std::string>& patterns, bool gradients) {
        return Activations(module, patterns, {.gradients = gradients});
      }))
      .def("__getitem__", [](const Activations& self, const std::string& name) { return self[name]; })
      .def("all", [](const Activations& self, const std::string& name) { return self.all(name); })
      .def("grad", [](const Activations& self, const std::string& name) { return self.grad(name); })
      .def("__contains__",
           [](const Activations& self, const std::string& name) { return self.contains(name); })
      .def("names", &Activations::names)
      .def("points", &Activations::points)
      .def("clear", &Activations::clear);
  py::class_<Intervention>(m, "Intervention")
      .def(py::init([](nn::Module& module, const std::vector<std::string>& patterns,
                       const Intervention::Function& f) { return Intervention(module, patterns, f); }))
      .def_static("ablate",
                  [](nn::Module& module, const std::vector<std::string>& patterns) {
                    return Intervention::ablate(module, patterns);
                  })
      .def_static("scale", [](nn::Module& module, const std::vector<std::string>& patterns,
                              double factor) { return Intervention::scale(module, patterns, factor); })
      .def_static("patch",
                  [](nn::Module& module, const std::vector<std::string>& patterns, const Activations& from) {
                    return Intervention::patch(module, patterns, from);
                  });
}

}  // namespace

void add_models(py::module_& m) {
  using data::Tokenizer;
  py::class_<Tokenizer>(m, "Tokenizer", "Converts text to token numbers and back.")
      .def_static(
          "make",
          [](const std::string& kind, const std::string& text, int64_t vocab_size) {
            return Tokenizer::make(kind, text, vocab_size);
          },
          py::arg("kind"), py::arg("text") = "", py::arg("vocab_size") = 4096,
          "Kind 'char', 'byte' or 'bpe', learnt from a text.")
      .def(
          "encode", [](const Tokenizer& self, const std::string& text) { return self.encode(text); },
          py::arg("text"), "The tokens of a text.")
      .def(
          "decode",
          [](const Tokenizer& self, const std::vector<int32_t>& tokens) {
            const std::string text = self.decode(tokens);
            return py::reinterpret_steal<py::str>(
                PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
          },
          py::arg("tokens"), "The text of tokens.")
      .def_property_readonly("vocab_size", &Tokenizer::vocab_size);
  m.def("load", &load);
  m.def("make_decoder", &make_decoder);
  m.def("decoder_config", &config_of);
  m.def("decoder_loss", &loss);
  m.def("generate", [](const Made& layer, const std::vector<int64_t>& prompt, int64_t most,
                       double temperature, int64_t top_k, double top_p, double min_p, double penalty,
                       const Random& g, const py::object& on_token) {
    return generate(layer, prompt,
                    {.max_new_tokens = most,
                     .temperature = temperature,
                     .top_k = top_k,
                     .top_p = top_p,
                     .min_p = min_p,
                     .repetition_penalty = penalty},
                    g, on_token);
  });
  m.def("save_pretrained",
        [](const Made& layer, const Path& folder) { models::save_pretrained(decoder_of(layer), folder); });
  m.def("load_file", &load_file);
  m.def("save_file", [](const nn::StateDict& tensors, const Path& path, const nn::Metadata& metadata) {
    nn::save_safetensors(path, tensors, metadata);
  });
  add_watches(m);
}

}  // namespace gradus::python
