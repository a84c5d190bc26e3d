// Differentiation: backward, grad, hooks, functions of one's own, gradcheck, modes of a thread, random
// streams.
#include <chrono>
#include <set>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/engine/backward_pass.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/functional/functional.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/print.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/python/operation.hpp"

namespace gradus::python {
namespace {

using Tensors = const std::vector<Tensor>&;

// -- the Python lines that recorded operations, while anomaly detection is on

// By the sequence of a result's vertex; those of what it is composed of are lower.
std::map<uint64_t, std::string>& lines() {
  static auto* const all = new std::map<uint64_t, std::string>;
  return *all;
}
constexpr size_t kMostLines = size_t{1} << 20;

// The line that runs outside of this package.
std::string running_line() {
  const std::string package = py::str(py::module_::import("gradus").attr("__path__").attr("__getitem__")(0));
  py::object frame = py::module_::import("sys").attr("_getframe")();
  while (!frame.is_none()) {
    const std::string file = py::str(frame.attr("f_code").attr("co_filename"));
    if (!file.starts_with(package)) return file + ":" + std::string(py::str(frame.attr("f_lineno")));
    frame = frame.attr("f_back");
  }
  return "";
}

// The lines that recorded what an error of backward() is about: operation "%3" of the graph, or all
// operations that it names.
std::string lines_of(const std::string& error, Tensors outputs) {
  std::vector<const autograd::Node*> roots;
  for (const Tensor& y : outputs)
    if (y.defined() && y.impl()->node) roots.push_back(y.impl()->node.get());
  const std::vector<const autograd::Node*> ops = autograd::ops_below(roots);
  const size_t mark = error.rfind(" of %");
  const size_t number = mark == std::string::npos ? 0 : std::stoul(error.substr(mark + 5));
  std::set<std::string> places;
  for (size_t i = 0; i < ops.size(); ++i) {
    const bool is_named = error.find(concat("that ", ops[i]->op, " needs")) != std::string::npos;
    const auto line = lines().lower_bound(ops[i]->sequence);
    if ((number > 0 ? i + 1 == number : is_named) && line != lines().end()) places.insert(line->second);
  }
  places.erase("");
  return places.empty() ? "" : " Recorded at " + joined(places, ", ") + ".";
}

// Raises KeyboardInterrupt after Ctrl-C; looks 20 times a second at most.
void check_signals() {
  using Clock = std::chrono::steady_clock;
  static thread_local Clock::time_point next;
  if (Clock::now() < next) return;
  const py::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  next = Clock::now() + std::chrono::milliseconds(50);
}

template <class F>
auto differentiated(Tensors outputs, const F& f) {
  try {
    const Unlocked unlocked(PyGILState_Check() != 0);
    const autograd::Scoped<void (*)()> polled(autograd::before_each_rule, check_signals);
    return f();
  } catch (const Error& e) {
    const py::gil_scoped_acquire lock;
    const std::string places = lines_of(e.what(), outputs);
    if (places.empty()) throw;  // as what it is
    throw Error(e, places);
  }
}

void backward_of(Tensors outputs, Tensors gradients, bool retain_graph, bool create_graph) {
  differentiated(outputs, [&] { backward(outputs, gradients, retain_graph, create_graph); });
}

std::vector<Tensor> grad_of(Tensors outputs, Tensors inputs, Tensors grad_outputs, bool retain_graph,
                            bool create_graph, bool allow_unused) {
  return differentiated(outputs, [&] {
    return grad(outputs, inputs, {grad_outputs, create_graph, retain_graph, allow_unused});
  });
}

Tensor checkpoint_of(const std::function<Tensor(Tensors)>& f, Tensors inputs) {
  const Unlocked unlocked(PyGILState_Check() != 0);
  return checkpoint(f, inputs, {&default_stream()->generator});
}

// Sets a mode of this thread, until it is set again.
template <class Mode, class Value>
void set_mode(Value value) {
  static thread_local std::unique_ptr<Mode> mode;
  mode.reset();  // restores what was before it
  mode = std::make_unique<Mode>(value);
}

// Makes `outputs` results of a function in Python: rule(gradients) gives one gradient, or None, for each
// input.
std::vector<Tensor> record_function(const std::string& name, std::vector<Tensor> outputs, Tensors inputs,
                                    const py::function& pull) {
  static auto* const names = new std::set<std::string>;  // they live as long as the program
  const auto rule = pull.cast<std::function<std::vector<Tensor>(Tensors)>>();
  const OpName op = OpName::custom(*names->insert(name).first);
  if (outputs.size() == 1)
    return {
        record(op, std::move(outputs[0]), inputs, [rule](const Tensor& gy, Needs) { return rule({gy}); })};
  return record_many(op, std::move(outputs), inputs,
                     [rule](Tensors gys, const auto&, Needs) { return rule(gys); });
}

// Makes the gradient of a result that of its vertex, as if it were a leaf.
void retain_grad(py::handle self) {
  auto* const object = reinterpret_cast<TensorObject*>(self.ptr());
  if (!object->tensor.requires_grad()) fail("retain_grad", "needs a tensor that requires a gradient.");
  autograd::Node* const node = object->tensor.impl()->node.get();
  if (node->is_leaf() || object->retained == node->sequence) return;
  object->retained = node->sequence;
  static_cast<void>(object->tensor.register_hook(
      [node](const Tensor& g) { node->grad = node->grad.defined() ? node->grad + g : g * 1.0; }));
}

std::string printed(py::handle self, int precision, double threshold, int64_t edgeitems, int64_t linewidth,
                    std::optional<bool> sci_mode) {
  const auto most = static_cast<int64_t>(std::min(threshold, 0x1p62));
  const char* const grad_fn = reinterpret_cast<TensorObject*>(self.ptr())->grad_fn;
  return torch_string(tensor_of(self.ptr()),
                      PrintOptions{precision, most, edgeitems, linewidth, sci_mode, grad_fn ? grad_fn : ""});
}

py::dict gradcheck_of(const std::function<Tensor(Tensors)>& f, Tensors inputs, int order, double eps,
                      double tolerance, int directions, int64_t elementwise, int64_t seed) {
  using namespace py::literals;
  GradcheckOptions options{order, eps, tolerance, directions, elementwise};
  options.seed = static_cast<uint64_t>(seed);
  const GradcheckReport r = gradcheck(f, inputs, options);
  py::list each;
  for (const GradcheckInput& i : r.inputs)
    each.append(py::dict("input"_a = i.input, "order"_a = i.order, "worst"_a = i.worst, "where"_a = i.where,
                         "numeric"_a = i.numeric, "analytic"_a = i.analytic));
  const GradcheckOp& op = r.wrong_op;
  const py::dict wrong("number"_a = op.number, "op"_a = op.op, "order"_a = op.order, "numeric"_a = op.numeric,
                       "analytic"_a = op.analytic, "error"_a = op.error);
  return py::dict("passed"_a = r.passed, "checks"_a = r.checks, "worst"_a = r.worst, "message"_a = r.message,
                  "cause"_a = r.cause, "inputs"_a = each, "wrong_op"_a = wrong);
}

std::shared_ptr<RandomStream> make_stream(int64_t seed, const std::string& kind) {
  if (kind == "torch") return std::make_shared<RandomStream>(Generator::torch(seed));
  if (kind == "torch-mkl") return std::make_shared<RandomStream>(Generator::torch_mkl(seed));
  if (kind == "philox") return std::make_shared<RandomStream>(Generator(static_cast<uint64_t>(seed)));
  fail("generator", "kind must be 'torch', 'torch-mkl' or 'philox', got '", kind, "'.");
}

// f(generator) while nobody draws from it.
template <class F>
auto alone(const std::shared_ptr<RandomStream>& stream, const F& f) {
  Unlocked unlocked(true);
  unlocked.lock(Random{stream});
  return f(stream->generator);
}

}  // namespace

std::shared_ptr<RandomStream>& default_stream() {
  static auto* const stream = new std::shared_ptr<RandomStream>(make_stream(0, "torch"));
  return *stream;
}

void note_line(const Tensor& result) {
  if (!result.impl()->node || result.impl()->node->is_leaf()) return;
  if (lines().emplace(result.impl()->node->sequence, "").second)
    lines()[result.impl()->node->sequence] = running_line();
  if (lines().size() > kMostLines) lines().erase(lines().begin());
}

// A row is a line.
// clang-format off

void add_autograd(Table& t) {
  using R = const std::shared_ptr<RandomStream>&;
  const auto copied = [](const Generator& g) { return g; };
  py::class_<HookHandle>(t.module, "HookHandle").def("remove", &HookHandle::remove, "Removes the hook.");
  py::class_<RandomStream, std::shared_ptr<RandomStream>>(t.module, "Generator")
      .def(py::init(&make_stream), py::arg("seed") = 0, py::arg("kind") = "torch", "A stream of random numbers: kind 'torch' (PyTorch's), 'torch-mkl' (with the dropout masks of its MKL builds) or 'philox' (the fastest).")
      .def("_become", [copied](R self, R other) { alone(self, [from = alone(other, copied)](Generator& g) { g = from; }); })
      .def("stream", [copied](R self, const std::string& use) { return std::make_shared<RandomStream>(alone(self, copied).stream(use)); }, py::arg("purpose"), "A separate stream of the same kind for one purpose.")
      .def("discard", [](R self, int64_t n) { alone(self, [n](Generator& g) { g.discard(n); }); }, py::arg("n"), "Skips n words of 32 bits.")
      .def("next", [](R self) { return alone(self, [](Generator& g) { return g.next(); }); }, "The next word of 32 bits.")
      .def("get_state", [copied](R self) { return alone(self, copied).state(); }, "The state as text.")
      .def("set_state", [](R self, const std::string& state) { alone(self, [&](Generator& g) { g.set_state(state); }); }, py::arg("state"), "Continues from what get_state() returned.");
  t.module.attr("default_generator") = default_stream();
  t(".backward(input, gradient=None, retain_graph=False, create_graph=False)", [](const Tensor& y, const Tensor& gy, bool retain, bool create) { backward_of({y}, {gy}, retain, create); });
  t(".register_hook(input, hook)", [](const Tensor& x, const std::function<Tensor(const Tensor&)>& hook) { return x.register_hook(GradHook(hook)); });
  t(".retain_grad(input)", of<retain_grad>);
  t(":_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)", of<grad_of>);
  t(":_backward(tensors, gradients, retain_graph, create_graph)", of<backward_of>);
  t(":_jacobian(function, x, create_graph)", [](const std::function<Tensor(const Tensor&)>& f, const Tensor& x, bool create_graph) { return differentiated({x}, [&] { return jacobian(f, x, {.create_graph = create_graph}); }); });
  t(":_hessian(function, x)", [](const std::function<Tensor(const Tensor&)>& f, const Tensor& x) { return differentiated({x}, [&] { return hessian(f, x); }); });
  t(":_per_example_gradients(losses, parameters, batch)", [](const std::function<Tensor(Tensors)>& losses, Tensors parameters, Tensors batch) { return per_example_gradients(losses, parameters, batch); });
  t(":_record_function(name, outputs, inputs, rule)", of<record_function>);
  t(":_checkpoint(function, inputs)", of<checkpoint_of>);
  t(":_gradcheck(function, inputs, order, eps, tolerance, directions, elementwise, seed)", of<gradcheck_of>);
  t(":graph_text(outputs, names={})", [](Tensors ys, const std::map<std::string, Tensor>& names) { return graph_text(ys, LeafNames(names.begin(), names.end())); });
  t(":graph_dot(outputs)", [](Tensors ys) { return graph_dot(ys); });
  t(":numpy_string(input)", [](const Tensor& x) { return numpy_string(x); });
  t(".__repr__ _string(input, precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None)", of<printed>);
  t(":is_grad_enabled()", of<grad_enabled>);
  t(":_set_grad_enabled(mode)", [](bool on) { set_mode<GradMode>(on); });
  t(":_is_anomaly_enabled()", [] { return autograd::anomaly_mode; });
  t(":_set_anomaly_enabled(mode)", [](bool on) { set_mode<AnomalyMode>(on); });
  t(":_autocast_dtype()", of<autocast_dtype>);
  t(":_set_autocast_dtype(dtype)", [](DType dtype) { set_mode<Autocast>(dtype); });
  t(":get_num_threads()", of<num_threads>);
  t(":set_num_threads(n)", of<set_num_threads>);
  t(":memory_bytes()", [] { return memory_use().bytes; });
}

// clang-format on

}  // namespace gradus::python
