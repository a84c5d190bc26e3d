// Models and batches for the tests of check_module: some have a fault on request.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/check_module.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::testing {

using namespace gradus::nn;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr int64_t kB = 4, kT = 6, kV = 11, kC = 8;  // examples, time steps, classes, features
using Names = std::vector<std::string>;

inline const auto classes = [](const Tensor& logits, const Tensor& y) {
  return cross_entropy(logits.reshape({-1, logits.size(-1)}), y.reshape({-1}));
};
inline const auto squares = [](const Tensor& out, const Tensor& y) { return mse_loss(out, y); };

inline Tensor drawn(const Shape& shape, uint64_t seed = 1) {
  Generator g(seed);
  return randn(shape, g);
}
inline CheckBatch regression() { return {drawn({kB, kC}), drawn({kB, 3}, 2)}; }
inline CheckBatch sequences() { return {drawn({kB, kT, kC}), drawn({kB, kT, kC}, 2)}; }
inline CheckBatch labelled() {
  Generator g(2);
  return {drawn({kB, kC}), randint(0, kV, {kB}, g)};
}
/// Each token is to be predicted from those before it.
inline CheckBatch text() {
  Generator g(1);
  const Tensor all = randint(0, kV, {kB, kT + 1}, g);
  return {all.slice(1, 0, kT).contiguous(), all.slice(1, 1, kT + 1).contiguous()};
}
inline Tensor weight(const Shape& shape, double scale, uint64_t seed = 3) {
  return (drawn(shape, seed) * scale).detach().requires_grad_();
}

/// One block of attention, with one of these faults.
struct Decoder : Module {
  enum Fault {
    none,
    no_mask,
    off_by_one,
    earlier,
    always_drops,
    never_drops,
    detaches,
    softmax_over_batch,
    normalizes_over_batch,
    mixes_batch_and_time,
    too_large,
    casts,
    copies_the_embedding,
    hides_the_tie,
    ignores_x
  };
  explicit Decoder(Fault f) : fault(f) {
    wte.weight = weight({kV, kC}, 0.1);
    if (fault == copies_the_embedding) head = wte.weight.detach().contiguous().slice(0, 0, kV) * 1.0;
    if (fault == copies_the_embedding)
      head.requires_grad_();
    else
      head = wte.weight;
  }
  void visit(Visitor& v) override {
    v("wte", wte)("wpe", wpe)("ln", ln)("qkv", qkv)("proj", proj)("drop", drop);
    if (fault != hides_the_tie) v("head", head);
  }
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const {
    const int64_t T = x.size(1);
    Tensor h = wte(x) * (fault == ignores_x ? 0.0 : 1.0) + wpe(arange(0, static_cast<double>(T)));
    if (fault == detaches) h = h.detach();
    if (fault == normalizes_over_batch) h = (h - mean(h, {0}, true)) * rsqrt(var(h, {0}, 0, true) + 1e-5);
    const std::vector<Tensor> parts = qkv(ln(h)).chunk(3, 2);
    const Tensor hidden = triu(ones({T, T}), fault == off_by_one ? 2 : 1).to(DType::boolean);
    const Tensor scores = matmul(parts[0], parts[1].mT()) / std::sqrt(static_cast<double>(kC));
    Tensor weights = softmax(fault == no_mask ? scores : masked_fill(scores, hidden, -kInfinity), -1);
    if (fault == softmax_over_batch) weights = tril(softmax(scores, 0));
    Tensor y = matmul(weights, parts[2]);
    if (fault == casts)
      y = y.to(DType::float32).to(x.dtype() == DType::int64 ? wte.weight.dtype() : x.dtype());
    if (fault == mixes_batch_and_time) y = y.transpose(0, 1).reshape({x.size(0), T, kC});
    if (fault == earlier) y = cat({y.slice(1, 1, T), y.slice(1, 0, 1)}, 1);
    y = proj(y);
    if (fault == always_drops)
      y = where(lt(rand(y.shape(), *dropout), 0.2), zeros({}, y.dtype()), y);
    else if (fault != never_drops)
      y = drop(y, dropout);
    return linear(h + y, head) * (fault == too_large ? 100.0 : 1.0);
  }

  Fault fault;
  Generator g{3};
  Embedding wte{kV, kC, g}, wpe{kT, kC, g};
  LayerNorm ln{kC};
  Linear qkv{kC, 3 * kC, g}, proj{kC, kC, g};
  Dropout drop{0.1};
  Tensor head;
};

/// Two layers of relu units.
struct Mlp : Module {
  Mlp(Tensor first, Tensor second, double shift = 0.0)
      : a(std::move(first)), b(std::move(second)), bias(full({a.size(0)}, shift).requires_grad_()) {}
  void visit(Visitor& v) override { v("a", a)("b", b)("bias", bias); }
  Tensor operator()(const Tensor& x) const { return linear(relu(linear(x, a, bias)), b); }
  Tensor a, b, bias;
};
inline Mlp mlp() { return {weight({16, kC}, 0.4), weight({3, 16}, 0.3, 4)}; }

/// Like a Linear whose output a function of the member `extra` changes.
struct Custom : Module {
  using F = std::function<Tensor(Custom& self, const Tensor& x)>;
  explicit Custom(F f, Tensor more = {}, bool lists = true)
      : f_(std::move(f)), extra(std::move(more)), lists_(lists) {}
  void visit(Visitor& v) override {
    v("fc", fc);
    if (lists_) v.buffer("extra", extra);
  }
  Tensor operator()(const Tensor& x) { return f_(*this, x); }
  F f_;
  Generator g{3};
  Linear fc{kC, 3, g};
  Tensor extra;
  bool lists_;
};

/// Attention with learned positions, which decode() may start at 0 each time.
struct Cached : Module {
  explicit Cached(bool shifted = false) : shifted_(shifted) {}
  void visit(Visitor& v) override { v("wpe", wpe)("attn", attn); }
  Tensor operator()(const Tensor& x) const { return attn(x + wpe.slice(0, 0, x.size(1))); }
  KVCache make_cache(int64_t batch, int64_t capacity) const { return attn.make_cache(batch, capacity); }
  Tensor decode(const Tensor& x, KVCache& cache) const {
    const int64_t begin = shifted_ ? 0 : cache.length;
    return attn.decode(x + wpe.slice(0, begin, begin + x.size(1)), cache);
  }
  bool shifted_;
  Generator g{3};
  Tensor wpe = weight({kT, kC}, 1.0);
  MultiHeadAttention attn{kC, 2, g};
};

}  // namespace gradus::testing
