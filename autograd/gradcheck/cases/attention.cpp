// scaled_dot_product_attention.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

// scaled_dot_product_attention(x..., options), with the same random numbers at each call.
auto attend(const AttentionOptions& options, const Generator& start = Generator(5)) {
  return [options, start](const auto&... x) {
    Generator generator = start;
    AttentionOptions with = options;
    with.generator = &generator;
    return scaled_dot_product_attention(x..., with);
  };
}

}  // namespace

void add_attention(CaseList& list) {
  OpCases c(list, "scaled_dot_product_attention", 1101);
  const auto add = [&](const char* name, const Shape& q, int64_t keys, const AttentionOptions& options,
                       const Generator& start = Generator(5)) {
    const Shape k{q[0], q[1], keys, q[3]};
    c.add(name, {q, k, k}, attend(options, start));
  };
  const AttentionOptions causal{.causal = true};
  add("open", {2, 2, 3, 2}, 3, {});
  add("causal", {2, 2, 3, 2}, 3, causal);
  add("one query, one key", {1, 1, 1, 3}, 1, causal);
  add("more keys than queries", {1, 2, 2, 3}, 5, {});
  add("more keys than queries, causal", {1, 2, 2, 3}, 5, causal);
  add("fewer keys than queries", {1, 2, 4, 3}, 2, {});
  add("fewer keys than queries, causal: some see nothing", {1, 2, 4, 3}, 2, causal);
  add("another scale", {1, 2, 3, 2}, 3, {.scale = 1.7});
  add("heads of size 1", {2, 1, 3, 1}, 3, causal);
  add("dropout", {1, 2, 3, 2}, 4, {.dropout = 0.4});
  add("dropout, causal", {2, 1, 4, 2}, 4, {.causal = true, .dropout = 0.3});
  add("several blocks, causal", {1, 1, 70, 3}, 70, causal);
  add("several blocks, dropout", {1, 1, 67, 2}, 71, {.causal = true, .dropout = 0.2});
  add("window", {2, 2, 5, 2}, 5, {.causal = true, .window = 2});
  add("window, more keys than queries", {1, 1, 2, 3}, 6, {.causal = true, .window = 3});
  add("window, several blocks", {1, 1, 70, 2}, 70, {.causal = true, .window = 5});
  const Tensor starts = ints({0, 0, 2, 2, 0, 1, 1, 3}, {2, 4});
  add("starts", {2, 1, 4, 2}, 4, {.causal = true, .starts = starts});
  add("starts, window, dropout", {2, 2, 4, 2}, 4,
      {.causal = true, .window = 2, .starts = starts, .dropout = 0.3});
  add("starts, open: some see nothing", {2, 1, 4, 2}, 2, {.starts = starts});
  add("empty batch", {0, 2, 3, 2}, 3, causal);
  add("dropout of all", {1, 2, 3, 2}, 4, {.dropout = 1.0});
  const AttentionOptions causal_dropout{.causal = true, .dropout = 0.4};
  add("dropout as PyTorch", {1, 2, 3, 2}, 4, {.dropout = 0.4}, Generator::torch(5));
  add("dropout as PyTorch, causal", {1, 2, 3, 2}, 3, causal_dropout, Generator::torch(5));
  add("dropout as PyTorch with MKL, some see nothing", {1, 2, 3, 2}, 2, causal_dropout,
      Generator::torch_mkl(5));

  const Tensor seen = bools({true, false, true, true, true, false}, {2, 3});
  add("mask", {1, 2, 2, 2}, 3, {.mask = seen});
  add("mask that hides all from one", {1, 2, 2, 2}, 3,
      {.mask = bools({true, true, false, false, false, false}, {2, 3})});
  add("mask for all queries, causal", {2, 1, 3, 2}, 3,
      {.causal = true, .mask = bools({true, false, true}, {3})});
  add("mask for each head, another scale", {1, 2, 2, 2}, 2,
      {.scale = 0.7, .mask = bools({true, true, false, true, true, false, true, true}, {2, 2, 2})});
  add("mask and dropout", {1, 2, 2, 2}, 3, {.mask = seen, .dropout = 0.4});
  c.add("mask that is added", {{2, 1, 3, 2}, {2, 1, 4, 2}, {2, 1, 4, 2}, {3, 4}},
        [](In q, In k, In v, In mask) { return scaled_dot_product_attention(q, k, v, {.mask = mask}); });
  c.add("one mask value for each query", {{2, 1, 3, 2}, {2, 1, 3, 2}, {2, 1, 3, 2}, {2, 1, 3, 1}},
        [](In q, In k, In v, In mask) {
          return scaled_dot_product_attention(q, k, v, {.causal = true, .mask = mask});
        });
  c.add("no batch", {{3, 2}, {4, 2}, {4, 2}}, attend(causal));
  c.add("one batch dim", {{2, 3, 2}, {2, 3, 2}, {2, 3, 2}}, attend(causal));
  c.add("values of another size", {{1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 5}}, attend(causal));
  c.add("keys broadcast over the batch", {{2, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}}, attend(causal));

  // (B, T, 3 C) -> (B, T, C), as in a decoder: in one call, and by strided views of one tensor.
  const auto packed = [&](const char* name, const Shape& qkv, int64_t n_head, const AttentionOptions& options,
                          const Generator& start = Generator(5)) {
    c.add(name, {qkv}, [f = attend(options, start), n_head](In x) { return f(x, n_head); });
  };
  packed("packed", {2, 3, 12}, 2, {});
  packed("packed, causal", {2, 3, 12}, 2, causal);
  packed("packed, one head of size 1", {2, 3, 3}, 1, causal);
  packed("packed, dropout, another scale", {2, 3, 12}, 2, {.causal = true, .scale = 0.7, .dropout = 0.3});
  packed("packed, several blocks", {1, 67, 6}, 2, causal);
  packed("packed, masked", {1, 3, 12}, 2, {.mask = bools({true, false, true}, {3})});
  packed("packed, dropout as PyTorch", {1, 3, 12}, 2, {.dropout = 0.4}, Generator::torch(5));
  packed("packed, empty batch", {0, 3, 12}, 2, causal);
  packed("packed, no positions", {2, 0, 12}, 2, causal);
  c.add("views of a packed projection", {{2, 3, 12}}, [causal](In x) {
    const std::vector<Tensor> qkv = x.split(4, 2);
    const auto heads = [](const Tensor& t) { return t.reshape({2, 3, 2, 2}).transpose(1, 2); };
    return scaled_dot_product_attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), causal)
        .transpose(1, 2)
        .reshape({2, 3, 4});
  });
  c.add("heads share keys and values", {{2, 2, 3, 2}, {2, 1, 4, 2}, {2, 1, 4, 2}}, [](In q, In k, In v) {
    return scaled_dot_product_attention(q, k.expand({2, 2, 4, 2}), v.expand({2, 2, 4, 2}));
  });
  const auto grouped = [&](const char* name, const Shape& q, const Shape& k, AttentionOptions options) {
    options.enable_gqa = true;
    c.add(name, {q, k, k}, attend(options));
  };
  grouped("grouped queries", {2, 4, 3, 2}, {2, 2, 3, 2}, {});
  grouped("grouped queries, one head of keys, causal", {2, 3, 3, 2}, {2, 1, 4, 2}, causal);
  grouped("grouped queries, several blocks", {1, 2, 70, 3}, {1, 1, 70, 3}, causal);
  grouped("grouped queries, dropout", {1, 4, 3, 2}, {1, 2, 4, 2}, {.causal = true, .dropout = 0.3});
  grouped("grouped queries, mask", {1, 4, 2, 2}, {1, 2, 3, 2}, {.mask = seen});
  grouped("grouped queries, no batch", {4, 3, 2}, {2, 3, 2}, causal);
  grouped("grouped queries, as many heads", {1, 2, 3, 2}, {1, 2, 3, 2}, causal);
  c.add("one tensor three times", {{1, 2, 3, 2}},
        [causal](In x) { return scaled_dot_product_attention(x, x, x, causal); });
}

}  // namespace gradus::cases
