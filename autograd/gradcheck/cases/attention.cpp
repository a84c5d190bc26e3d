// scaled_dot_product_attention.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

constexpr const char* kOp = "scaled_dot_product_attention";

GradcheckFunction attend(const AttentionOptions& options, const Generator& start = Generator(5)) {
  return [options, start](Inputs x) {
    Generator generator = start;
    AttentionOptions with = options;
    with.generator = &generator;
    return scaled_dot_product_attention(x[0], x[1], x[2], with);
  };
}

}  // namespace

void add_attention(CaseList& list) {
  Values v(1101);
  const auto add = [&](const char* name, const Shape& q, int64_t keys, const AttentionOptions& options) {
    const Shape k{q[0], q[1], keys, q[3]};
    list.add(kOp, name, {v.normal(q), v.normal(k), v.normal(k)}, attend(options));
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
  add("empty batch", {0, 2, 3, 2}, 3, causal);
  add("dropout of all", {1, 2, 3, 2}, 4, {.dropout = 1.0});
  const auto from_torch = [&](const char* name, int64_t keys, bool is_causal, const Generator& start) {
    const AttentionOptions options{.causal = is_causal, .dropout = 0.4};
    list.add(kOp, name, {v.normal({1, 2, 3, 2}), v.normal({1, 2, keys, 2}), v.normal({1, 2, keys, 2})},
             attend(options, start));
  };
  from_torch("dropout as PyTorch", 4, false, Generator::torch(5));
  from_torch("dropout as PyTorch, causal", 3, true, Generator::torch(5));
  from_torch("dropout as PyTorch with MKL, some see nothing", 2, true, Generator::torch_mkl(5));

  const auto masked = [&](const char* name, const Shape& q, int64_t keys, const Tensor& mask,
                          AttentionOptions options) {
    options.mask = mask;
    add(name, q, keys, options);
  };
  const Tensor seen = bools({true, false, true, true, true, false}, {2, 3});
  masked("mask", {1, 2, 2, 2}, 3, seen, {});
  masked("mask that hides all from one", {1, 2, 2, 2}, 3,
         bools({true, true, false, false, false, false}, {2, 3}), {});
  masked("mask for all queries, causal", {2, 1, 3, 2}, 3, bools({true, false, true}, {3}), causal);
  masked("mask for each head, another scale", {1, 2, 2, 2}, 2,
         bools({true, true, false, true, true, false, true, true}, {2, 2, 2}), {.scale = 0.7});
  masked("mask and dropout", {1, 2, 2, 2}, 3, seen, {.dropout = 0.4});
  list.add(kOp, "mask that is added",
           {v.normal({2, 1, 3, 2}), v.normal({2, 1, 4, 2}), v.normal({2, 1, 4, 2}), v.normal({3, 4})},
           [](Inputs x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3]}); });
  list.add(kOp, "one mask value for each query",
           {v.normal({2, 1, 3, 2}), v.normal({2, 1, 3, 2}), v.normal({2, 1, 3, 2}), v.normal({2, 1, 3, 1})},
           [](Inputs x) {
             return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true, .mask = x[3]});
           });
  const auto shaped = [&](const char* name, const Shape& q, const Shape& k, const Shape& values) {
    list.add(kOp, name, {v.normal(q), v.normal(k), v.normal(values)}, attend(causal));
  };
  shaped("no batch", {3, 2}, {4, 2}, {4, 2});
  shaped("one batch dim", {2, 3, 2}, {2, 3, 2}, {2, 3, 2});
  shaped("values of another size", {1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 5});
  shaped("keys broadcast over the batch", {2, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2});

  // (B, T, 3 C) -> (B, T, C), as a decoder does it: at once, and by strided views of one tensor.
  const auto packed = [&](const char* name, const Shape& qkv, int64_t n_head, const AttentionOptions& options,
                          const Generator& start = Generator(5)) {
    list.add(kOp, name, {v.normal(qkv)}, [=](Inputs x) {
      Generator generator = start;
      AttentionOptions with = options;
      with.generator = &generator;
      return scaled_dot_product_attention(x[0], n_head, with);
    });
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
  list.add(kOp, "packed, columns far apart", {v.normal({2, 12, 3})},
           [](Inputs x) { return scaled_dot_product_attention(x[0].mT(), 2, {.causal = true}); });
  list.add(kOp, "views of a packed projection", {v.normal({2, 3, 12})}, [](Inputs x) {
    const std::vector<Tensor> qkv = x[0].split(4, 2);
    const auto heads = [](const Tensor& t) { return t.reshape({2, 3, 2, 2}).transpose(1, 2); };
    return scaled_dot_product_attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), {.causal = true})
        .transpose(1, 2)
        .reshape({2, 3, 4});
  });
  list.add(kOp, "rows that are not packed",
           {v.normal({1, 2, 2, 3}), v.normal({1, 2, 3, 4}), v.normal({1, 2, 4, 2})}, [](Inputs x) {
             return scaled_dot_product_attention(x[0].mT(), x[1].slice(3, 0, 4, 2), x[2].slice(2, 0, 3));
           });
  list.add(kOp, "heads share keys and values",
           {v.normal({2, 2, 3, 2}), v.normal({2, 1, 4, 2}), v.normal({2, 1, 4, 2})}, [](Inputs x) {
             return scaled_dot_product_attention(x[0], x[1].expand({2, 2, 4, 2}), x[2].expand({2, 2, 4, 2}));
           });
  const auto grouped = [&](const char* name, const Shape& q, const Shape& k, AttentionOptions options) {
    options.enable_gqa = true;
    list.add(kOp, name, {v.normal(q), v.normal(k), v.normal(k)}, attend(options));
  };
  grouped("grouped queries", {2, 4, 3, 2}, {2, 2, 3, 2}, {});
  grouped("grouped queries, one head of keys, causal", {2, 3, 3, 2}, {2, 1, 4, 2}, causal);
  grouped("grouped queries, several blocks", {1, 2, 70, 3}, {1, 1, 70, 3}, causal);
  grouped("grouped queries, dropout", {1, 4, 3, 2}, {1, 2, 4, 2}, {.causal = true, .dropout = 0.3});
  grouped("grouped queries, mask", {1, 4, 2, 2}, {1, 2, 3, 2}, {.mask = seen});
  grouped("grouped queries, no batch", {4, 3, 2}, {2, 3, 2}, causal);
  grouped("grouped queries, as many heads", {1, 2, 3, 2}, {1, 2, 3, 2}, causal);
  list.add(kOp, "one tensor three times", {v.normal({1, 2, 3, 2})},
           [](Inputs x) { return scaled_dot_product_attention(x[0], x[0], x[0], {.causal = true}); });
}

}  // namespace gradus::cases
