// Decoders and their tokenizers, files of tensors, and what happens inside of a model.
#include "gradus/data/tokenizer.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/nn/watch.hpp"
#include "gradus/python/layers.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::python {
namespace {

using Path = std::filesystem::path;
using models::Decoder;
using Config = models::DecoderConfig;
using Sampling = models::SampleOptions;

Decoder& decoder_of(const Made& layer) { return layer->any.get<Decoder>(); }

Made layer_of(Decoder model) {
  const bool draws = model.config().dropout > 0;
  return std::make_shared<Layer>(Layer{nn::AnyModule(std::move(model)), draws});
}

// The sizes of a preset, or the default sizes of an architecture.
Config config_from(const std::string& name) {
  const bool is_preset = std::ranges::count(models::preset_names(), name) > 0;
  return is_preset ? models::preset(name) : Config{.arch = name};
}

std::pair<Made, std::optional<data::Tokenizer>> load(const Path& folder, bool with_tokenizer) {
  const py::gil_scoped_release unlocked;
  if (!with_tokenizer) return {layer_of(models::load_pretrained(folder)), {}};
  train::TrainedModel trained = train::load_trained(folder);
  return {layer_of(std::move(trained.model)), std::move(trained.tokenizer)};
}

std::vector<int64_t> generate(const Made& layer, const std::vector<int64_t>& prompt, const Sampling& options,
                              const Random& g, const std::function<py::object(int64_t)>& on_token) {
  return models::generate(decoder_of(layer), prompt, options, g, [&](int64_t token) {
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return !on_token || !on_token(token).equal(py::bool_(false));
  });
}

py::object loss(const Made& layer, const Tensor& x, const Tensor& y, const Random& g) {
  return py::cast(run(*layer, true, g, [&](Generator* drop) { return decoder_of(layer).loss(x, y, drop); }));
}

nn::StateDict load_file(const Path& path, bool keep_float64) {
  const auto file = nn::open_tensors(path);
  nn::StateDict state;
  for (const nn::TensorEntry& entry : file->header().entries)
    state[entry.name] = file->read(entry, keep_float64);
  return state;
}

py::str decode(const data::Tokenizer& tokenizer, const std::vector<int32_t>& tokens) {
  const std::string text = tokenizer.decode(tokens);
  const auto size = static_cast<Py_ssize_t>(text.size());
  return py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(text.data(), size, "replace"));
}

}  // namespace

// A row is a line.
// clang-format off

void add_models(Table& t) {
  using arguments::Words;
  using data::Tokenizer;
  using nn::Activations;
  using nn::Intervention;
  using Module = std::shared_ptr<nn::Module>;
  using Patterns = const std::vector<std::string>&;
  py::class_<Tokenizer>(t.module, "Tokenizer", "Converts text to token numbers and back.")
      .def_static("make", &Tokenizer::make, py::arg("kind"), py::arg("text") = "", py::arg("vocab_size") = 4096, "Kind 'char', 'byte' or 'bpe', learnt from a text.")
      .def("encode", [](const Tokenizer& self, Words text) { return self.encode(text); }, py::arg("text"), "The tokens of a text.")
      .def("encode_from_start", &Tokenizer::encode_from_start, py::arg("text"), "The tokens of a text from its start: after those that a model expects before it.")
      .def("decode", &decode, py::arg("tokens"), "The text of tokens.")
      .def_property_readonly("eos", &Tokenizer::eos, "The tokens that end a text.")
      .def_property_readonly("stop_strings", &Tokenizer::stop_strings, "The texts before which a text ends.")
      .def_property_readonly("vocab_size", &Tokenizer::vocab_size);
  py::class_<Activations>(t.module, "Activations")
      .def("__getitem__", [](const Activations& self, Words name) { return self[name]; })
      .def("all", [](const Activations& self, Words name) { return self.all(name); })
      .def("grad", [](const Activations& self, Words name) { return self.grad(name); })
      .def("__contains__", [](const Activations& self, Words name) { return self.contains(name); })
      .def("names", &Activations::names)
      .def("points", &Activations::points)
      .def("clear", &Activations::clear);
  py::class_<Intervention>(t.module, "Intervention");
  t(":_watch(model, patterns, gradients)", [](const Module& m, Patterns patterns, bool gradients) { return Activations(*m, patterns, {.gradients = gradients}); });
  t(":_intervene(model, patterns, replace)", [](const Module& m, Patterns patterns, const Intervention::Function& f) { return Intervention(*m, patterns, f); });
  t(":_load(folder, with_tokenizer)", of<load>);
#define FIELD(name) .def_readwrite(#name, &Sampling::name)
  py::class_<Sampling>(t.module, "SampleOptions").def(py::init<>())
      FIELD(max_new_tokens) FIELD(temperature) FIELD(top_k) FIELD(top_p) FIELD(min_p) FIELD(repetition_penalty);
#undef FIELD
#define FIELD(name) .def_readwrite(#name, &Config::name)
  py::class_<Config>(t.module, "DecoderConfig").def(py::init(&config_from))
      FIELD(arch) FIELD(vocab_size) FIELD(block_size) FIELD(n_layer) FIELD(n_head) FIELD(n_embd) FIELD(n_kv_head) FIELD(n_inner)
      FIELD(dropout) FIELD(bias) FIELD(norm_eps) FIELD(rope_theta) FIELD(qk_norm) FIELD(tie_word_embeddings);
  t(":_make_decoder(config, generator)", [](const Config& c, const Random& g) { return layer_of(Decoder(c, g)); });
  t(":_decoder_config(layer)", [](const Made& layer) { return decoder_of(layer).config(); });
  t(":_decoder_loss(layer, x, y, generator)", of<loss>);
  t(":_generate(layer, prompt, options, generator, on_token)", of<generate>);
  t(":_save_pretrained(layer, folder)", [](const Made& layer, const Path& folder) { models::save_pretrained(decoder_of(layer), folder); });
  t(":_load_file(path, keep_float64)", of<load_file>);
  t(":_save_file(tensors, path, metadata)", [](const nn::StateDict& tensors, const Path& path, const nn::Metadata& metadata) { nn::save_safetensors(path, tensors, metadata); });
}

// clang-format on

}  // namespace gradus::python
