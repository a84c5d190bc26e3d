#include "gradus/autograd/gradcheck/wrong_op.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "gradus/autograd/gradcheck/differences.hpp"
#include "gradus/autograd/gradcheck/form.hpp"
#include "gradus/autograd/graph/listing.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::gradchecking {
namespace {

using autograd::Node;

constexpr size_t kMostOps = 1000;  // each costs backward passes through those before it

// One call of a function, with the result of each op, oldest first.
struct Call {
  Call(const Function& f, std::vector<Tensor> inputs, const std::vector<size_t>& checked) {
    const KeepValues on;
    for (const size_t i : checked) leaves.push_back(inputs[i] = inputs[i].detach().requires_grad_());
    arguments = inputs;
    result = f(inputs)[0];
    if (result.requires_grad()) ops = autograd::ops_below({result.impl()->node.get()});
  }

  std::vector<Tensor> arguments, leaves;  // all inputs; the checked ones
  Tensor result;
  std::vector<const Node*> ops;
};

// The checked inputs moved by distance * u.
std::vector<Tensor> moved(std::vector<Tensor> inputs, const std::vector<size_t>& checked,
                          const std::vector<Tensor>& u, double distance) {
  for (size_t k = 0; k < checked.size(); ++k) inputs[checked[k]] = inputs[checked[k]] + distance * u[k];
  return inputs;
}

Tensor step(const Tensor& x) { return maximum(abs(x), full({}, 0.01, DType::float64)); }

class Search {
 public:
  Search(const Function& f, const std::vector<Tensor>& inputs, const std::vector<size_t>& checked,
         const GradcheckOptions& options)
      : f_(f), inputs_(inputs), checked_(checked), options_(options), here_(f, inputs, checked) {}

  // The oldest op that is wrong along a random direction, or along one element of a small input.
  GradcheckOp at_order(int order) {
    order_ = order;
    found_ = {};
    Generator generator(options_.seed);
    for (int i = 0; i < options_.directions; ++i) {
      std::vector<Tensor> u;
      for (const Tensor& x : here_.leaves)
        u.push_back(randn(x.shape(), generator, DType::float64) * step(x.detach()));
      look_along(u, generator);
    }
    for (size_t k = 0; k < checked_.size() && found_.number == 0; ++k) {
      const Tensor x = here_.leaves[k].detach();
      const auto n = static_cast<size_t>(x.numel());
      for (size_t j = 0; x.numel() <= options_.elementwise && j < n; ++j) {
        std::vector<Tensor> u;
        for (const Tensor& other : here_.leaves) u.push_back(zeros(other.shape(), DType::float64));
        Numbers unit(n, 0.0);
        unit[j] = 1;
        u[k] = tensor(unit, x.shape()) * step(x);
        look_along(u, generator);
      }
    }
    return found_;
  }

  // Whether f gives the same each time; else differences mean nothing.
  bool is_possible() const {
    if (here_.ops.empty() || here_.ops.size() > kMostOps) return false;
    const Call again(f_, inputs_, checked_);
    return is_same_graph(again) && flatten({again.result}) == flatten({here_.result});
  }

 private:
  bool is_same_graph(const Call& call) const {
    const auto text = [](const Node* op) { return autograd::describe(*op); };
    return std::ranges::equal(call.ops, here_.ops, {}, text, text);
  }

  // Calls by their distance along a line; none where the graph is another one.
  using Calls = std::map<double, std::unique_ptr<Call>>;

  const Call* call_at(double t, const std::vector<Tensor>& u, Calls& calls) const {
    const auto [at, is_new] = calls.try_emplace(t);
    if (is_new) {
      at->second = std::make_unique<Call>(f_, moved(inputs_, checked_, u, t), checked_);
      if (!is_same_graph(*at->second)) at->second = nullptr;
    }
    return at->second.get();
  }

  void look_along(const std::vector<Tensor>& u, Generator& generator) {
    Calls calls;
    if (!call_at(options_.eps, u, calls) || !call_at(-options_.eps, u, calls)) return;
    const size_t end = found_.number == 0 ? here_.ops.size() : found_.number - 1;
    for (size_t c = 0; c < end; ++c) {
      const Tensor y = autograd::tensor_at(*here_.ops[c]);
      if (y.dtype() != DType::float64 || y.shape() != here_.ops[c]->shape) continue;  // of several results
      const Tensor v = randn(y.shape(), generator, DType::float64);
      const Tensor dv = randn(y.shape(), generator, DType::float64) * step(v);
      GradcheckOp op{.number = c + 1, .op = autograd::describe(*here_.ops[c]), .order = order_};
      if (!is_right(op, calls, u, v, dv, generator)) {
        found_ = std::move(op);
        return;
      }
    }
  }

  // The op's result, or at order 2 its gradients for the cotangent v.
  std::vector<Tensor> outputs(const Call& call, size_t c, const Tensor& v, bool create_graph) const {
    const std::vector<Tensor> y{autograd::tensor_at(*call.ops[c])};
    return order_ == 1 ? y : gradients(y, call.leaves, {v}, create_graph);
  }

  // Whether the rule is right as far as differences can judge.
  bool is_right(GradcheckOp& op, Calls& calls, std::vector<Tensor> u, Tensor v, const Tensor& dv,
                Generator& generator) const {
    const size_t c = op.number - 1;
    try {
      const std::vector<Tensor> leaves = u;
      std::vector<Tensor> arguments = here_.leaves, w;
      const Tensor upstream = v;
      if (order_ == 2) {
        arguments.push_back(v = v.detach().requires_grad_());
        u.push_back(dv);
      }
      const std::vector<Tensor> out = outputs(here_, c, v, true);
      for (const Tensor& t : out) w.push_back(randn(t.shape(), generator, DType::float64));
      const Numbers weight = flatten(w), direction = flatten(u);
      Line line([&](double t) {
        const Call* const call = t == 0 ? &here_ : call_at(t, leaves, calls);
        return call ? flatten(outputs(*call, c, upstream + t * dv, false))
                    : Numbers(weight.size(), std::nan(""));
      });
      Numbers terms = flatten(gradients(out, arguments, w, false));
      for (size_t j = 0; j < terms.size(); ++j) terms[j] *= direction[j];
      const Verdict verdict = judge(line, weight, terms, options_);
      op.numeric = verdict.numeric;
      op.analytic = verdict.analytic;
      for (const Layout& layout : layouts(w[0]))
        if (order_ == 1 && !agree(flatten(gradients(out, here_.leaves, {layout.view}, false)),
                                  flatten(gradients(out, here_.leaves, {layout.packed}, false)))) {
          op.error = "gives another gradient if the upstream gradient is " + layout.name;
          return false;
        }
      return verdict.kind != Verdict::wrong;
    } catch (const Error& e) {  // of the rule
      op.error = e.what();
      return false;
    }
  }

  const Function& f_;
  const std::vector<Tensor>& inputs_;
  const std::vector<size_t>& checked_;
  const GradcheckOptions& options_;
  const Call here_;
  int order_ = 1;
  GradcheckOp found_;
};

}  // namespace

void find_wrong_op(const Function& f, const std::vector<Tensor>& inputs, const std::vector<size_t>& checked,
                   const GradcheckOptions& options, GradcheckReport& report) {
  Search search(f, inputs, checked, options);
  if (!search.is_possible()) return;
  for (int order = 1; order <= options.order && report.wrong_op.number == 0; ++order)
    report.wrong_op = search.at_order(order);
  if (const GradcheckOp& op = report.wrong_op; op.number > 0)
    report.message += concat("; first wrong rule: %", op.number, " = ", op.op);
}

void inspect(const Function& f, const std::vector<Tensor>& inputs, const std::vector<size_t>& checked,
             const GradcheckOptions& options, const GradcheckReport& report) {
  const Call call(f, inputs, checked);
  Generator generator(options.seed);
  CheckedGraph graph{report, call.result, randn(call.result.shape(), generator, DType::float64), {}};
  for (size_t i = 0; i < inputs.size(); ++i)
    graph.names.emplace_back(i < options.names.size() ? options.names[i] : concat("input ", i),
                             call.arguments[i]);
  options.inspect(graph);
}

}  // namespace gradus::gradchecking
