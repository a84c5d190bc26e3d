// cross_entropy, nll_loss and the losses of single elements.
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

void add_nll_loss(CaseList& list) {
  OpCases c(list, "nll_loss", 1005);
  const auto add = [&](const std::string& name, const Shape& x, const Tensor& target, int64_t ignored) {
    for (const auto& [form, reduction] : kReductions)
      c.add(name + form, {x, target},
            squared([ignored, r = reduction](In in, In t) { return nll_loss(in, t, {}, ignored, r); }));
  };
  add("a class ignored", {4, 3}, ints({2, 0, 1, 2}), 2);
  add("classes inside", {2, 3, 1, 2}, ints({2, 0, 1, -100}, {2, 1, 2}), -100);
  c.add("weights with gradients", {{3, 2}, ints({1, 0, 1}), c.positive({2})},
        [](In x, In t, In w) { return nll_loss(x, t, w); });
}

// f(x, target, reduction), which broadcasts.
template <class F>
void add_elementwise(OpCases c, F f) {
  for (const auto& [form, reduction] : kReductions)
    c.add(std::string("target broadcasts") + form, {{2, 3}, {3}},
          [f, r = reduction](In x, In t) { return f(x, t, r); });
  c.add("0-d", {{}, {}}, [f](In x, In t) { return f(x, t, Reduction::mean); });
  c.add("transposed, with its own half", {{3, 2}},
        [f](In x) { return f(x.mT(), 0.5 * x.mT(), Reduction::mean); });
}

void add_elementwise_losses(CaseList& list) {
  add_elementwise(OpCases(list, "mse_loss", 1002), mse_loss);
  add_elementwise(OpCases(list, "l1_loss", 1006), l1_loss);
  const auto huber = [](In x, In t, Reduction r) { return huber_loss(x, t, r, 0.7); };
  const auto smooth = [](In x, In t, Reduction r) { return smooth_l1_loss(x, t, r, 0.7); };
  const auto of_log = [](In x, In t, Reduction r) { return kl_div(x, t, r, true); };
  add_elementwise(OpCases(list, "huber_loss", 1007), huber);
  add_elementwise(OpCases(list, "smooth_l1_loss", 1008), smooth);
  add_elementwise(OpCases(list, "kl_div", 1010, normal, "log_target, "), of_log);
  OpCases(list, "kl_div", 1011).add("mean of a batch", {{2, 3}, {2, 3}}, [](In x, In t) {
    return kl_div(log_softmax(x, 1), softmax(t, 1), Reduction::batchmean);
  });
}

void add_binary_cross_entropy(CaseList& list) {
  OpCases c(list, "binary_cross_entropy_with_logits", 1013);
  for (const auto& [form, reduction] : kReductions)
    c.add(
        std::string("weights") + form, {{2, 3}, {2, 3}, {2, 1}, {3}},
        [r = reduction](In x, In t, In w, In p) { return binary_cross_entropy_with_logits(x, t, w, r, p); });
  c.add("far from 0", {c.uniform({4}, -40, 40), {4}},
        [](In x, In t) { return binary_cross_entropy_with_logits(x, t); });
}

}  // namespace

void add_losses(CaseList& list) {
  for (const auto add : {add_cross_entropy, add_weighed_cross_entropy, add_cross_entropy_of_probabilities,
                         add_nll_loss, add_elementwise_losses, add_binary_cross_entropy})
    add(list);
}

}  // namespace gradus::cases
