// Differentiation: backward, grad, hooks, functions of one's own, the modes of a thread, random streams.
#include <deque>
#include <set>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/print.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/python/casters.hpp"

namespace gradus::python {
namespace {

// -- the Python lines that recorded operations, while anomaly detection is on

struct Line {
  uint64_t sequence;  // of the result's vertex; those of what it is composed of are lower
  std::string place;  // file:line
};
constexpr size_t kMostLines = size_t{1} << 20;

std::deque<Line>& lines() {
  static auto* const all = new std::deque<Line>;
  return *all;
}

// The line that runs outside of this package.
std::string running_line() {
  const std::string package = py::str(py::module_::import("gradus").attr("__path__").attr("__getitem__")(0));
  auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame && !frame.is_none()) {
    const std::string file = py::str(frame.attr("f_code").attr("co_filename"));
    if (file.compare(0, package.size(), package) != 0)
      return concat(file, ":", py::str(frame.attr("f_lineno")).cast<std::string>());
    frame = frame.attr("f_back");
  }
  return "";
}

std::string line_of(uint64_t sequence) {
  const auto found = std::lower_bound(lines().begin(), lines().end(), sequence,
                                      [](const Line& line, uint64_t s) { return line.sequence < s; });
  return found == lines().end() ? "" : found->place;
}

// The lines that recorded what an error of backward() is about: operation "%3" of the graph, or all
// operations that it names.
std::string lines_of(const std::string& error, const std::vector<Tensor>& outputs) {
  std::vector<const autograd::Node*> roots;
  for (const Tensor& y : outputs)
    if (y.defined() && y.impl()->node) roots.push_back(y.impl()->node.get());
  const std::vector<const autograd::Node*> ops = autograd::ops_below(roots);
  std::set<std::string> places;
  const size_t mark = error.rfind(" of %");
  const size_t number =
      mark == std::string::npos ? 0 : static_cast<size_t>(std::atoll(error.c_str() + mark + 5));
  for (size_t i = 0; i < ops.size(); ++i)
    if (number > 0 ? i + 1 == number : error.find(concat("that ", ops[i]->op, " needs")) != std::string::npos)
      places.insert(line_of(ops[i]->sequence));
  places.erase("");
  return places.empty() ? "" : " Recorded at " + joined(places, ", ") + ".";
}

template <class F>
auto differentiated(const std::vector<Tensor>& outputs, const F& f) {
  try {
    const py::gil_scoped_release unlocked;
    return f();
  } catch (const Error& e) {
    throw Error(e, lines_of(e.what(), outputs));
  }
}

// Sets a mode of this thread, until it is set again.

template <class Mode, class Value>
void set_mode(Value value) {
  static thread_local std::unique_ptr<Mode> mode;
  mode.reset();  // restores what was before it
  mode = std::make_unique<Mode>(value);
}

// A name that lives as long as the program.
OpName op_name(const std::string& name) {
  static auto* const all = new std::set<std::string>;
  return OpName::custom(*all->insert(name).first);
}

// Makes `outputs` results of a function in Python: rule(gradients) gives one gradient, or None, for each
// input.
std::vector<Tensor> record_function(const std::string& name, std::vector<Tensor> outputs,
                                    const std::vector<Tensor>& inputs, py::function rule) {
  const auto held = shared_reference(rule.ptr());
  const auto call = [held](const std::vector<Tensor>& gys) {
    const py::gil_scoped_acquire lock;
    return py::handle(held.get())(gys).cast<std::vector<Tensor>>();
  };
  if (outputs.size() == 1)
    return {record(op_name(name), std::move(outputs[0]), inputs,
                   [call](const Tensor& gy, Needs) { return call({gy}); })};
  return record_many(op_name(name), std::move(outputs), inputs,
                     [call](const auto& gys, const auto&, Needs) { return call(gys); });
}

void add_modes(py::module_& m) {
  m.def("is_grad_enabled", &grad_enabled);
  m.def("set_grad_enabled", [](bool on) { set_mode<GradMode>(on); });
  m.def("is_anomaly_enabled", [] { return autograd::anomaly_mode; });
  m.def("set_anomaly_enabled", [](bool on) { set_mode<AnomalyMode>(on); });
  m.def("autocast_dtype", &autocast_dtype);
  m.def("set_autocast_dtype", [](DType dtype) { set_mode<Autocast>(dtype); });
  m.def("get_num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads, py::arg("n"));
  m.def(
      "memory_bytes", [] { return memory_use().bytes; }, "Bytes of the tensors that this thread has made.");
}

void add_generator(py::module_& m) {
  using Stream = RandomStream;
  py::class_<Stream, std::shared_ptr<Stream>>(
      m, "Generator",
      "A stream of random numbers: kind 'torch' (PyTorch's), 'torch-mkl' (with the "
      "dropout masks of its MKL builds) or 'philox' (the fastest).")
      .def(py::init([](int64_t seed, const std::string& kind) {
             if (kind == "torch") return std::make_shared<Stream>(Generator::torch(seed));
             if (kind == "torch-mkl") return std::make_shared<Stream>(Generator::torch_mkl(seed));
             if (kind == "philox") return std::make_shared<Stream>(Generator(static_cast<uint64_t>(seed)));
             fail("generator", "kind must be 'torch', 'torch-mkl' or 'philox', got '", kind, "'.");
           }),
           py::arg("seed") = 0, py::arg("kind") = "torch")
      .def(
          "become", [](Stream& self, const Stream& other) { self.generator = other.generator; },
          "Continues as the other one does.")
      .def(
          "stream",
          [](const Stream& self, const std::string& purpose) {
            return std::make_shared<Stream>(self.generator.stream(purpose));
          },
          py::arg("purpose"), "A separate stream of the same kind for one purpose.")
      .def(
          "discard", [](Stream& self, int64_t n) { self.generator.discard(n); }, py::arg("n"),
          "Skips n words of 32 bits.")
      .def(
          "next", [](Stream& self) { return self.generator.next(); }, "The next word of 32 bits.")
      .def(
          "get_state", [](const Stream& self) { return self.generator.state(); }, "The state as text.")
      .def(
          "set_state", [](Stream& self, const std::string& state) { self.generator.set_state(state); },
          py::arg("state"), "Continues from what get_state() returned.");
  m.attr("default_generator") = default_stream();
}

}  // namespace

void note_line(const Tensor& result) {
  if (!result.impl()->node || result.impl()->node->is_leaf()) return;
  const uint64_t sequence = result.impl()->node->sequence;
  if (!lines().empty() && lines().back().sequence >= sequence) return;
  lines().push_back({sequence, running_line()});
  if (lines().size() > kMostLines) lines().pop_front();
}

void add_autograd(py::module_& m) {
  const py::handle type(reinterpret_cast<PyObject*>(registered().tensor));
  const auto method = [&](const char* name, auto f, auto... extra) {
    py::setattr(type, name, py::cpp_function(f, py::name(name), py::is_method(type), extra...));
  };
  method(
      "backward",
      [](const Tensor& self, const Tensor& gradient, bool retain_graph, bool create_graph) {
        differentiated({self}, [&] { self.backward(gradient, retain_graph, create_graph); });
      },
      py::arg("gradient") = py::none(), py::arg("retain_graph") = false, py::arg("create_graph") = false,
      "Adds d(this)/d(leaf) to the grad of every leaf that this scalar depends on.");
  method(
      "register_hook",
      [](const Tensor& self, py::function hook) {
        const auto held = shared_reference(hook.ptr());
        return self.register_hook(GradHook([held](const Tensor& g) -> Tensor {
          const py::gil_scoped_acquire lock;
          return py::handle(held.get())(g).cast<Tensor>();
        }));
      },
      py::arg("hook"),
      "Runs hook(gradient) in every backward that passes this tensor; what it returns replaces it.");
  method(
      "requires_grad_",
      [](py::object self, bool on) {
        self.attr("requires_grad") = on;
        return self;
      },
      py::arg("requires_grad") = true, "Makes a leaf that collects gradients, or freezes it.");
  py::class_<HookHandle>(m, "HookHandle").def("remove", &HookHandle::remove, "Removes the hook.");

  m.def("grad",
        [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
           const std::vector<Tensor>& grad_outputs, bool retain_graph, bool create_graph, bool allow_unused) {
          return differentiated(outputs, [&] {
            return grad(outputs, inputs, {grad_outputs, create_graph, retain_graph, allow_unused});
          });
        });
  m.def("backward", [](const std::vector<Tensor>& tensors, const std::vector<Tensor>& gradients,
                       bool retain_graph, bool create_graph) {
    differentiated(tensors, [&] { backward(tensors, gradients, retain_graph, create_graph); });
  });
  m.def("record_function", &record_function);
  m.def("checkpoint", [](py::function f, const std::vector<Tensor>& inputs) {
    const auto held = shared_reference(f.ptr());
    const py::gil_scoped_release unlocked;
    return checkpoint(
        [held](const std::vector<Tensor>& given) -> Tensor {
          const py::gil_scoped_acquire lock;
          return py::handle(held.get())(*py::tuple(py::cast(given))).cast<Tensor>();
        },
        inputs, {&default_stream()->generator});
  });
  m.def(
      "graph_text",
      [](const std::vector<Tensor>& ys, const std::map<std::string, Tensor>& names) {
        return graph_text(ys, LeafNames(names.begin(), names.end()));
      },
      py::arg("outputs"), py::arg("names") = py::dict());
  m.def(
      "graph_dot", [](const std::vector<Tensor>& ys) { return graph_dot(ys); }, py::arg("outputs"));
  m.def("numpy_string", &numpy_string);
  m.def(
      "torch_string",
      [](const Tensor& x, int precision, double threshold, int64_t edgeitems, int64_t linewidth,
         std::optional<bool> sci_mode) {
        const auto most = static_cast<int64_t>(std::min(threshold, 0x1p62));
        return torch_string(x, PrintOptions{precision, most, edgeitems, linewidth, sci_mode});
      },
      py::arg("input"), py::arg("precision") = 4, py::arg("threshold") = 1000, py::arg("edgeitems") = 3,
      py::arg("linewidth") = 80, py::arg("sci_mode") = py::none());
  add_modes(m);
  add_generator(m);
}

}  // namespace gradus::python
