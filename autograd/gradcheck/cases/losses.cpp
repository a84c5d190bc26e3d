// cross_entropy and mse_loss.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

constexpr std::pair<const char*, Reduction> kReductions[] = {
    {"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}};

void add_cross_entropy(CaseList& list) {
  Values v(1001);
  const auto add = [&](const std::string& name, const Shape& logits, const std::vector<int64_t>& target,
                       int64_t ignore_index) {
    for (const auto& [form, reduction] : kReductions) {
      list.add("cross_entropy", name + ", " + form, {v.normal(logits), ints(target, {logits[0]})},
               [ignore_index, reduction = reduction](Inputs x) {
                 return cross_entropy(x[0], x[1], ignore_index, reduction);
               });
    }
  };
  add("plain", {4, 3}, {2, 0, 1, 2}, -100);
  add("some ignored", {4, 3}, {2, -100, 1, -100}, -100);
  add("a class ignored", {4, 3}, {2, 0, 1, 2}, 2);
  add("one class", {3, 1}, {0, 0, 0}, -100);
  add("one row", {1, 5}, {3}, -100);
  add("more classes than a vector", {2, 37}, {36, 0}, -100);
  const Tensor target = ints({2, 0, 1}, {3});
  list.add("cross_entropy", "no rows, sum", {v.normal({0, 3}), ints({}, {0})},
           [](Inputs x) { return cross_entropy(x[0], x[1], -100, Reduction::sum); });
  list.add("cross_entropy", "far from 0", {v.normal({3, 4}), target},
           [](Inputs x) { return cross_entropy(x[0] + 1e2, x[1]); });
  list.add("cross_entropy", "transposed", {v.normal({4, 3}), target},
           [](Inputs x) { return cross_entropy(x[0].mT(), x[1]); });
  list.add("cross_entropy", "sliced", {v.normal({3, 9}), target},
           [](Inputs x) { return cross_entropy(x[0].slice(1, 0, 9, 2), x[1]); });
  list.add("cross_entropy", "expanded", {v.normal({1, 4}), target}, [](Inputs x) {
    return cross_entropy(x[0].expand({3, 4}), x[1]);
  });
  list.add("cross_entropy", "targets are a view", {v.normal({3, 4}), ints({2, 9, 0, 9, 1, 9}, {3, 2})},
           [](Inputs x) { return cross_entropy(x[0], x[1].select(1, 0)); });
}

// Weights and smoothing, for targets that are classes.
void add_weighed_cross_entropy(CaseList& list) {
  Values v(1003);
  const auto add = [&](const std::string& name, const Shape& logits, const Tensor& target,
                       const CrossEntropyOptions& options) {
    for (const auto& [form, reduction] : kReductions) {
      CrossEntropyOptions with = options;
      with.reduction = reduction;
      list.add("cross_entropy", name + ", " + form, {v.normal(logits), target},
               [with](Inputs x) { return cross_entropy(x[0], x[1], with); });
    }
  };
  const Tensor target = ints({2, 0, 1, 2}, {4}), some_ignored = ints({2, -100, 1, -100}, {4});
  const Tensor weight = v.positive({3});
  add("weights", {4, 3}, target, {.weight = weight});
  add("weights, some ignored", {4, 3}, some_ignored, {.weight = weight});
  add("smoothing", {4, 3}, target, {.label_smoothing = 0.3});
  add("smoothing, some ignored", {4, 3}, some_ignored, {.label_smoothing = 0.3});
  add("weights and smoothing, a class ignored", {4, 3}, target,
      {.weight = weight, .ignore_index = 2, .label_smoothing = 0.1});
  add("nothing but smoothing", {4, 3}, target, {.label_smoothing = 1.0});
  add("one row of classes", {3}, ints({1}, {}), {.weight = weight, .label_smoothing = 0.2});
  add("classes inside", {2, 3, 2}, ints({2, 0, 1, 2}, {2, 2}), {});
  add("classes inside, weights and smoothing", {2, 3, 1, 2}, ints({2, 0, 1, -100}, {2, 1, 2}),
      {.weight = weight, .label_smoothing = 0.2});
}

void add_cross_entropy_of_probabilities(CaseList& list) {
  Values v(1004);
  const auto add = [&](const std::string& name, const Shape& logits, const CrossEntropyOptions& options) {
    for (const auto& [form, reduction] : kReductions) {
      CrossEntropyOptions with = options;
      with.reduction = reduction;
      list.add("cross_entropy", name + ", " + form, {v.normal(logits), v.positive(logits)},
               [with](Inputs x) { return cross_entropy(x[0], x[1], with); });
    }
  };
  const Tensor weight = v.positive({3});
  add("probabilities", {4, 3}, {});
  add("probabilities, weights", {4, 3}, {.weight = weight});
  add("probabilities, smoothing", {4, 3}, {.label_smoothing = 0.3});
  add("probabilities inside", {2, 3, 2}, {.weight = weight, .label_smoothing = 0.2});
  add("probabilities of one row", {3}, {});
  list.add("cross_entropy", "probabilities and weights, all with gradients",
           {v.normal({2, 3}), v.positive({2, 3}), v.positive({3})},
           [](Inputs x) { return cross_entropy(x[0], x[1], {.weight = x[2]}); });
  list.add("cross_entropy", "probabilities from logits, transposed", {v.normal({3, 2}), v.normal({3, 2})},
           [](Inputs x) { return cross_entropy(x[0].mT(), softmax(x[1].mT(), 1), CrossEntropyOptions{}); });
}

void add_mse_loss(CaseList& list) {
  Values v(1002);
  const auto add = [&](const char* name, const Shape& x, const Shape& target, Reduction reduction) {
    list.add("mse_loss", name, {v.normal(x), v.normal(target)},
             [reduction](Inputs in) { return mse_loss(in[0], in[1], reduction); });
  };
  add("mean", {2, 3}, {2, 3}, Reduction::mean);
  add("sum", {2, 3}, {2, 3}, Reduction::sum);
  add("none", {2, 3}, {2, 3}, Reduction::none);
  add("0-d", {}, {}, Reduction::mean);
  add("target broadcasts", {2, 3}, {3}, Reduction::mean);
  list.add("mse_loss", "transposed", {v.normal({3, 2}), v.normal({2, 3})},
           [](Inputs x) { return mse_loss(x[0].mT(), x[1]); });
  list.add("mse_loss", "with its own half", {v.normal({2, 3})},
           [](Inputs x) { return mse_loss(x[0], 0.5 * x[0]); });
}

}  // namespace

void add_losses(CaseList& list) {
  add_cross_entropy(list);
  add_weighed_cross_entropy(list);
  add_cross_entropy_of_probabilities(list);
  add_mse_loss(list);
}

}  // namespace gradus::cases
