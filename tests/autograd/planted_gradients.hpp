// The suite is checked: a wrong gradient planted into any op's case must be caught, by differences alone and
// by the dot-product test alone. Nothing in the engine helps: a case's result is recorded again, with a rule
// that computes the true gradients and spoils one.
#pragma once

#include <map>
#include <set>

#include "autograd/case_leaves.hpp"
#include "gradus/autograd/gradcheck/differences.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::testing {

inline Tensor rolled(const Tensor& t) {
  const Tensor flat = t.reshape({-1});
  return t.numel() < 2 ? t : cat({flat.slice(0, 1, t.numel()), flat.slice(0, 0, 1)}, 0).reshape(t.shape());
}

inline Tensor flipped(const Tensor& t) {
  if (t.dim() == 0 || t.size(-1) < 2) return t;
  return index_select(t, -1,
                      arange(0, static_cast<double>(t.size(-1))) * full({}, -1, DType::int64) +
                          full({}, static_cast<double>(t.size(-1) - 1), DType::int64));
}

inline Tensor first_is_nan(const Tensor& t) {
  if (t.numel() == 0) return t;
  const Tensor first = eq(arange(0, static_cast<double>(t.numel())), 0.0).reshape(t.shape());
  return masked_fill(t, first, std::nan(""));
}

// Keeps one slice: the first, as if a sum over a broadcast dimension is missing; the last, if none is added.
inline Tensor only_slice(const Tensor& t, int64_t dim, bool last) {
  if (t.dim() == 0 || t.numel() == 0) return t;
  const int64_t at = last ? t.size(dim) - 1 : 0;
  return pad(t.slice(dim, at, at + 1), dim, t.size(dim), at);
}

struct Mutant {
  const char* name;
  Tensor (*upstream)(const Tensor& gy);  // the cotangent that the true rule is given instead
  Tensor (*result)(const Tensor& gx);    // what is made of its gradient
};

inline Tensor same(const Tensor& t) { return t; }

inline constexpr const char* kSmallest = "scaled by 1 + 1e-7";
inline const std::vector<Mutant> kMutants = {
    {"scaled by 1.001", same, [](const Tensor& g) { return g * 1.001; }},
    {kSmallest, same, [](const Tensor& g) { return g * (1 + 1e-7); }},
    {"doubled", same, [](const Tensor& g) { return g * 2.0; }},
    {"zeroed", same, [](const Tensor& g) { return g * 0.0; }},
    {"sign flipped", same, [](const Tensor& g) { return neg(g); }},
    {"NaN", same, first_is_nan},
    {"elements rolled", same, rolled},
    {"last axis flipped", same, flipped},
    {"axes swapped", same, [](const Tensor& g) { return g.dim() < 2 ? g : g.mT().reshape(g.shape()); }},
    {"upstream ignored", [](const Tensor& gy) { return ones(gy.shape(), gy.dtype()); }, same},
    {"upstream rolled", rolled, same},
    {"sum over first axis forgotten", [](const Tensor& gy) { return only_slice(gy, 0, false); }, same},
    {"sum over last axis forgotten", [](const Tensor& gy) { return only_slice(gy, -1, false); }, same},
    {"assigned, not added", [](const Tensor& gy) { return only_slice(gy, 0, true); }, same},
    {"divided by one too many",
     [](const Tensor& gy) {
       return gy * (static_cast<double>(gy.numel()) / static_cast<double>(gy.numel() + 1));
     },
     same},
};
// Those that change any gradient that is not zero, so every op must have met them.
inline const std::set<std::string> kAlwaysApply = {"scaled by 1.001",        "doubled", "zeroed",
                                                   "sign flipped",           "NaN",     "upstream ignored",
                                                   "divided by one too many"};

// The gradients of f by the inputs that require them; undefined for others.
inline std::vector<Tensor> gradients_of(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                                        const Tensor& gy, bool create_graph) {
  std::vector<Tensor> wanted, all(inputs.size());
  for (const Tensor& x : inputs)
    if (x.requires_grad()) wanted.push_back(x);
  const std::vector<Tensor> g =
      grad({f(inputs)}, wanted, {.grad_outputs = {gy}, .create_graph = create_graph, .allow_unused = true});
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].requires_grad()) all[i] = g[next++];
  return all;
}

// The true gradients of f by the inputs that are floating; undefined for others.
inline std::vector<Tensor> true_gradients(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                                          const Tensor& gy) {
  const GradMode on(true);
  return gradients_of(f, leaves_of(inputs), gy, /*create_graph=*/false);
}

inline Tensor mutated(const GradcheckFunction& f, const std::vector<Tensor>& inputs, const Tensor& gy,
                      size_t k, const Mutant& m) {
  const Tensor g = true_gradients(f, inputs, m.upstream(gy))[k];
  return g.defined() ? m.result(g) : zeros(inputs[k].shape(), inputs[k].dtype());
}

/// Which part of the checker sees the forward pass of f.
enum class Judge {
  differences,  ///< its values leave the library, so that there is no forward mode
  dot_product,  ///< forward mode follows it
};

// The result of f with the rule that follows.
inline Tensor recorded(Judge judge, const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                       JointRule rule) {
  const Tensor y = f(inputs).detach();
  const Tensor values = judge == Judge::dot_product ? y : tensor(y.to_vector<double>(), y.shape());
  return record(OpName::custom("planted"), values, inputs, std::move(rule));
}

// f with the gradient of input k spoilt.
inline GradcheckFunction planted(Judge judge, const GradcheckFunction& f, size_t k, const Mutant& m) {
  return [judge, f, k, &m](const std::vector<Tensor>& inputs) {
    return recorded(judge, f, inputs, [=, &m](const Tensor& gy, const Tensor&, Needs) {
      std::vector<Tensor> g = true_gradients(f, inputs, gy);
      g[k] = mutated(f, inputs, gy, k, m);
      return g;
    });
  };
}

inline double largest_change(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double change = std::abs(x[i] - y[i]) / (1 + std::abs(x[i]));
    largest = std::max(largest, std::isnan(change) ? 1.0 : change);
  }
  return largest;
}

// Directions alone must do: looking at each element is for saying where.
inline GradcheckOptions options_of(const GradcheckCase& c, int order) {
  return {.order = order, .eps = c.eps, .tolerance = c.tolerance, .elementwise = 0, .shrinking = 0};
}

/// Which mutants were planted into each op.
class Tally {
 public:
  /// Checks a function that `make` makes for each judge.
  template <class Make>
  void add(const GradcheckCase& c, const std::string& mutant, const std::vector<Tensor>& inputs, int order,
           const Make& make) {
    INFO(mutant << " | " << c.op << " | " << c.name);
    const GradcheckReport alone = gradcheck(make(Judge::differences), inputs, options_of(c, order));
    CHECK_FALSE(alone.passed);
    const GradcheckReport followed = gradcheck(make(Judge::dot_product), inputs, options_of(c, order));
    CHECK_FALSE(followed.passed);
    const bool is_seen =
        followed.gaps[order - 1] > gradchecking::kGap || followed.unwitnessed == "it computes in float32";
    CHECK(is_seen);
    planted_[c.op].insert(mutant);
  }

  void expect_all_met(const std::set<std::string>& mutants, const std::set<std::string>& ops) {
    for (const std::string& op : ops)
      for (const std::string& mutant : mutants) {
        INFO(op << " has no case in which this changes anything: " << mutant);
        CHECK(planted_[op].contains(mutant));
      }
  }

 private:
  std::map<std::string, std::set<std::string>> planted_;
};

/// Plants each mutant into the rule of each of `ops`: in the first case and input that show it, or in `all`.
inline void plant_gradients(const std::vector<GradcheckCase>& cases, const std::set<std::string>& ops,
                            bool all) {
  Generator generator(3);
  Tally tally;
  std::set<std::string> planted_before;
  for (const GradcheckCase& c : cases) {
    const Tensor y = c.f(c.inputs);
    const Tensor gy = randn(y.shape(), generator, DType::float64);
    for (size_t k = 0; k < c.inputs.size(); ++k) {
      if (!is_floating(c.inputs[k].dtype())) continue;
      const Tensor truth = true_gradients(c.f, c.inputs, gy)[k];
      std::vector<Tensor> inputs = c.inputs;
      inputs[k] = inputs[k].detach().requires_grad_();
      for (const Mutant& m : kMutants) {
        if (!all && planted_before.contains(concat(c.op, " ", m.name))) continue;
        if (largest_change(truth, mutated(c.f, c.inputs, gy, k, m)) < 1e-9) continue;
        if (std::string_view(m.name) == kSmallest && std::string_view(c.op) == "to")
          continue;  // float32 rounds it away
        planted_before.insert(concat(c.op, " ", m.name));
        tally.add(c, m.name, inputs, 1, [&](Judge judge) { return planted(judge, c.f, k, m); });
      }
    }
  }
  tally.expect_all_met(kAlwaysApply, ops);
}

// f with the right gradients, whose own derivative is `factor` times the right one.
inline GradcheckFunction with_wrong_second(Judge judge, const GradcheckFunction& f, double factor) {
  return [judge, f, factor](const std::vector<Tensor>& inputs) {
    return recorded(judge, f, inputs, [=](const Tensor& gy, const Tensor&, Needs) {
      if (!grad_enabled()) return true_gradients(f, inputs, gy);
      std::vector<Tensor> g = gradients_of(f, inputs, gy, /*create_graph=*/true);
      for (size_t i = 0; i < inputs.size(); ++i)
        if (g[i].defined())
          g[i] = g[i].detach() + factor * (g[i] - g[i].detach());
        else if (inputs[i].requires_grad())
          g[i] = zeros(inputs[i].shape(), inputs[i].dtype());
      return g;
    });
  };
}

// Whether the gradient of f changes at all with the inputs or the cotangent.
inline bool has_second_derivative(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                                  Generator& generator) {
  const std::vector<Tensor> leaves = leaves_of(inputs);
  std::vector<Tensor> wanted = floating(leaves);
  const Tensor y = f(leaves);
  const Tensor gy = randn(y.shape(), generator, DType::float64).requires_grad_();
  const std::vector<Tensor> g =
      grad({y}, wanted, {.grad_outputs = {gy}, .create_graph = true, .allow_unused = true});
  wanted.push_back(gy);
  std::vector<Tensor> attached, v;
  for (const Tensor& gx : g) {
    if (!gx.defined() || !gx.requires_grad()) continue;
    attached.push_back(gx);
    v.push_back(randn(gx.shape(), generator, DType::float64));
  }
  if (attached.empty()) return false;
  for (const Tensor& second : grad(attached, wanted, {.grad_outputs = v, .allow_unused = true}))
    if (second.defined() && largest_change(zeros(second.shape(), DType::float64), second) > 1e-9) return true;
  return false;
}

inline void plant_second_derivatives(const std::vector<GradcheckCase>& cases,
                                     const std::set<std::string>& ops, bool all) {
  Generator generator(4);
  Tally tally;
  std::set<std::string> planted_before;
  for (const GradcheckCase& c : cases) {
    if (c.max_order < 2 || (!all && planted_before.contains(std::string(c.op)))) continue;
    if (!has_second_derivative(c.f, c.inputs, generator)) continue;
    planted_before.emplace(c.op);
    for (const auto& [name, factor] :
         {std::pair<const char*, double>{"lost", 0.0}, {"scaled by 1.001", 1.001}})
      tally.add(c, name, c.inputs, 2,
                [&, factor = factor](Judge judge) { return with_wrong_second(judge, c.f, factor); });
  }
  tally.expect_all_met({"lost", "scaled by 1.001"}, ops);
}

}  // namespace gradus::testing
