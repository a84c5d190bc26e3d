// Optimizers, and fit(): the library's training loop on a module, a loss and batches of Python.
#include "gradus/python/layers.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/optimizers/lion.hpp"
#include "gradus/train/optimizers/muon.hpp"
#include "gradus/train/optimizers/rmsprop.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "gradus/train/run.hpp"

namespace gradus::python {
namespace {

using namespace py::literals;
using train::Optimizer;
// The options of an optimizer; Python gives all that its kind has.
using Numbers = std::map<std::string, double>;

std::unique_ptr<Optimizer> make_optimizer(const std::string& kind, const nn::Module& module, Numbers o,
                                          bool decay_vectors) {
  const nn::NamedParameters parameters = module.named_parameters();
  const double decay = o["weight_decay"], momentum = o["momentum"];
  train::ParameterGroups groups;
  if (decay_vectors) groups.push_back({.pattern = "*", .weight_decay = decay});
  const train::AdamWOptions adamw{{}, o["beta1"], o["beta2"], o["eps"], decay};
  const train::LionOptions lion{{}, adamw.beta1, adamw.beta2, decay};
  const train::SGDOptions sgd{{}, momentum, decay, o["nesterov"] != 0};
  const train::RMSpropOptions rmsprop{{}, o["alpha"], adamw.eps, decay, momentum, o["centered"] != 0};
  if (kind == "adamw") return std::make_unique<train::AdamW>(parameters, adamw, groups);
  if (kind == "lion") return std::make_unique<train::Lion>(parameters, lion, groups);
  if (kind == "muon")
    return std::make_unique<train::Muon>(parameters, train::MuonOptions{{}, momentum, adamw}, groups);
  if (kind == "sgd") return std::make_unique<train::SGD>(parameters, sgd, groups);
  return std::make_unique<train::RMSprop>(parameters, rmsprop, groups);
}

double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
  const double norm = train::grad_norm(parameters);
  const double scale = train::clip_scale(norm, max_norm);
  const NoGrad off;
  for (const Tensor& p : parameters)
    if (Tensor g = p.grad(); g.defined() && scale != 1) g.copy_(g * scale);
  return norm;
}

data::Batch batch_from(const std::vector<Tensor>& parts) {
  if (parts.size() < 2) fail("fit", "a batch must be (inputs, targets), got ", parts.size(), " values.");
  return {parts[0], parts[1], {parts.begin() + 2, parts.end()}};
}

// Calls f, during which Python's default stream continues the given one.
template <class F>
auto with_stream(Generator* generator, const F& f) {
  const py::gil_scoped_acquire lock;
  const auto swap = [](Generator* given) { std::swap(default_stream()->generator, *given); };
  if (generator) swap(generator);
  const std::unique_ptr<Generator, decltype(swap)> back(generator, swap);
  return f();
}

// Shows each step to Python, which may stop the run.
class PythonObserver : public train::Observer {
 public:
  PythonObserver(const py::object& on_step, const std::function<bool()>& stops)
      : on_step_(on_step), stops_(stops) {}
  void on_step(const train::StepReport& r) override {
    show([&] {
      return py::dict("step"_a = r.step, "loss"_a = r.loss, "lr"_a = r.lr, "grad_norm"_a = r.grad_norm);
    });
  }
  void on_eval(const train::EvalReport& r) override {
    show([&] { return py::dict("step"_a = r.step, "val_loss"_a = r.val_loss); });
  }
  bool should_stop() override { return stops_(); }

 private:
  template <class F>
  void show(const F& report) {
    const py::gil_scoped_acquire lock;
    if (!on_step_.is_none()) on_step_(report());
  }
  const py::object& on_step_;
  const std::function<bool()>& stops_;
};

using Chosen = std::optional<std::pair<std::string, Numbers>>;

// loss(batch, training), batches(batch), rate(step), on_step(report) and stops() are Python's.
py::dict fit(const std::shared_ptr<nn::Module>& module,
             const std::function<Tensor(std::vector<Tensor>, bool)>& loss,
             const std::function<std::vector<Tensor>(int64_t)>& batches, const std::string& folder,
             const std::vector<std::vector<Tensor>>& validation, const Chosen& optimizer,
             const std::function<double(int64_t)>& rate, const py::object& on_step,
             const std::function<bool()>& stops, const train::LoopOptions& loop) {
  train::Recipe recipe;
  recipe.schedule = rate;
  recipe.loop = loop;
  if (optimizer)  // vectors do not decay
    recipe.optimizer = make_optimizer(optimizer->first, *module, optimizer->second, false);
  recipe.loss = [&](const data::Batch& batch, Generator* dropout) {
    std::vector<Tensor> parts{batch.x, batch.y};
    parts.insert(parts.end(), batch.more.begin(), batch.more.end());
    return with_stream(dropout, [&] { return loss(parts, dropout != nullptr); });
  };
  recipe.batches = [&](int64_t batch, Generator& generator) {
    return with_stream(&generator, [&] { return batch_from(batches(batch)); });
  };
  std::vector<data::Batch> held_out;
  for (const std::vector<Tensor>& parts : validation) held_out.push_back(batch_from(parts));
  PythonObserver observer(on_step, stops);
  train::RunReport report;
  {
    const py::gil_scoped_release unlocked;
    train::Trainer trainer(*module, std::move(recipe));
    if (folder.empty()) {
      while (trainer.steps_done() < loop.steps && !stops()) observer.on_step(trainer.step());
      if (!held_out.empty()) report.val_loss = trainer.validation_loss(held_out);
    } else {
      report = train::fit(trainer, folder, held_out, observer);
    }
    report.steps = trainer.steps_done();
  }
  return py::dict("steps"_a = report.steps, "val_loss"_a = report.val_loss,
                  "finished"_a = report.finished || folder.empty());
}

}  // namespace

void add_training(Table& t) {
  // clang-format off
  py::class_<Optimizer>(t.module, "Optimizer")
      .def(py::init(&make_optimizer))
      .def("step", [](Optimizer& self, double lr) { self.step(lr); }, py::call_guard<py::gil_scoped_release>())
      .def("state_dict", &Optimizer::state_dict)
      .def("load_state_dict", &Optimizer::load_state_dict);
#define FIELD(name) .def_readwrite(#name, &train::LoopOptions::name)
  py::class_<train::LoopOptions>(t.module, "LoopOptions").def(py::init<>())
      FIELD(steps) FIELD(batch) FIELD(accum) FIELD(micro) FIELD(clip) FIELD(seed) FIELD(ema) FIELD(precision)
      FIELD(eval_every) FIELD(patience) FIELD(save_every) FIELD(keep);
  // clang-format on
  t(":_clip_grad_norm(parameters, max_norm)", of<clip_grad_norm>);
  t(":_fit(module, loss, batches, folder, validation, optimizer, rate, on_step, stops, loop)", of<fit>);
}

}  // namespace gradus::python
