// The checks of check_module() that follow gradients.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/nn/check_parts.hpp"

namespace gradus::nn::detail {
Training train(const CheckedModule& c, const ModuleCheckOptions& o, double lr) {
  const Scratch scratch(c.model);
  struct Trained {
    std::string name;
    Tensor p, before, m, v;
    double largest = -1;  // gradient; -1: none
  };
  std::vector<Trained> all;
  for (const auto& [name, p] : c.model.named_parameters())
    if (const Tensor zero = zeros(p.shape(), p.dtype()); p.requires_grad())
      all.push_back({name, p, clone(p), zero, zero});
  Training t;
  const auto value = [&] {
    const NoGrad off;
    return loss_of_copies(c, c.x, c.y, o.seed).item();
  };
  t.first = value();
  Generator dropout = Generator(o.seed).stream("dropout");
  for (int64_t step = 1; step <= o.steps && !t.fitted; ++step) {
    c.model.train();
    c.model.zero_grad();
    c.loss(clone(c.x), clone(c.y), &dropout).backward();
    const double n = static_cast<double>(step);
    const NoGrad off;
    for (auto& [name, p, before, m, v, largest] : all) {
      const Tensor g = p.grad();
      if (!g.defined() || g.numel() == 0) continue;
      if (const double size = amax(abs(g)).item(); !(size <= largest)) largest = size;
      m = m * 0.9 + g * 0.1;
      v = v * 0.999 + g * g * 0.001;
      p.copy_(p - m / (sqrt(v / (1 - std::pow(0.999, n))) + 1e-8) * (lr / (1 - std::pow(0.9, n))));
    }
    if (step % 10 != 0 && step != o.steps) continue;
    c.model.eval();
    t.last = value();
    t.fitted = t.first > 0 ? t.last <= o.overfit_to * t.first : t.last < t.first;
  }
  std::map<std::string, std::string> names;  // of the parameters with each fault
  for (const auto& [name, p, before, m, v, largest] : all) {
    const char* fault = nullptr;
    if (largest <= 0)
      fault = largest < 0 ? "no gradient for " : "only zeros for ";
    else if (!std::isfinite(largest))
      fault = "NaN or infinity for ";
    else if (same_bits(p, before))
      fault = "no change of ";
    else if (p.dim() > 1 && has_equal_rows(p))
      fault = "equal rows in ";
    if (fault) names[fault] += concat(names[fault].empty() ? "" : ", ", name);
  }
  if (!names.empty()) t.gradients = names.begin()->first + names.begin()->second;
  return t;
}

Got gradcheck_parameters(const CheckedModule& c, const ModuleCheckOptions& o, const Scratch& scratch) {
  c.model.to(DType::float64);
  c.model.train();
  const Tensor x = to_float64(c.x), y = to_float64(c.y);
  std::vector<Tensor> values;
  std::vector<std::string> names;
  std::map<const autograd::TensorImpl*, size_t> index;  // tied ones once
  for (const auto& [name, place, original, is_buffer] : scratch.slots) {
    if (is_buffer || !place->requires_grad() || !index.emplace(original.impl(), values.size()).second)
      continue;
    values.push_back(place->detach());
    names.push_back(name);
  }
  const GradcheckFunction f = [&](const std::vector<Tensor>& in) {
    for (const Scratch::Slot& slot : scratch.slots)
      if (const auto at = index.find(slot.original.impl()); at != index.end()) *slot.place = in[at->second];
    return loss_of_copies(c, x, y, o.seed);
  };
  GradcheckOptions options{.order = o.order, .directions = 2, .seed = o.seed};
  if (gradcheck(f, values, options)) return "";
  // A difference may cross a kink, such as relu's at 0. A wrong gradient fails with a shorter one too.
  options.eps = 1e-7;
  options.tolerance = 1e-5;
  GradcheckReport report = gradcheck(f, values, options);
  if (report) return "";
  const size_t worst = std::ranges::max_element(report.inputs, {}, &GradcheckInput::worst)->input;
  options.elementwise = 1024;
  if (worst < values.size() && values[worst].numel() <= options.elementwise) {
    // A direction does not tell the element; one parameter alone does.
    values[worst] = values[worst].detach().requires_grad_();
    if (const GradcheckReport alone = gradcheck(f, values, options); !alone) report = alone;
  }
  const GradcheckInput& at = *std::ranges::max_element(report.inputs, {}, &GradcheckInput::worst);
  if (at.input >= names.size() || !std::isfinite(at.worst)) return report.message;
  return concat(names[at.input], at.where.substr(at.where.find(' ', std::string_view("input ").size())),
                ", order ", at.order, ": numeric ", at.numeric, ", analytic ", at.analytic,
                report.cause.empty() ? "" : "; likely cause: ", report.cause);
}

}  // namespace gradus::nn::detail
