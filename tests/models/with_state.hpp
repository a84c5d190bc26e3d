// A decoder as nn::check_module() calls a model.
#pragma once

#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/nn/check_module.hpp"

namespace gradus::testing {

/// Any Module with decode() and make_state().
template <class M = models::Decoder>
struct WithState : nn::Module {
  explicit WithState(M& of) : model(of) {}
  void visit(nn::Visitor& v) override { v("model", model); }

  struct Cache {
    std::unique_ptr<models::DecodingState> state;
    void clear() { state->clear(); }
  };

  Tensor operator()(const Tensor& idx, Generator* dropout) const { return model(idx, dropout); }
  Cache make_cache(int64_t batch) const { return {model.make_state(batch)}; }
  Tensor decode(const Tensor& idx, Cache& cache) const { return model.decode(idx, *cache.state); }

  M& model;
};

/// What the checks of outputs find in a decoder of 11 tokens.
template <class M>
nn::ModuleReport check_outputs(M& model) {
  Generator g(12);
  WithState<M> called(model);
  return nn::check_module(called, nn::CheckBatch{randint(0, 11, {3, 8}, g), {}},
                          [](const Tensor& out, const Tensor&) { return mean(out); },
                          {.only = {"causal", "deterministic", "examples", "decode"}, .causal = true});
}

}  // namespace gradus::testing
