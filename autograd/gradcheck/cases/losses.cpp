// cross_entropy and mse_loss.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

constexpr std::pair<const char*, Reduction> kReductions[] = {
    {", mean", Reduction::mean}, {", sum", Reduction::sum}, {", none", Reduction::none}};

void add_cross_entropy(CaseList& list) {
  OpCases c(list, "cross_entropy", 1001);
  const auto add = [&](const std::string& name, const Shape& logits, const std::vector<int64_t>& target,
                       int64_t ignored) {
    for (const auto& [form, reduction] : kReductions)
      c.add(name + form, {logits, ints(target)},
            [ignored, r = reduction](In x, In t) { return cross_entropy(x, t, ignored, r); });
  };
  add("plain", {4, 3}, {2, 0, 1, 2}, -100);
  add("some ignored", {4, 3}, {2, -100, 1, -100}, -100);
  add("a class ignored", {4, 3}, {2, 0, 1, 2}, 2);
  add("one class", {3, 1}, {0, 0, 0}, -100);
  add("one row", {1, 5}, {3}, -100);
  add("more classes than a vector", {2, 37}, {36, 0}, -100);
  const Tensor target = ints({2, 0, 1});
  c.add("no rows, sum", {{0, 3}, ints({})},
        [](In x, In t) { return cross_entropy(x, t, -100, Reduction::sum); });
  c.add("far from 0", {{3, 4}, target}, [](In x, In t) { return cross_entropy(x + 1e2, t); });
  c.add("transposed", {{4, 3}, target}, [](In x, In t) { return cross_entropy(x.mT(), t); });
  c.add("sliced", {{3, 9}, target}, [](In x, In t) { return cross_entropy(x.slice(1, 0, 9, 2), t); });
  c.add("expanded", {{1, 4}, target}, [](In x, In t) { return cross_entropy(x.expand({3, 4}), t); });
  c.add("targets are a view", {{3, 4}, ints({2, 9, 0, 9, 1, 9}, {3, 2})},
        [](In x, In t) { return cross_entropy(x, t.select(1, 0)); });
}

// With each way of reducing the losses.
void add_with_options(OpCases& c, const std::string& name, const Shape& logits, const Input& target,
                      CrossEntropyOptions options) {
  for (const auto& [form, reduction] : kReductions) {
    options.reduction = reduction;
    const Tensor x = c.normal(logits);
    c.add(name + form, {x, target.tensor.defined() ? target.tensor : c.positive(target.shape)},
          [options](In in, In t) { return cross_entropy(in, t, options); });
  }
}

// Weights and smoothing, for targets that are classes.
void add_weighed_cross_entropy(CaseList& list) {
  OpCases c(list, "cross_entropy", 1003);
  const Tensor target = ints({2, 0, 1, 2}), some_ignored = ints({2, -100, 1, -100});
  const Tensor weight = c.positive({3});
  add_with_options(c, "weights", {4, 3}, target, {.weight = weight});
  add_with_options(c, "weights, some ignored", {4, 3}, some_ignored, {.weight = weight});
  add_with_options(c, "smoothing", {4, 3}, target, {.label_smoothing = 0.3});
  add_with_options(c, "smoothing, some ignored", {4, 3}, some_ignored, {.label_smoothing = 0.3});
  add_with_options(c, "weights and smoothing, a class ignored", {4, 3}, target,
                   {.weight = weight, .ignore_index = 2, .label_smoothing = 0.1});
  add_with_options(c, "nothing but smoothing", {4, 3}, target, {.label_smoothing = 1.0});
  add_with_options(c, "one row of classes", {3}, ints({1}, {}), {.weight = weight, .label_smoothing = 0.2});
  add_with_options(c, "classes inside", {2, 3, 2}, ints({2, 0, 1, 2}, {2, 2}), {});
  add_with_options(c, "classes inside, weights and smoothing", {2, 3, 1, 2}, ints({2, 0, 1, -100}, {2, 1, 2}),
                   {.weight = weight, .label_smoothing = 0.2});
}

void add_cross_entropy_of_probabilities(CaseList& list) {
  OpCases c(list, "cross_entropy", 1004);
  const auto add = [&](const std::string& name, const Shape& logits, const CrossEntropyOptions& options) {
    add_with_options(c, name, logits, logits, options);
  };
  const Tensor weight = c.positive({3});
  add("probabilities", {4, 3}, {});
  add("probabilities, weights", {4, 3}, {.weight = weight});
  add("probabilities, smoothing", {4, 3}, {.label_smoothing = 0.3});
  add("probabilities inside", {2, 3, 2}, {.weight = weight, .label_smoothing = 0.2});
  add("probabilities of one row", {3}, {});
  c.add("probabilities and weights, all with gradients",
        {c.normal({2, 3}), c.positive({2, 3}), c.positive({3})},
        [](In x, In p, In w) { return cross_entropy(x, p, {.weight = w}); });
  c.add("probabilities from logits, transposed", {{3, 2}, {3, 2}},
        [](In x, In p) { return cross_entropy(x.mT(), softmax(p.mT(), 1), CrossEntropyOptions{}); });
}

void add_mse_loss(CaseList& list) {
  OpCases c(list, "mse_loss", 1002);
  const auto add = [&](const char* name, const Shape& x, const Shape& target, Reduction reduction) {
    c.add(name, {x, target}, [reduction](In in, In t) { return mse_loss(in, t, reduction); });
  };
  add("mean", {2, 3}, {2, 3}, Reduction::mean);
  add("sum", {2, 3}, {2, 3}, Reduction::sum);
  add("none", {2, 3}, {2, 3}, Reduction::none);
  add("0-d", {}, {}, Reduction::mean);
  add("target broadcasts", {2, 3}, {3}, Reduction::mean);
  c.add("transposed", {{3, 2}, {2, 3}}, [](In x, In t) { return mse_loss(x.mT(), t); });
  c.add("with its own half", {{2, 3}}, [](In x) { return mse_loss(x, 0.5 * x); });
}

}  // namespace

void add_losses(CaseList& list) {
  for (const auto add :
       {add_cross_entropy, add_weighed_cross_entropy, add_cross_entropy_of_probabilities, add_mse_loss})
    add(list);
}

}  // namespace gradus::cases
