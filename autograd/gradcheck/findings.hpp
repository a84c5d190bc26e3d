// Findings: collects the comparisons of gradcheck() and writes its report. Internal.
#pragma once

#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/differences.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"

namespace gradus::gradchecking {

inline constexpr size_t kWhole = static_cast<size_t>(-1);  ///< not about one input

/// Counts comparisons and chooses the failure that the message is about: the worst wrong gradient of the
/// first order that has one; without one, the first place that differences cannot judge.
class Findings {
 public:
  enum class Kind { nothing, unjudged_line, unjudged_place, wrong };

  Findings(const GradcheckOptions& options, GradcheckReport& report) : options_(options), report_(report) {}

  /// The calls that follow are about these inputs at this order.
  void start(int order, const std::vector<size_t>& checked);
  /// An error as a multiple of the allowed one, of checked input k.
  void note(double ratio, size_t k, const std::string& text, Kind kind = Kind::wrong);
  /// The result of a comparison with differences; `unjudged`: what it is if they cannot judge.
  void note(const Verdict& verdict, size_t k, const std::string& where, Kind unjudged);
  /// A condition that is not a number.
  void require(bool holds, size_t k, const std::string& text) { note(holds ? 0 : kInfinity, k, text); }

  GradcheckReport& report() { return report_; }
  GradcheckInput& input(size_t k) { return report_.inputs[first_ + k]; }  ///< since start()
  /// Whether a failure was found that differences can judge,
  bool is_wrong() const { return kind_ == Kind::wrong; }
  /// and whether the message is about one since start(), of which checked input.
  bool failed() const { return failed_; }
  size_t blamed() const { return blamed_; }

 private:
  const GradcheckOptions& options_;
  GradcheckReport& report_;
  int order_ = 1;
  size_t first_ = 0;           // of this order's entries in report_.inputs
  Kind kind_ = Kind::nothing;  // what the message is about,
  int kind_order_ = 1;         // at which order,
  double worst_ = 0;           // and how large that error is
  bool failed_ = false;
  size_t blamed_ = kWhole;
};

}  // namespace gradus::gradchecking
