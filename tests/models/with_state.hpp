// A decoder as nn::check_kv_cache() calls a model.
#pragma once

#include <memory>

#include "gradus/models/decoder.hpp"

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

}  // namespace gradus::testing
