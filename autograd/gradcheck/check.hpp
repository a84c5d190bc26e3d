// One run of gradcheck over one function: all that is asked of its gradients, noted in a report.
#pragma once

#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/numbers.hpp"
#include "gradus/autograd/gradcheck/report.hpp"
#include "gradus/autograd/random/random.hpp"

namespace gradus::gradchecking {

class Check {
 public:
  Check(const GradcheckOptions& options, GradcheckReport& report)
      : options_(options), report_(report), generator_(options.seed) {}

  /// `f` at order 1; its gradient at order 2. `checked`: which inputs.
  void run(int order, const Function& f, const std::vector<Tensor>& inputs,
           const std::vector<size_t>& checked);

  /// What order 2 differentiates at: random cotangents of the outputs that run() saw.
  std::vector<Tensor> cotangents() { return unflatten(random_cotangent(), outputs_); }

  /// Notes a condition that is no number.
  void require(bool holds, const std::string& what);

 private:
  static constexpr size_t kWhole = static_cast<size_t>(-1);  // not about one input

  template <class Describe>
  void note(double ratio, size_t k, const Describe& describe);
  template <class Where>
  void compare(double numeric, double analytic, double magnitude, size_t k, const Where& where);
  void require(bool holds, size_t k, const std::string& what);

  Numbers random_cotangent();
  std::vector<Tensor> analytic(const Numbers& cotangent) const;
  Numbers difference(size_t i, const Numbers& u) const;

  void check_form();
  void check_paths(const std::vector<Tensor>& cotangents, const std::vector<Tensor>& plain);
  void check_layouts();
  void check_layout(size_t k, const std::string& layout, const Tensor& packed, const Tensor& view);
  void check_directions();
  void check_elements();
  void explain();

  const GradcheckOptions& options_;
  GradcheckReport& report_;
  Generator generator_;
  int order_ = 1;
  Function f_;
  size_t first_ = 0;             // of this run's entries in report_.inputs
  bool failed_ = false;          // the worst failure so far is of this run,
  size_t blamed_ = kWhole;       // and about this one of checked_
  std::vector<size_t> checked_;  // which inputs
  std::vector<Tensor> inputs_;   // plain
  std::vector<Tensor> wanted_;   // the checked ones, as leaves
  std::vector<Tensor> outputs_;  // of f_ at the leaves
};

}  // namespace gradus::gradchecking
