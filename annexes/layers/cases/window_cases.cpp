// Convolution, pooling, and norms of channels.
#include "gradus/annexes/layers/cases/window_cases.hpp"

#include "gradus/annexes/layers/ops/windows.hpp"
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

void add_columns(CaseList& list) {
  OpCases u(list, "unfold", 1101);
  u.add("overlapping", {{2, 2, 4, 5}}, squared([](In x) { return unfold(x, {2, 3}); }));
  u.add("every option, no batch", {{2, 6, 5}}, squared([](In x) {
          return unfold(x, {3, 2}, {.dilation = {1, 2}, .padding = {1, 2}, .stride = {2, 1}});
        }));
  OpCases f(list, "fold", 1102);
  f.add("overlapping", {{2, 8, 6}}, squared([](In x) { return fold(x, {3, 4}, 2); }));
  f.add("every option, no batch", {{12, 14}}, squared([](In x) {
          return fold(x, {4, 5}, {3, 2}, {.dilation = {1, 2}, .padding = {1, 2}, .stride = {3, 1}});
        }));
}

void add_conv(CaseList& list) {
  OpCases c(list, "conv2d", 1103);
  const auto add = [&](const std::string& name, const Shape& x, const Shape& w, const ConvOptions& o) {
    c.add(name, {x, w, {w[0]}}, squared([o](In in, In weight, In b) { return conv2d(in, weight, b, o); }));
  };
  add("plain", {2, 2, 4, 3}, {3, 2, 2, 2}, {});
  add("stride, padding and dilation", {1, 2, 5, 6}, {2, 2, 2, 3},
      {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}});
  add("groups", {2, 4, 3, 3}, {6, 2, 2, 2}, {.padding = 1, .groups = 2});
  add("a group for each channel", {2, 3, 3, 4}, {3, 1, 3, 3}, {.padding = "same", .groups = 3});
  add("an odd number of zeros", {1, 1, 3, 4}, {2, 1, 2, 4}, {.padding = "same"});
  add("no images", {0, 2, 3, 3}, {2, 2, 2, 2}, {});
  c.add("no bias, views", {{3, 2, 4, 4}, {2, 3, 3, 2}},
        squared([](In x, In w) { return conv2d(x.transpose(0, 1), w.transpose(2, 3)); }));
  OpCases d(list, "conv1d", 1104);
  d.add("every option", {{2, 4, 7}, {2, 2, 3}, {2}}, squared([](In x, In w, In b) {
          return conv1d(x, w, b, {.stride = 2, .padding = 1, .dilation = 2, .groups = 2});
        }));
}

void add_pools(CaseList& list) {
  OpCases m(list, "max_pool2d", 1105, distinct);
  m.add(
      "overlapping, every option, no batch", {{2, 5, 6}}, squared([](In x) {
        return max_pool2d(x, {3, 2}, {.stride = {2, 1}, .padding = 1, .dilation = {1, 2}, .ceil_mode = true});
      }));
  m.add("sliced", {{1, 2, 4, 8}}, squared([](In x) { return max_pool2d(x.slice(3, 1, 8, 2), 2); }));
  OpCases m1(list, "max_pool1d", 1106, distinct);
  m1.add("overlapping", {{2, 2, 6}},
         squared([](In x) { return max_pool1d(x, 3, {.stride = 2, .padding = 1}); }));
  OpCases a(list, "avg_pool2d", 1107);
  a.add("padding does not count, no batch", {{2, 5, 6}}, squared([](In x) {
          return avg_pool2d(x, {3, 2},
                            {.stride = {2, 1}, .padding = 1, .ceil_mode = true, .count_include_pad = false});
        }));
  a.add("padding counts", {{1, 1, 4, 3}},
        squared([](In x) { return avg_pool2d(x, 3, {.stride = 2, .padding = 1, .ceil_mode = true}); }));
  a.add("another divisor", {{1, 2, 3, 3}},
        squared([](In x) { return avg_pool2d(x, 2, {.divisor_override = -3}); }));
  OpCases a1(list, "avg_pool1d", 1108);
  a1.add("overlapping", {{2, 2, 6}},
         squared([](In x) { return avg_pool1d(x, 3, {.stride = 2, .padding = 1}); }));
}

void add_channel_norms(CaseList& list) {
  OpCases b(list, "batch_norm", 1111);
  b.add("training", {{3, 2, 2, 2}, {2}, {2}},
        [](In x, In w, In bias) { return batch_norm(x, {}, {}, w, bias, true); });
  b.add("evaluation", {{3, 2, 2}, {2}, b.positive({2}), {2}, {2}},
        squared([](In x, In m, In v, In w, In bias) { return batch_norm(x, m, v, w, bias); }));
  OpCases g(list, "group_norm", 1112);
  g.add("two groups", {{2, 4, 2, 3}, {4}, {4}},
        [](In x, In w, In bias) { return group_norm(x, 2, w, bias); });
  g.add("no weight, another eps", {{2, 4, 3}}, [](In x) { return group_norm(x, 2, {}, {}, 0.1); });
}

}  // namespace

std::vector<GradcheckCase> window_cases() {
  CaseList list;
  for (const auto add : {add_columns, add_conv, add_pools, add_channel_norms}) add(list);
  return list;
}

}  // namespace gradus::cases
