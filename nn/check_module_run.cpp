// check_module(): the table of its checks.
#include "gradus/nn/check_module.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/files/error.hpp"
#include "gradus/nn/check_parts.hpp"

namespace gradus::nn {
namespace detail {
namespace {

/// Why a check cannot be made.
struct LeftOut {
  std::string why;
};

bool near(double a, double b) { return std::abs(a - b) <= 1e-4 * (1.0 + std::abs(b)); }
Got differs(double a, double b) { return near(a, b) ? "" : concat(a, " for ", b); }

/// The checked model, and what its checks share.
struct Run {
  const CheckedModule& c;
  const ModuleCheckOptions& o;
  Module& model = c.model;
  const Tensor &x = c.x, &y = c.y;
  Scratch* scratch = nullptr;  // of one check
  std::optional<Training> training{};

  Tensor loss(const Tensor& in, const Tensor& targets) const {
    return loss_of_copies(c, in, targets, o.seed);
  }
  double value(const Tensor& in, const Tensor& targets) const {
    const NoGrad off;
    return loss(in, targets).item();
  }
  double value() const { return value(x, y); }
  OutputsOf outputs() const {
    if (!c.outputs) throw LeftOut{"the model cannot be called as model(x) or model(x, dropout)"};
    return [this](const Tensor& in) {
      const NoGrad off;
      Generator generator(o.seed);
      return c.outputs(clone(in), &generator);
    };
  }

  /// The leaves that the loss depends on, each with an op that uses it.
  std::map<const autograd::Node*, std::string> leaves() const {
    std::map<const autograd::Node*, std::string> found;
    model.train();
    if (const Tensor l = loss(x, y); l.requires_grad())
      for (const autograd::Node* op : autograd::ops_below({l.impl()->node.get()}))
        for (const autograd::Edge& edge : op->edges)
          if (edge.to && edge.to->is_leaf())
            found.emplace(edge.to.get(), concat(describe(*edge.to), " that ", op->op, " uses"));
    return found;
  }

  void need_examples() const {
    if (x.dim() == 0 || (y.defined() && (y.dim() == 0 || y.size(0) != x.size(0))))
      throw LeftOut{"x and y do not have the same first dimension"};
  }
  void need_causal() const {
    const auto is_text = [](const Tensor& t) {
      return t.defined() && t.dtype() == DType::int64 && t.dim() == 2 && t.size(1) > 1;
    };
    const bool is_next =
        is_text(x) && is_text(y) && same_bits(x.slice(1, 1, x.size(1)), y.slice(1, 0, y.size(1) - 1));
    if (!o.causal.value_or(is_next))
      throw LeftOut{"options.causal is not true, and y is not x one step later"};
  }

  const Training& trained() {
    if (!training) training = train(c, o);
    return *training;
  }
};

/// A check: what must hold, and where to look if it does not.
struct Row {
  const char *name, *must, *hint;
  enum { initial, changed } values;  // of the parameters
  Got (*body)(Run& r);
};

constexpr Row kRows[] = {
    {"parameters", "each must be a leaf that requires a gradient, or be frozen",
     "call requires_grad_() on the initial value, or requires_grad_(false) to freeze it", Row::initial,
     [](Run& r) -> Got {
       for (const auto& [name, place, p, is_buffer] : r.scratch->slots)
         if (!is_buffer && !(p.requires_grad() ? p.impl()->node->is_leaf() : p.impl()->frozen))
           return concat(name,
                         p.requires_grad() ? ", the result of an operation" : ", which requires no gradient");
       return "";
     }},
    {"listed", "the loss must depend on no leaf but the parameters",
     "visit must list it, or it is not trained, saved and converted", Row::initial,
     [](Run& r) -> Got {
       std::set<const autograd::Node*> known;
       for (const Scratch::Slot& slot : r.scratch->slots)
         for (const Tensor& t : {slot.original, *slot.place})
           if (t.requires_grad()) known.insert(t.impl()->node.get());
       for (const auto& [leaf, use] : r.leaves())
         if (!known.contains(leaf)) return "another " + use;
       return "";
     }},
    {"tied", "tied parameters and copies of the model must share one tensor",
     "share the handle, head.weight = embed.weight, let visit list both, and look at the copy constructor",
     Row::initial,
     [](Run& r) -> Got {
       const auto found = r.leaves();
       r.model.to(DType::float64);
       for (const Scratch::Slot& a : r.scratch->slots) {
         if (!a.original.requires_grad()) continue;
         if (const auto use = found.find(a.original.impl()->node.get()); use != found.end())
           return concat("another handle on ", a.name, ", a ", use->second);
         for (const Scratch::Slot& b : r.scratch->slots) {
           if (&a == &b) break;
           if (a.original.impl() == b.original.impl()) {
             if (a.place->impl() != b.place->impl())
               return concat(b.name, " and ", a.name, ", which to() unties");
           } else if (b.original.requires_grad() && same_bits(a.original, b.original) &&
                      !has_equal_rows(a.original.reshape({-1}))) {
             return concat(b.name, " and ", a.name, ", two tensors with equal values");
           }
         }
       }
       const NamedParameters own = r.model.named_parameters(), copied = r.c.copy ? r.c.copy() : own;
       for (size_t i = 0; i < own.size(); ++i)
         if (i >= copied.size() || copied[i].second.impl() != own[i].second.impl())
           return "a copy with another " + own[i].first;
       return "";
     }},
    {"inputs", "a call must not overwrite the batch or the parameters",
     "look for copy_(), fill_() and mutable_data() of a view", Row::initial,
     [](Run& r) -> Got {
       const Tensor x = clone(r.x), y = clone(r.y);
       for (const bool training : {true, false}) {
         r.model.train(training);
         Generator generator(r.o.seed);
         if (const Tensor l = r.c.loss(x, y, &generator); l.requires_grad()) l.backward();
         if (!same_bits(x, r.x)) return "another x";
         if (!same_bits(y, r.y)) return "another y";
         for (const Scratch::Slot& slot : r.scratch->slots)
           if (!slot.is_buffer && !same_bits(*slot.place, slot.original)) return "another " + slot.name;
       }
       return "";
     }},
    {"repeats", "two calls with one seed must give the same loss and gradients",
     "look for state kept between calls, other random numbers, and a loss that calls backward() or "
     "zero_grad()",
     Row::initial,
     [](Run& r) -> Got {
       r.model.train();
       const NamedParameters all = r.model.named_parameters();
       std::vector<Tensor> once;
       const Tensor first = r.loss(r.x, r.y);
       for (const auto& [name, p] : all)
         if (p.grad().defined()) return concat("a gradient of ", name, " before backward()");
       first.backward();
       for (const auto& [name, p] : all) once.push_back(clone(p.grad()));
       const Tensor second = r.loss(r.x, r.y);
       second.backward();
       if (!same_bits(first, second)) return concat(first.item(), " and then ", second.item());
       for (size_t i = 0; i < all.size(); ++i)
         if (once[i].defined() && !same_bits(all[i].second.grad(), once[i] + once[i]))
           return concat("a gradient of ", all[i].first, " that is not twice the first one after both");
       return "";
     }},
    {"chance", "the loss at the start must be that of a guess",
     "if it is higher, scale the last layer's initial values; if lower, the outputs know the targets",
     Row::initial,
     [](Run& r) -> Got {
       const double first = r.value();
       std::optional<double> guess = r.o.chance_loss;
       double allowed = r.o.chance_tolerance;
       if (!guess && r.c.outputs && r.y.defined() && r.y.dtype() == DType::int64) {
         const Tensor o = r.outputs()(r.x);
         const int64_t V = o.dim() > 1 && is_floating(o.dtype()) ? o.size(-1) : 0;
         if (V > 0 && o.numel() == r.y.numel() * V &&
             near(first, cross_entropy(o.reshape({-1, V}), r.y.reshape({-1})).item())) {
           guess = std::log(static_cast<double>(V));
           allowed += 2.0 / std::sqrt(static_cast<double>(r.y.numel()));  // a few targets spread
         }
       }
       if (!guess)
         throw LeftOut{"the loss is no cross_entropy() of outputs (..., V): set options.chance_loss"};
       return std::abs(first - *guess) <= allowed ? "" : concat(first, " for ", *guess);
     }},
    {"overfit", "gradient steps must fit the batch",
     "look for what hides the targets, such as a mask or a detach(); or set steps, lr or overfit_to",
     Row::initial,
     [](Run& r) -> Got {
       const Training& t = r.trained();
       return t.fitted ? "" : concat("a loss of ", t.last, " after ", r.o.steps, " steps from ", t.first);
     }},
    {"gradients", "each parameter must get finite gradients and change, and its rows become different",
     "look for a detach(), a layer that is not called, dead units, and initial values that are equal",
     Row::initial, [](Run& r) { return r.trained().gradients; }},
    {"deterministic", "evaluation must give the same bits twice, and draw nothing",
     "look for dropout that eval() does not reach, in a layer that visit does not list, and for state kept "
     "between calls",
     Row::changed,
     [](Run& r) -> Got {
       // Two streams, because a model that draws from a copy of its generator does not advance it.
       Generator first(1), second(2);
       const auto call = [&](Generator& g) {
         return clone(r.c.outputs ? r.c.outputs(clone(r.x), &g) : r.c.loss(clone(r.x), clone(r.y), &g));
       };
       const Tensor once = call(first), again = call(second);
       if (!(first == Generator(1) && second == Generator(2))) return "draws from the generator";
       const auto changed = change(once, again, 0.0);
       return changed ? changed->text() : "";
     }},
    {"dropout", "each Dropout must change the loss in training mode",
     "the model must call it, and pass the generator on to it", Row::changed,
     [](Run& r) -> Got {
       const std::vector<Scratch::Drop>& dropouts = r.scratch->dropouts;
       if (dropouts.empty()) throw LeftOut{"the model lists no Dropout with p > 0"};
       for (const auto& [name, place, original] : dropouts) *place = Dropout(0.0);
       r.model.train();
       const double without = r.value();
       for (const auto& [name, place, original] : dropouts) {
         *place = original;
         place->train();
         if (r.value() == without) return "the same without " + name;
         *place = Dropout(0.0);
       }
       return "";
     }},
    {"examples", "an example must give the same alone, in a batch, and in another order",
     "look for statistics or sums over dimension 0, and for the index of an example", Row::changed,
     [](Run& r) -> Got {
       r.need_examples();
       const int64_t B = std::min<int64_t>(r.x.size(0), 4);
       const Tensor x = r.x.detach().slice(0, 0, B);
       if (B < 2 || has_equal_rows(x)) throw LeftOut{"the batch must have two different examples"};
       if (r.c.outputs) return examples_alone(r.outputs(), x);
       const auto part = [&](int64_t begin, int64_t end) {
         return r.value(x.slice(0, begin, end), r.y.defined() ? r.y.slice(0, begin, end) : r.y);
       };
       double alone = 0;
       for (int64_t b = 0; b < B; ++b) alone += part(b, b + 1) / static_cast<double>(B);
       return differs(alone, part(0, B));
     }},
    {"mean", "the loss of the batch twice must be that of the batch",
     "it must be a mean over examples, not a sum, and not mix them", Row::changed,
     [](Run& r) {
       r.need_examples();
       const double once = r.value();
       return differs(r.value(cat({r.x, r.x}, 0), r.y.defined() ? cat({r.y, r.y}, 0) : r.y), once);
     }},
    {"causal", "no output may depend on a later input", "", Row::changed,
     [](Run& r) -> Got {
       r.need_causal();
       const CheckFinding found = check_causal(r.outputs(), r.x, {.tolerance = 1e-4});
       constexpr std::string_view kGot = ", got ";
       return found ? "" : found.message.substr(found.message.find(kGot) + kGot.size());
     }},
    {"decode", "decode() must give what a full call gives", "", Row::changed,
     [](Run& r) {
       if (!r.c.start) throw LeftOut{"the model has no make_cache() and decode()"};
       r.need_causal();
       return decoded(r.outputs(), r.c.start, r.x);
     }},
    {"state", "load_state_dict() must bring back what state_dict() had",
     "visit must list what a call changes, as v.buffer(name, tensor)", Row::changed,
     [](Run& r) -> Got {
       StateDict saved = r.model.state_dict();
       for (auto& [name, values] : saved) values = clone(values);
       const double before = r.value();
       const Generator generator = Generator(r.o.seed).stream("state");
       r.scratch->change(generator, /*buffers=*/true);
       Tensor x = clone(r.x);
       change_at_random(x, generator.stream("x"));
       r.model.train();
       r.value(x, r.y);  // changes what training changes, such as running means
       r.model.load_state_dict(saved);
       r.model.eval();
       const double after = r.value();
       return before == after ? "" : concat("a loss of ", after, " for ", before);
     }},
    {"float64", "the loss must be the same in float64",
     "look for a to(DType::float32), and for large numbers that cancel", Row::changed,
     [](Run& r) -> Got {
       for (const Tensor& p : r.model.parameters())
         if (p.dtype() != DType::float32) throw LeftOut{"the parameters are not all float32"};
       const double single = r.value();
       r.model.to(DType::float64);
       const Tensor l = r.loss(to_float64(r.x), to_float64(r.y));
       if (l.dtype() != DType::float64) return concat("a loss of dtype ", name(l.dtype()));
       return differs(l.item(), single);
     }},
    {"gradcheck", "gradients must agree with differences", "", Row::changed,
     [](Run& r) { return gradcheck_parameters(r.c, r.o, *r.scratch); }},
};

CheckFinding check(const Row& row, Run& run) {
  Got seen;
  try {
    if (std::ranges::find(run.o.skip, row.name) != run.o.skip.end()) throw LeftOut{"options.skip names it"};
    Scratch scratch(run.model);
    if (row.values == Row::changed) scratch.change(Generator(run.o.seed).stream("change"), /*buffers=*/false);
    run.scratch = &scratch;
    seen = row.body(run);
  } catch (const LeftOut& left) {
    return {row.name, CheckFinding::left_out, left.why};
  } catch (const Error& error) {
    seen = concat("the error \"", error.what(), "\"");
  }
  if (seen.empty()) return {row.name, CheckFinding::passed, row.must};
  return {row.name, CheckFinding::failed,
          concat(row.must, ", got ", seen, *row.hint ? ". Hint: " : "", row.hint)};
}

}  // namespace

ModuleReport check_module(const CheckedModule& checked, const ModuleCheckOptions& options) {
  const GradMode recording(true);
  Run run{checked, options};
  for (const auto& names : {options.skip, options.only})
    for (const std::string& name : names)
      if (std::ranges::find(kRows, name, &Row::name) == std::end(kRows))
        fail("check_module", "skip and only must have names of checks, got ", name, ".");
  {
    const Scratch scratch(run.model);
    run.model.train();
    const Tensor l = run.loss(run.x, run.y);  // passes errors on
    if (l.numel() != 1) fail("check_module", "the loss must be a scalar, got ", l.shape(), ".");
  }
  ModuleReport report;
  for (const Row& row : kRows)
    if (options.only.empty() || std::ranges::find(options.only, row.name) != options.only.end())
      report.findings.push_back(check(row, run));
  return report;
}

}  // namespace detail

std::vector<std::string> ModuleReport::failed() const {
  std::vector<std::string> names;
  for (const CheckFinding& finding : findings)
    if (finding.outcome == CheckFinding::failed) names.push_back(finding.name);
  return names;
}

std::ostream& operator<<(std::ostream& os, const CheckFinding& finding) {
  return os << "[" << finding.name << "] " << finding.message;
}

std::ostream& operator<<(std::ostream& os, const ModuleReport& report) {
  constexpr const char* kOutcomes[] = {"ok    ", "FAIL  ", "-     "};
  for (const auto& [name, outcome, message] : report.findings)
    os << kOutcomes[outcome] << name << std::string(15 - name.size(), ' ') << message << "\n";
  return os;
}

}  // namespace gradus::nn
