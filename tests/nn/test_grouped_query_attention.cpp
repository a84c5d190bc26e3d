#include "gradus/nn/attention.hpp"

#include "autograd/compare.hpp"
#include "gradus/autograd/reference/products.hpp"
#include "gradus/autograd/reference/table.hpp"
#include "gradus/nn/check_module.hpp"

namespace gradus::nn::test_grouped_query_attention {

using namespace testing;

/// Sizes and options of a layer.
struct Shaped {
  int64_t n_embd = 0, n_head = 1, n_kv_head = 1;
  GroupedQueryAttentionOptions options = {};
};

/// The definitions of norms, rotation and attention, in plain loops, between the layers.
Tensor by_definition(const GroupedQueryAttention& m, const Tensor& x, const Shaped& o) {
  using Array = reference::Array<double>;
  const int64_t B = x.size(0), T = x.size(1), hs = x.size(2) / o.n_head;
  Array frequencies({hs / 2});
  for (int64_t i = 0; i < hs / 2; ++i)
    frequencies[i] = std::pow(o.options.rope_theta, -2 * static_cast<double>(i) / static_cast<double>(hs));
  const auto heads = [&](const Linear& layer) {
    const Array y = reference::array_of<double>(layer(x));
    return reference::reshape(y, {B, T, y.size(2) / hs, hs});
  };
  const auto rotated = [&](Array h, const std::optional<RMSNorm>& norm) {
    if (norm) h = reference::rms_norm(h, reference::array_of<double>(norm->weight), hs, o.options.norm_eps);
    return reference::rotary_embedding(reference::permute(h, {0, 2, 1, 3}), 0, frequencies, 1.0);
  };
  const Array q = rotated(heads(m.q_proj), m.q_norm), k = rotated(heads(m.k_proj), m.k_norm),
              v = reference::permute(heads(m.v_proj), {0, 2, 1, 3});
  const Tensor later = triu(ones({T, T}), 1);
  const reference::Attention how{1 / std::sqrt(static_cast<double>(hs)),
                                 reference::array_of<int64_t>(o.options.causal ? later : Tensor()),
                                 {}};
  const Array y = reference::permute(reference::scaled_dot_product_attention(q, k, v, how), {0, 2, 1, 3});
  return m.o_proj(tensor(y.data, x.shape())).detach();
}

GroupedQueryAttention make(const Shaped& of, uint64_t seed, DType dtype = DType::float64) {
  Generator g(seed);
  GroupedQueryAttention m(of.n_embd, of.n_head, of.n_kv_head, g, of.options);
  m.to(dtype);
  for (Tensor& p : m.parameters())  // norms that start at 1 would hide that they are applied
    if (p.dim() == 1) p.copy_(1.0 + 0.3 * randn(p.shape(), g, p.dtype()));
  return m;
}

TEST_CASE("GroupedQueryAttention agrees with its definition") {
  const bool causal = GENERATE(true, false), qk_norm = GENERATE(true, false);
  const int64_t n_kv_head = GENERATE(1, 2, 4);
  const Shaped shaped{
      .n_embd = 16,
      .n_head = 4,
      .n_kv_head = n_kv_head,
      .options = {.causal = causal, .rope_theta = 100.0, .qk_norm = qk_norm, .norm_eps = 1e-2}};
  const GroupedQueryAttention m = make(shaped, 11);
  CHECK(m.num_parameters() == 2 * 16 * 16 + 2 * 16 * 4 * n_kv_head + (qk_norm ? 8 : 0));
  Generator g(12);
  const Tensor x = randn({2, 5, 16}, g, DType::float64);
  CHECK(difference(m(x).detach(), by_definition(m, x, shaped), 1e-12) == "");
}

TEST_CASE("its parameters have the names of Llama's files") {
  const auto names = [](bool qk_norm) {
    const auto m = make({.n_embd = 8, .n_head = 2, .options = {.qk_norm = qk_norm}}, 1);
    return column(m.named_parameters(), &NamedParameter::first);
  };
  using Names = std::vector<std::string>;
  CHECK(names(false) == Names{"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"});
  CHECK(names(true) == Names{"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight",
                             "q_norm.weight", "k_norm.weight"});
}

TEST_CASE("its outputs pass check_module, and without a mask they do not") {
  const bool qk_norm = GENERATE(true, false);
  const Shaped shaped{
      .n_embd = 16, .n_head = 4, .n_kv_head = 2, .options = {.qk_norm = qk_norm, .dropout = 0.3}};
  GroupedQueryAttention m = make(shaped, 13);
  Generator g(14);
  const Tensor x = randn({3, 7, 16}, g, DType::float64);
  const auto failed = [&](GroupedQueryAttention& layer) {
    return check_module(layer, CheckBatch{x, {}}, [](const Tensor& out, const Tensor&) { return mean(out); },
                        {.only = {"causal", "deterministic", "examples", "decode"}, .causal = true})
        .failed();
  };
  CHECK(failed(m).empty());
  Shaped open = shaped;
  open.options.causal = false;
  GroupedQueryAttention seeing = make(open, 13);
  CHECK(failed(seeing) == std::vector<std::string>{"causal", "decode"});
}

TEST_CASE("its cache holds the heads of keys only, and what it cannot do is refused") {
  const GroupedQueryAttention m = make({.n_embd = 16, .n_head = 4, .n_kv_head = 2}, 17);
  KVCache cache = m.make_cache(3, 5);
  CHECK(cache.k.shape() == Shape{3, 2, 5, 4});
  CHECK(cache.v.shape() == Shape{3, 2, 5, 4});
  CHECK(cache.k.dtype() == DType::float64);
  CHECK_THROWS_WITH(m.decode(ones({3, 6, 16}, DType::float64), cache),
                    "[attention] a sequence must fit into its cache of 5 positions, got 6.");
  CHECK_THROWS_WITH(m(ones({3, 16}, DType::float64)), "[attention] x must be (B, T, C), got (3, 16).");
  Generator g(18);
  const auto refused = [&](const Shaped& o) {
    return error_of([&] { GroupedQueryAttention(o.n_embd, o.n_head, o.n_kv_head, g); });
  };
  for (const auto& [n_embd, n_head] : {std::pair{16, 3}, {16, 0}, {12, 4}})
    CHECK(refused({.n_embd = n_embd, .n_head = n_head}) ==
          concat("[attention] n_head must divide n_embd into heads of an even size, got n_head ", n_head,
                 " and n_embd ", n_embd, "."));
  for (const int64_t n_kv_head : {3, 0})
    CHECK(refused({.n_embd = 16, .n_head = 4, .n_kv_head = n_kv_head}) ==
          concat("[attention] n_kv_head must divide n_head, got n_kv_head ", n_kv_head, " and n_head 4."));
  const GroupedQueryAttention open = make({.n_embd = 16, .n_head = 4, .options = {.causal = false}}, 19);
  KVCache other = open.make_cache(1, 4);
  CHECK_THROWS_WITH(open.decode(ones({1, 1, 16}, DType::float64), other),
                    "[attention] only causal attention can be continued from a cache, got causal = false.");
}

}  // namespace gradus::nn::test_grouped_query_attention
