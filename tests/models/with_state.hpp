// A decoder as nn::check_kv_cache() calls a model.
#pragma once

#include <memory>

#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/nn/checks.hpp"

namespace gradus::testing {

/// Any class with decode() and make_state().
template <class M = models::Decoder>
struct WithState {
  M& model;

  struct Cache {
    std::unique_ptr<models::DecodingState> state;
    void clear() { state->clear(); }
  };

  Tensor operator()(const Tensor& idx) const {
    const nn::EvaluationMode mode(model);
    return model(idx);
  }
  Cache make_cache(int64_t batch) const { return {model.make_state(batch)}; }
  Tensor decode(const Tensor& idx, Cache& cache) const { return model.decode(idx, *cache.state); }
};

/// Checks that a decoder of 11 tokens has the properties of nn/checks.hpp.
inline void check_properties(models::Decoder& model) {
  Generator g(12);
  const Tensor idx = randint(0, 11, {3, 8}, g);
  CHECK(nn::check_causal(model, idx, {.vocab_size = 11}));
  CHECK(nn::check_batch_invariant(model, idx));
  CHECK(nn::check_eval_deterministic(model, idx));
  CHECK(nn::check_kv_cache(WithState<>{model}, idx));
}

}  // namespace gradus::testing
