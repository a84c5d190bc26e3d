#include "gradus/nn/attention.hpp"

#include "autograd/compare.hpp"
#include "gradus/nn/check_module.hpp"

namespace gradus::nn::test_grouped_query_attention {

using namespace testing;

/// Sizes and options of a layer.
struct Shaped {
  int64_t n_embd = 0, n_head = 1, n_kv_head = 1;
  GroupedQueryAttentionOptions options = {};
};

/// A vector of one head at a position, normalised if there is a norm, then turned pair by pair.
std::vector<double> prepared(const Tensor& row, int64_t position, const std::optional<RMSNorm>& norm,
                             const Shaped& o) {
  std::vector<double> x = row.to_vector<double>();
  const auto size = static_cast<double>(x.size());
  if (norm) {
    double squares = 0;
    for (const double value : x) squares += value * value;
    for (size_t i = 0; i < x.size(); ++i)
      x[i] *= norm->weight.at({static_cast<int64_t>(i)}) / std::sqrt(squares / size + o.options.norm_eps);
  }
  for (size_t i = 0, half = x.size() / 2; i < half; ++i) {
    const double angle =
        static_cast<double>(position) * std::pow(o.options.rope_theta, -2 * static_cast<double>(i) / size);
    const double a = x[i], b = x[i + half];
    x[i] = a * std::cos(angle) - b * std::sin(angle);
    x[i + half] = a * std::sin(angle) + b * std::cos(angle);
  }
  return x;
}

/// By definition, one query of one head at a time, in float64.
Tensor naive(const GroupedQueryAttention& m, const Tensor& x, const Shaped& o) {
  const Tensor q = m.q_proj(x).detach(), k = m.k_proj(x).detach(), v = m.v_proj(x).detach();
  const int64_t B = x.size(0), T = x.size(1), C = x.size(2), hs = C / o.n_head;
  const auto part = [&](const Tensor& of, int64_t b, int64_t t, int64_t head) {
    return of.select(0, b).select(0, t).slice(0, head * hs, (head + 1) * hs);
  };
  Tensor out = zeros({B, T, C}, DType::float64);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < o.n_head; ++h)
      for (int64_t t = 0; t < T; ++t) {
        const int64_t kv = h / (o.n_head / o.n_kv_head);
        const std::vector<double> query = prepared(part(q, b, t, h), t, m.q_norm, o);
        double total = 0;
        Tensor sum = zeros({hs}, DType::float64);
        for (int64_t s = 0; s < (o.options.causal ? t + 1 : T); ++s) {
          const std::vector<double> key = prepared(part(k, b, s, kv), s, m.k_norm, o);
          double score = 0;
          for (size_t i = 0; i < key.size(); ++i) score += query[i] * key[i];
          const double weight = std::exp(score / std::sqrt(static_cast<double>(hs)));
          total += weight;
          sum = sum + weight * part(v, b, s, kv);
        }
        part(out, b, t, h).copy_(sum / total);
      }
  return m.o_proj(out).detach();
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
  CHECK(difference(m(x).detach(), naive(m, x, shaped), 1e-12) == "");
}

TEST_CASE("its parameters have the names of Llama's files") {
  const auto names = [](bool qk_norm) {
    std::vector<std::string> found;
    for (const auto& [name, p] :
         make({.n_embd = 8, .n_head = 2, .options = {.qk_norm = qk_norm}}, 1).named_parameters())
      found.push_back(name);
    return found;
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
