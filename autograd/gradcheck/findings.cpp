#include "gradus/autograd/gradcheck/findings.hpp"

namespace gradus::gradchecking {

void Findings::start(int order, const std::vector<size_t>& checked) {
  order_ = order;
  failed_ = false;
  blamed_ = kWhole;
  first_ = report_.inputs.size();
  for (const size_t i : checked) report_.inputs.push_back({.input = i, .order = order});
}

void Findings::note(double ratio, size_t k, const std::string& text, Kind kind) {
  ++report_.checks;
  if (!std::isfinite(ratio)) ratio = kInfinity;
  if (k != kWhole) input(k).worst = std::max(input(k).worst, ratio);
  report_.worst = std::max(report_.worst, ratio);
  if (ratio <= 1 || kind < kind_ || (kind == kind_ && ratio <= worst_)) return;
  if (is_wrong() && kind_order_ < order_) return;
  kind_ = kind;
  kind_order_ = order_;
  worst_ = is_wrong() ? ratio : kInfinity;
  failed_ = is_wrong();
  blamed_ = k;
  report_.message = concat("order ", order_, ": ", text, "; seed ", options_.seed);
}

void Findings::note(const Verdict& verdict, size_t k, const std::string& where, Kind unjudged) {
  if (!(verdict.ratio <= input(k).worst)) {
    input(k).where = where;
    input(k).numeric = verdict.numeric;
    input(k).analytic = verdict.analytic;
  }
  if (verdict.ratio <= 1) return note(verdict.ratio, k, "");
  if (verdict.kind == Verdict::wrong)
    return note(verdict.ratio, k,
                concat(where, ": ", verdict.text, "numeric ", verdict.numeric, ", analytic ",
                       verdict.analytic, ", error ", std::abs(verdict.numeric - verdict.analytic)));
  note(verdict.ratio, k,
       concat(where, ": ", verdict.text, "; analytic ", verdict.analytic,
              ". Hint: differences cannot check a rule there; choose other inputs"),
       unjudged);
}

}  // namespace gradus::gradchecking
