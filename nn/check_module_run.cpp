// check_module(): the table of its checks.
#include "gradus/nn/check_module.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <string_view>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/files/error.hpp"
#include "gradus/nn/check_parts.hpp"

namespace gradus::nn {
namespace detail {
namespace {

constexpr const char* kFirstChanged = "deterministic";  // of the checks with changed parameters
constexpr double kRounding = 1e-4;  // relative, of float32 sums in another order over many layers

bool near(double a, double b) { return std::abs(a - b) <= kRounding * (1.0 + std::abs(b)); }
Got differs(double a, double b) { return near(a, b) ? "" : concat(a, " for ", b); }

/// Why a check cannot be made.
struct LeftOut {
  std::string why;
};

/// What another check got.
Got got(const CheckReport& report) {
  constexpr std::string_view kGot = ", got ";
  return report ? "" : report.message.substr(report.message.find(kGot) + kGot.size());
}

class Checks {
 public:
  Checks(const CheckedModule& checked, const ModuleCheckOptions& options)
      : model_(checked.model), x_(checked.x), y_(checked.y), c_(checked), o_(options) {}
  ModuleReport run();

 private:
  /// A check: what must hold, and where to look if it does not.
  struct Row {
    const char *name, *must, *hint;
    Got (Checks::*body)(Scratch& scratch);
  };
  static const Row kRows[];

  Tensor loss(const Tensor& x, const Tensor& y) const { return loss_of_copies(c_, x, y, o_.seed); }
  double value(const Tensor& x, const Tensor& y) const {
    const NoGrad off;
    return loss(x, y).item();
  }
  double value() const { return value(x_, y_); }

  Tensor outputs(const Tensor& x) const {
    if (!c_.outputs) throw LeftOut{"the model cannot be called as model(x) or model(x, dropout)"};
    const NoGrad off;
    Generator generator(o_.seed);
    return c_.outputs(clone(x), &generator);
  }
  Function outputs() const {
    return [this](const Tensor& x) { return outputs(x); };
  }

  /// The leaves that the loss depends on, each with an op that uses it.
  std::map<const autograd::Node*, std::string> leaves() const {
    std::map<const autograd::Node*, std::string> found;
    model_.train();
    if (const Tensor l = loss(x_, y_); l.requires_grad())
      for (const autograd::Node* op : autograd::ops_below({l.impl()->node.get()}))
        for (const autograd::Edge& edge : op->edges)
          if (edge.to && edge.to->is_leaf())
            found.emplace(edge.to.get(), concat(describe(*edge.to), " that ", op->op, " uses"));
    return found;
  }

  void need_examples() const {
    if (x_.dim() == 0 || (y_.defined() && (y_.dim() == 0 || y_.size(0) != x_.size(0))))
      throw LeftOut{"x and y do not have the same first dimension"};
  }
  void need_causal() const {
    const auto is_text = [](const Tensor& t) {
      return t.defined() && t.dtype() == DType::int64 && t.dim() == 2 && t.size(1) > 1;
    };
    const auto is_next = [&](int64_t T) {
      return is_text(y_) && same_bits(x_.slice(1, 1, T), y_.slice(1, 0, y_.size(1) - 1));
    };
    if (!o_.causal.value_or(is_text(x_) && is_next(x_.size(1))))
      throw LeftOut{"options.causal is not true, and y is not x one step later"};
  }

  // -- the checks

  Got parameters(Scratch& scratch) {
    for (const auto& [name, place, p, is_buffer] : scratch.slots) {
      if (is_buffer || (p.requires_grad() ? p.impl()->node->is_leaf() : p.impl()->frozen)) continue;
      return concat(name,
                    p.requires_grad() ? ", the result of an operation" : ", which requires no gradient");
    }
    return "";
  }

  Got listed(Scratch& scratch) {
    std::set<const autograd::Node*> known;
    for (const Scratch::Slot& slot : scratch.slots)
      for (const Tensor& t : {slot.original, *slot.place})
        if (t.requires_grad()) known.insert(t.impl()->node.get());
    for (const auto& [leaf, use] : leaves())
      if (!known.contains(leaf)) return "another " + use;
    return "";
  }

  Got tied(Scratch& scratch) {
    const auto found = leaves();
    model_.to(DType::float64);
    for (const Scratch::Slot& a : scratch.slots) {
      if (!a.original.requires_grad()) continue;
      if (const auto use = found.find(a.original.impl()->node.get()); use != found.end())
        return concat("another handle on ", a.name, ", a ", use->second);
      for (const Scratch::Slot& b : scratch.slots) {
        if (&a == &b) break;
        const bool is_tied = a.original.impl() == b.original.impl();
        if (is_tied ? a.place->impl() != b.place->impl()
                    : b.original.requires_grad() && same_bits(a.original, b.original) &&
                          !has_equal_rows(a.original.reshape({-1})))
          return concat(b.name, " and ", a.name,
                        is_tied ? ", which to() unties" : ", two tensors with equal values");
      }
    }
    const NamedParameters own = model_.named_parameters(), copied = c_.copy ? c_.copy() : own;
    for (size_t i = 0; i < own.size(); ++i)
      if (i >= copied.size() || copied[i].second.impl() != own[i].second.impl())
        return "a copy with another " + own[i].first;
    return "";
  }

  Got inputs(Scratch& scratch) {
    const Tensor x = clone(x_), y = clone(y_);
    for (const bool training : {true, false}) {
      model_.train(training);
      Generator generator(o_.seed);
      const Tensor l = c_.loss(x, y, &generator);
      if (l.requires_grad()) l.backward();
      if (!same_bits(x, x_)) return "another x";
      if (!same_bits(y, y_)) return "another y";
      for (const Scratch::Slot& slot : scratch.slots)
        if (!slot.is_buffer && !same_bits(*slot.place, slot.original)) return "another " + slot.name;
    }
    return "";
  }

  Got repeats(Scratch&) {
    model_.train();
    const NamedParameters all = model_.named_parameters();
    std::vector<Tensor> once;
    const Tensor first = loss(x_, y_);
    for (const auto& [name, p] : all)
      if (p.grad().defined()) return concat("a gradient of ", name, " before backward()");
    first.backward();
    for (const auto& [name, p] : all) once.push_back(clone(p.grad()));
    const Tensor second = loss(x_, y_);
    second.backward();
    if (!same_bits(first, second)) return concat(first.item(), " and then ", second.item());
    for (size_t i = 0; i < all.size(); ++i)
      if (once[i].defined() && !same_bits(all[i].second.grad(), once[i] + once[i]))
        return concat("a gradient of ", all[i].first, " that is not twice the first one after both");
    return "";
  }

  Got chance(Scratch&) {
    const double first = value();
    std::optional<double> guess = o_.chance_loss;
    double allowed = o_.chance_tolerance;
    if (!guess && c_.outputs && y_.defined() && y_.dtype() == DType::int64) {
      const Tensor o = outputs(x_);
      const int64_t V = o.dim() > 1 && is_floating(o.dtype()) ? o.size(-1) : 0;
      if (V > 0 && o.numel() == y_.numel() * V &&
          near(first, cross_entropy(o.reshape({-1, V}), y_.reshape({-1})).item())) {
        guess = std::log(static_cast<double>(V));
        allowed += 2.0 / std::sqrt(static_cast<double>(y_.numel()));  // a few targets spread
      }
    }
    if (!guess) throw LeftOut{"the loss is no cross_entropy() of outputs (..., V): set options.chance_loss"};
    return std::abs(first - *guess) <= allowed ? "" : concat(first, " for ", *guess);
  }

  const Training& trained() {
    if (training_) return *training_;
    training_ = train(c_, o_, o_.lr);
    if (Training slower; !training_->fitted && (slower = train(c_, o_, o_.lr / 10.0)).fitted)
      training_ = slower;
    return *training_;
  }
  Got overfit(Scratch&) {
    const Training& t = trained();
    return t.fitted ? "" : concat("a loss of ", t.last, " after ", o_.steps, " steps from ", t.first);
  }
  Got gradients(Scratch&) { return trained().gradients; }

  Got deterministic(Scratch&) {
    const Drawing call = [&](const Tensor& x, Generator* generator) {
      return c_.outputs ? c_.outputs(x, generator) : c_.loss(x, clone(y_), generator);
    };
    return got(detail::check_eval_deterministic(call, x_));
  }

  Got dropout(Scratch& scratch) {
    if (scratch.dropouts.empty()) throw LeftOut{"the model lists no Dropout with p > 0"};
    for (const auto& [name, place, original] : scratch.dropouts) *place = Dropout(0.0);
    model_.train();
    const double without = value();
    for (const auto& [name, place, original] : scratch.dropouts) {
      *place = original;
      place->train();
      if (value() == without) return "the same without " + name;
      *place = Dropout(0.0);
    }
    return "";
  }

  Got examples(Scratch&) {
    need_examples();
    const int64_t B = std::min<int64_t>(x_.size(0), 4);
    const Tensor x = x_.detach().slice(0, 0, B);
    if (B < 2 || has_equal_rows(x)) throw LeftOut{"the batch must have two different examples"};
    if (c_.outputs) return got(check_batch_invariant(outputs(), x, kRounding));
    const auto part = [&](int64_t begin, int64_t end) {
      return value(x.slice(0, begin, end), y_.defined() ? y_.slice(0, begin, end) : y_);
    };
    double alone = 0;
    for (int64_t b = 0; b < B; ++b) alone += part(b, b + 1) / static_cast<double>(B);
    return differs(alone, part(0, B));
  }

  Got mean(Scratch&) {
    need_examples();
    const double once = value(), twice = value(cat({x_, x_}, 0), y_.defined() ? cat({y_, y_}, 0) : y_);
    return differs(twice, once);
  }

  Got causal(Scratch&) {
    need_causal();
    return got(detail::check_causal(outputs(), x_, {.tolerance = kRounding}));
  }

  Got decode(Scratch&) {
    if (!c_.decode) throw LeftOut{"the model has no make_cache() and decode()"};
    need_causal();
    return got(c_.decode(x_, kRounding));
  }

  Got state(Scratch& scratch) {
    StateDict saved = model_.state_dict();
    for (auto& [name, values] : saved) values = clone(values);
    const double before = value();
    const Generator generator = Generator(o_.seed).stream("state");
    scratch.change(generator, /*buffers=*/true);
    Tensor x = clone(x_);
    change(x, generator.stream("x"));
    model_.train();
    value(x, y_);  // changes what training changes, such as running means
    model_.load_state_dict(saved);
    model_.eval();
    const double after = value();
    return before == after ? "" : concat("a loss of ", after, " for ", before);
  }

  Got float64(Scratch&) {
    for (const Tensor& p : model_.parameters())
      if (p.dtype() != DType::float32) throw LeftOut{"the parameters are not all float32"};
    const double single = value();
    model_.to(DType::float64);
    const Tensor l = loss(to_float64(x_), to_float64(y_));
    if (l.dtype() != DType::float64) return concat("a loss of dtype ", name(l.dtype()));
    return differs(l.item(), single);
  }

  Got gradcheck(Scratch& scratch) { return gradcheck_parameters(c_, o_, scratch); }

  Module& model_;
  const Tensor &x_, &y_;
  const CheckedModule& c_;
  const ModuleCheckOptions& o_;
  std::optional<Training> training_;
};

const Checks::Row Checks::kRows[] = {
    {"parameters", "each must be a leaf that requires a gradient, or be frozen",
     "call requires_grad_() on the initial value, or requires_grad_(false) to freeze it",
     &Checks::parameters},
    {"listed", "the loss must depend on no leaf but the parameters",
     "visit must list it, or it is not trained, saved and converted", &Checks::listed},
    {"tied", "tied parameters and copies of the model must share one tensor",
     "share the handle, head.weight = embed.weight, let visit list both, and look at the copy constructor",
     &Checks::tied},
    {"inputs", "a call must not overwrite the batch or the parameters",
     "look for copy_(), fill_() and mutable_data() of a view", &Checks::inputs},
    {"repeats", "two calls with one seed must give the same loss and gradients",
     "look for state kept between calls, other random numbers, and a loss that calls backward() or "
     "zero_grad()",
     &Checks::repeats},
    {"chance", "the loss at the start must be that of a guess",
     "if it is higher, scale the last layer's initial values; if lower, the outputs know the targets",
     &Checks::chance},
    {"overfit", "AdamW must fit the batch",
     "look for what hides the targets, such as a mask or a detach(); or set steps, lr or overfit_to",
     &Checks::overfit},
    {"gradients", "each parameter must get finite gradients and change, and its rows become different",
     "look for a detach(), a layer that is not called, dead units, and initial values that are equal",
     &Checks::gradients},
    {kFirstChanged, "evaluation must draw nothing", "", &Checks::deterministic},
    {"dropout", "each Dropout must change the loss in training mode",
     "the model must call it, and pass the generator on to it", &Checks::dropout},
    {"examples", "an example must give the same alone and in a batch", "", &Checks::examples},
    {"mean", "the loss of the batch twice must be that of the batch",
     "it must be a mean over examples, not a sum, and not mix them", &Checks::mean},
    {"causal", "no output may depend on a later input", "", &Checks::causal},
    {"decode", "decode() must give what a full call gives", "", &Checks::decode},
    {"state", "load_state_dict() must bring back what state_dict() had",
     "visit must list what a call changes, as v.buffer(name, tensor)", &Checks::state},
    {"float64", "the loss must be the same in float64",
     "look for a to(DType::float32), and for large numbers that cancel", &Checks::float64},
    {"gradcheck", "gradients must agree with differences", "", &Checks::gradcheck},
};

ModuleReport Checks::run() {
  for (const std::string& name : o_.skip)
    if (std::ranges::find(kRows, name, &Row::name) == std::end(kRows))
      fail("check_module", "skip must have names of checks, got ", name, ".");
  {
    const Scratch scratch(model_);
    model_.train();
    const Tensor l = loss(x_, y_);  // passes errors on
    if (l.numel() != 1) fail("check_module", "the loss must be a scalar, got ", l.shape(), ".");
  }
  ModuleReport report;
  bool changes = false;
  for (const auto& [name, must, hint, body] : kRows) {
    CheckFinding finding{name, CheckFinding::passed, must};
    changes = changes || name == kFirstChanged;
    Got seen;
    try {
      if (std::ranges::find(o_.skip, name) != o_.skip.end()) throw LeftOut{"options.skip names it"};
      Scratch scratch(model_);
      if (changes) scratch.change(Generator(o_.seed).stream("change"), /*buffers=*/false);
      seen = (this->*body)(scratch);
    } catch (const LeftOut& left) {
      finding = {name, CheckFinding::left_out, left.why};
    } catch (const Error& error) {
      seen = concat("the error \"", error.what(), "\"");
    }
    if (!seen.empty())
      finding = {name, CheckFinding::failed, concat(must, ", got ", seen, *hint ? ". Hint: " : "", hint)};
    report.findings.push_back(std::move(finding));
  }
  return report;
}

}  // namespace

ModuleReport check_module(const CheckedModule& checked, const ModuleCheckOptions& options) {
  const GradMode recording(true);
  return Checks(checked, options).run();
}

}  // namespace detail

std::vector<std::string> ModuleReport::failed() const {
  std::vector<std::string> names;
  for (const CheckFinding& finding : findings)
    if (finding.outcome == CheckFinding::failed) names.push_back(finding.name);
  return names;
}

std::ostream& operator<<(std::ostream& os, const ModuleReport& report) {
  constexpr const char* kOutcomes[] = {"ok    ", "FAIL  ", "-     "};
  for (const auto& [name, outcome, message] : report.findings)
    os << kOutcomes[outcome] << name << std::string(15 - name.size(), ' ') << message << "\n";
  return os;
}

}  // namespace gradus::nn
