// Every way to write causal attention on the same input and weights.
#include <algorithm>
#include <cmath>
#include <functional>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/self_attention.hpp"
#include "gradus/tools/lessons/lessons.hpp"
#include "gradus/tools/lessons/notebook.hpp"

namespace gradus::tools {
namespace {

using nn::MaskOn;
using nn::SelfAttention;
using nn::SelfAttentionOptions;

constexpr double kRounding = 1e-6;

SelfAttention layer(const SelfAttentionOptions& options) {
  Generator generator = Generator::torch(789);
  return {3, 2, generator, options};
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor apart = abs(a.detach() - b.detach());
  return apart.numel() == 0 ? 0.0 : amax(apart).item();
}

// The kernel that MultiHeadAttention trains with, on this layer's queries, keys and values.
Tensor fused(const SelfAttention& m, const Tensor& x) {
  const auto one_head = [](const Tensor& t) { return t.reshape({1, 1, t.size(0), t.size(1)}); };
  return scaled_dot_product_attention(one_head(m.W_query(x)), one_head(m.W_key(x)), one_head(m.W_value(x)),
                                      {.causal = true})
      .reshape({x.size(0), 2});
}

// The context of each token, computed as that of the last token of a shorter sequence.
Tensor one_by_one(const SelfAttention& m, const Tensor& x) {
  std::vector<Tensor> rows;
  for (int64_t t = 0; t < x.size(0); ++t)
    rows.push_back(nn::context_vector(x.select(0, t), x.slice(0, 0, t + 1), m.W_query.weight.mT(),
                                      m.W_key.weight.mT(), m.W_value.weight.mT()));
  return stack(rows, 0);
}

}  // namespace

std::vector<Agreement> compare_variants() {
  const Tensor x = journey();
  const SelfAttention reference = layer({});
  const Tensor context = reference(x);

  std::vector<Agreement> table;
  const auto add = [&](const std::string& variant, const Tensor& y, const std::string& why) {
    const double difference = largest_difference(y, context);
    table.push_back({variant, difference, difference <= kRounding, why});
  };
  add("-inf on the scores", context, "the reference of this table");
  add("-1e9 on the scores", layer({.fill = -1e9})(x), "e^-1e9 is 0, as e^-inf is");
  add("0 on the weights, rows renormalised", layer({.mask_on = MaskOn::weights})(x),
      "the softmax's sum cancels; rounds at other steps");
  add("safe softmax", layer({.safe = true})(x), "differs only for a token that may see none");
  add("mask handed in, dims named", layer({.row_dim = 0, .col_dim = 1})(x, nn::causal_mask(6)),
      "the same steps");
  add("in a batch", reference(stack({x, x}, 0)).select(0, 1), "sequences of a batch are independent");
  add("one query at a time", one_by_one(reference, x), "a token needs only the tokens before it");
  add("fused kernel", fused(reference, x), "sums in blocks, never holds the scores");
  add("two heads", layer({.num_heads = 2})(x), "each head scores with half of the features");
  add("not scaled", layer({.scaled = false})(x), "larger scores, sharper weights");
  add("0 on the scores", layer({.fill = 0.0})(x), "e^0 is 1: the future still counts");
  add("0 on the weights, not renormalised",
      matmul(softmax(nn::attention_scores(reference.W_query(x), reference.W_key(x)), -1) * tril(ones({6, 6})),
             reference.W_value(x)),
      "rows add up to less than 1");
  add("no mask", layer({.mask_on = MaskOn::nothing})(x), "every token but the last sees its future");
  return table;
}

}  // namespace gradus::tools
