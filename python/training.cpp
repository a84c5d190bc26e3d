// Optimizers, and fit(): the library's training loop on a module, a loss and batches of Python.
#include "gradus/python/layers.hpp"
#include "gradus/python/operation.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/optimizers/lion.hpp"
#include "gradus/train/optimizers/muon.hpp"
#include "gradus/train/optimizers/rmsprop.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "gradus/train/run.hpp"

namespace gradus::python {
namespace {

using train::Optimizer;
using train::ParameterGroups;
using Numbers = std::map<std::string, double>;

// Of all options of all kinds: those that a kind does not have are not given.
std::unique_ptr<Optimizer> make_optimizer(const std::string& kind, const nn::Module& module, Numbers o,
                                          bool decay_vectors) {
  const auto take = [&o](const char* name, double usual) {
    const auto found = o.find(name);
    if (found == o.end()) return usual;
    const double value = found->second;
    o.erase(found);
    return value;
  };
  const double decay = take("weight_decay", 0);
  const ParameterGroups groups =
      decay_vectors ? ParameterGroups{{.pattern = "*", .weight_decay = decay}} : ParameterGroups{};
  const train::AdamWOptions adamw{.beta1 = take("beta1", 0.9),
                                  .beta2 = take("beta2", 0.999),
                                  .eps = take("eps", 1e-8),
                                  .weight_decay = decay};
  const nn::NamedParameters parameters = module.named_parameters();
  if (kind == "adamw") return std::make_unique<train::AdamW>(parameters, adamw, groups);
  if (kind == "lion")
    return std::make_unique<train::Lion>(
        parameters, train::LionOptions{.beta1 = adamw.beta1, .beta2 = adamw.beta2, .weight_decay = decay},
        groups);
  const double momentum = take("momentum", 0);
  if (kind == "muon")
    return std::make_unique<train::Muon>(parameters, train::MuonOptions{.momentum = momentum, .adamw = adamw},
                                         groups);
  if (kind == "sgd")
    return std::make_unique<train::SGD>(
        parameters,
        train::SGDOptions{.momentum = momentum, .weight_decay = decay, .nesterov = take("nesterov", 0) != 0},
        groups);
  if (kind == "rmsprop")
    return std::make_unique<train::RMSprop>(parameters,
                                            train::RMSpropOptions{.alpha = take("alpha", 0.99),
                                                                  .eps = adamw.eps,
                                                                  .weight_decay = decay,
                                                                  .momentum = momentum,
                                                                  .centered = take("centered", 0) != 0},
                                            groups);
  fail("optimizer", "must be adamw, lion, muon, sgd or rmsprop, got ", kind, ".");
}

double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
  const double norm = train::grad_norm(parameters);
  const double scale = train::clip_scale(norm, max_norm);
  if (scale == 1) return norm;
  const NoGrad off;
  for (const Tensor& p : parameters)
    if (Tensor g = p.grad(); g.defined()) g.copy_(g * scale);
  return norm;
}

// The callables of a fit() in Python.
struct Callables {
  py::function loss, batches;  // loss(x, y, training), batches(batch, generator)
  py::object rate, on_step;    // may be None
  py::function stops;          // whether the run must stop
};

data::Batch batch_from(const py::object& pair) {
  const py::tuple both(pair);
  if (both.size() < 2) fail("fit", "a batch must be (inputs, targets), got ", both.size(), " values.");
  data::Batch batch{both[0].cast<Tensor>(), both[1].cast<Tensor>()};
  for (size_t i = 2; i < both.size(); ++i) batch.more.push_back(both[i].cast<Tensor>());
  return batch;
}

// Calls f, during which Python's default stream continues the given one.
template <class F>
auto with_stream(Generator* generator, const F& f) {
  if (!generator) return f();
  std::swap(default_stream()->generator, *generator);
  struct Back {
    Generator* generator;
    ~Back() { std::swap(default_stream()->generator, *generator); }
  } const back{generator};
  return f();
}

Tensor loss_of(const Callables& calls, const data::Batch& batch, Generator* dropout) {
  const py::gil_scoped_acquire lock;
  return with_stream(dropout, [&] {
    py::tuple given(2 + batch.more.size());
    given[0] = batch.x;
    given[1] = batch.y;
    for (size_t i = 0; i < batch.more.size(); ++i) given[2 + i] = batch.more[i];
    return calls.loss(given, dropout != nullptr).cast<Tensor>();
  });
}

train::Recipe recipe_of(const std::shared_ptr<Callables>& calls, const train::LoopOptions& loop) {
  train::Recipe recipe;
  recipe.loss = [calls](const data::Batch& batch, Generator* dropout) {
    return loss_of(*calls, batch, dropout);
  };
  recipe.batches = [calls](int64_t batch, Generator& generator) {
    const py::gil_scoped_acquire lock;
    return with_stream(&generator, [&] { return batch_from(calls->batches(batch)); });
  };
  if (!calls->rate.is_none())
    recipe.schedule = [calls](int64_t step) {
      const py::gil_scoped_acquire lock;
      return calls->rate(step).cast<double>();
    };
  recipe.loop = loop;
  return recipe;
}

train::LoopOptions loop_from(const Numbers& given) {
  train::LoopOptions loop;
  const std::map<std::string, int64_t*> wholes{{"steps", &loop.steps},       {"batch", &loop.batch},
                                               {"accum", &loop.accum},       {"micro", &loop.micro},
                                               {"seed", &loop.seed},         {"eval_every", &loop.eval_every},
                                               {"patience", &loop.patience}, {"save_every", &loop.save_every},
                                               {"keep", &loop.keep}};
  const std::map<std::string, double*> numbers{{"clip", &loop.clip}, {"ema", &loop.ema}};
  for (const auto& [name, value] : given) {
    if (wholes.count(name))
      *wholes.at(name) = static_cast<int64_t>(value);
    else if (numbers.count(name))
      *numbers.at(name) = value;
    else
      fail("fit", "has no option '", name, "'.");
  }
  return loop;
}

// Shows each step to Python, which may stop the run.
class PythonObserver : public train::Observer {
 public:
  PythonObserver(const py::object& on_step, const py::function& stops) : on_step_(on_step), stops_(stops) {}
  void on_step(const train::StepReport& report) override {
    const py::gil_scoped_acquire lock;
    if (!on_step_.is_none())
      on_step_(py::dict(py::arg("step") = report.step, py::arg("loss") = report.loss,
                        py::arg("lr") = report.lr, py::arg("grad_norm") = report.grad_norm));
  }
  void on_eval(const train::EvalReport& report) override {
    const py::gil_scoped_acquire lock;
    if (!on_step_.is_none())
      on_step_(py::dict(py::arg("step") = report.step, py::arg("val_loss") = report.val_loss));
  }
  bool should_stop() override {
    const py::gil_scoped_acquire lock;
    return stops_().cast<bool>();
  }

 private:
  const py::object& on_step_;
  const py::function& stops_;
};

py::dict fit(nn::Module& module, const std::shared_ptr<Callables>& calls, const std::string& folder,
             const py::list& validation, const py::object& optimizer, const Numbers& options) {
  train::Recipe recipe = recipe_of(calls, loop_from(options));
  if (!optimizer.is_none()) {
    const auto given = optimizer.cast<std::tuple<std::string, Numbers, bool>>();
    recipe.optimizer = make_optimizer(std::get<0>(given), module, std::get<1>(given), std::get<2>(given));
  }
  std::vector<data::Batch> batches;
  for (const py::handle pair : validation)
    batches.push_back(batch_from(py::reinterpret_borrow<py::object>(pair)));
  PythonObserver observer(calls->on_step, calls->stops);
  train::RunReport report;
  {
    const py::gil_scoped_release unlocked;
    train::Trainer trainer(module, std::move(recipe));
    if (folder.empty())
      while (trainer.steps_done() < trainer.recipe().loop.steps && !observer.should_stop())
        observer.on_step(trainer.step());
    else
      report = train::fit(trainer, folder, batches, observer);
    report.steps = trainer.steps_done();
  }
  return py::dict(py::arg("steps") = report.steps, py::arg("val_loss") = report.val_loss,
                  py::arg("finished") = report.finished || folder.empty());
}

}  // namespace

void add_training(py::module_& m) {
  py::class_<Optimizer>(m, "Optimizer")
      .def(py::init(&make_optimizer))
      .def(
          "step", [](Optimizer& self, double lr) { self.step(lr); }, py::call_guard<py::gil_scoped_release>())
      .def("state_dict", &Optimizer::state_dict)
      .def("load_state_dict", &Optimizer::load_state_dict)
      .def_property_readonly("steps", &Optimizer::steps);
  m.def("clip_grad_norm", &clip_grad_norm);
  py::class_<Callables, std::shared_ptr<Callables>>(m, "Callables")
      .def(py::init<py::function, py::function, py::object, py::object, py::function>());
  m.def("fit", &fit);
}

}  // namespace gradus::python
