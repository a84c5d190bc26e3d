// What holds for every list of gradcheck's cases.
#pragma once

#include <map>
#include <set>

#include "autograd/case_leaves.hpp"

namespace gradus::testing {

/// The error that f throws in AnomalyMode.
template <class F>
std::string anomaly_of(const F& f) {
  const AnomalyMode on;
  return error_of(f);
}

/// Each of `ops` has cases at orders 1 and 2, and each case is for one of them.
inline void check_covered(const std::vector<GradcheckCase>& cases, const std::set<std::string>& ops) {
  std::map<std::string, int> highest;
  for (const GradcheckCase& c : cases) highest[c.op] = std::max(highest[c.op], c.max_order);
  for (const std::string& op : ops) {
    INFO("operation " << op << " needs a case in autograd/gradcheck/cases/ that is checked at order 2");
    CHECK(highest[op] == 2);
  }
  for (const auto& [op, order] : highest) {
    INFO("a case is for " << op << ", which is no op");
    CHECK(ops.contains(op));
  }
}

/// Names are unique, and the numbers the same as those of `again`.
inline void check_same(const std::vector<GradcheckCase>& cases, const std::vector<GradcheckCase>& again) {
  std::set<std::string> names;
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].op << ": " << cases[i].name);
    CHECK(names.insert(cases[i].op + ": " + cases[i].name).second);
    REQUIRE(cases[i].inputs.size() == again[i].inputs.size());
    for (size_t k = 0; k < cases[i].inputs.size(); ++k)
      CHECK(difference(cases[i].inputs[k], again[i].inputs[k], 0) == "");
  }
}

/// All pass, in forward mode too, and Taylor remainders fall by four. Returns the number of comparisons.
inline int64_t check_pass(const std::vector<GradcheckCase>& cases) {
  int64_t checks = 0;
  for (const GradcheckCase& c : cases) {
    const GradcheckReport r = run_gradcheck(c, 2);
    INFO(c.op << ": " << c.name << ": " << r.message);
    CHECK(r.passed);
    CHECK(r.checks >= 5);
    CHECK((r.unwitnessed.empty() || c.op == "to"));  // which rounds to float32
    CHECK(std::max(r.gaps[0], r.gaps[1]) < 1e-12);
    CHECK((r.rate == 0 || std::abs(r.rate - 4) < 0.2));
    checks += r.checks;
  }
  return checks;
}

/// Dropping the result frees the graph and what it kept.
inline void check_freed(const std::vector<GradcheckCase>& cases) {
  for (const GradcheckCase& c : cases) {
    INFO(c.op << ": " << c.name);
    const std::vector<Tensor> leaves = leaves_of(c.inputs);
    const auto counts = [&] {
      std::vector<uint32_t> n;
      for (const Tensor& x : leaves) {
        n.push_back(x.impl()->storage->use_count());
        n.push_back(x.impl()->use_count());
        if (x.requires_grad()) n.push_back(x.impl()->node->use_count());
      }
      return n;
    };
    const std::vector<uint32_t> before = counts();
    { c.f(leaves); }
    CHECK(counts() == before);
    {
      const Tensor y = c.f(leaves);
      y.backward(ones(y.shape(), y.dtype()));
    }
    CHECK(counts() == before);
    {
      const Tensor y = c.f(leaves);
      gradients_of_sum(y, leaves, /*create_graph=*/true);
    }
    CHECK(counts() == before);
  }
}

/// Every op notices an overwritten input or does not need it.
inline void check_overwriting(const std::vector<GradcheckCase>& cases) {
  for (const GradcheckCase& c : cases) {
    for (size_t k = 0; k <= c.inputs.size(); ++k) {  // the last round overwrites the result
      const auto gradients = [&](bool overwrite) {
        std::vector<Tensor> fresh;
        for (const Tensor& x : c.inputs) {
          fresh.push_back(empty(x.shape(), x.dtype()));
          fresh.back().copy_(x);
        }
        const std::vector<Tensor> leaves = leaves_of(fresh);
        const Tensor y = c.f(leaves);
        if (overwrite) (k < leaves.size() ? leaves[k] : y).detach().fill_(0.25);
        return gradients_of_sum(y, leaves);
      };
      INFO(c.op << ": " << c.name << ", overwriting "
                << (k < c.inputs.size() ? concat("input ", k) : "the result"));
      const std::vector<Tensor> right = gradients(false);
      try {
        const std::vector<Tensor> after = gradients(true);
        for (size_t i = 0; i < right.size(); ++i) CHECK(difference(after[i], right[i], 0) == "");
      } catch (const Error& e) {
        CHECK_HAS(e.what(), "has been overwritten since it was used");
      }
    }
  }
}

/// None is an anomaly, and gradients keep their bits.
inline void check_no_anomaly(const std::vector<GradcheckCase>& cases) {
  for (const GradcheckCase& c : cases) {
    INFO(c.op << ": " << c.name);
    const std::vector<Tensor> leaves = leaves_of(c.inputs);
    const auto gradients = [&] { return gradients_of_sum(c.f(leaves), leaves); };
    const std::vector<Tensor> plain = gradients();
    std::vector<Tensor> watched;
    CHECK(anomaly_of([&] { watched = gradients(); }) == "");
    for (size_t i = 0; i < watched.size(); ++i) CHECK(difference(watched[i], plain[i], 0) == "");
  }
}

/// Each operation names itself if a tensor of its is undefined, or does without; not so `others`, "op place".
inline void check_undefined(const std::vector<GradcheckCase>& cases, const std::set<std::string>& others) {
  std::map<std::string, bool> is_answered;  // by operation and place among its tensors
  for (const GradcheckCase& c : cases)
    for (size_t k = 0; k < c.inputs.size(); ++k) {
      std::vector<Tensor> inputs = c.inputs;
      inputs[k] = Tensor();
      const std::string said = error_of([&] { c.f(inputs); });
      INFO(c.op << ": " << c.name << ", input " << k << ": " << said);
      CHECK((said.empty() || said[0] == '['));
      is_answered[concat(c.op, " ", k)] |= said.empty() || said.starts_with(concat("[", c.op, "]"));
    }
  for (const auto& [place, answered] : is_answered) {
    INFO(place);
    CHECK(answered == !others.contains(place));
  }
}

}  // namespace gradus::testing
