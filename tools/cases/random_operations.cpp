// Operations that draw from the stream of a case, as PyTorch's do from its generator.
#include <algorithm>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/embedding.hpp"
#include "gradus/nn/linear.hpp"
#include "gradus/tools/cases/operations.hpp"

namespace gradus::cases {
namespace {

constexpr int64_t kMaxDiscard = int64_t{1} << 32;  // words: half a minute

DType dtype(const Call& c) { return c.get<DType>("dtype"); }

Tensors manual_seed(const Call& c) {
  c.stream = Generator::torch(c.integer("seed"));
  return {};
}

Tensors discard(const Call& c) {
  const int64_t n = c.integer("n");
  if (n < 0 || n > kMaxDiscard) fail("cases", "n must be from 0 to ", kMaxDiscard, ", got ", n, ".");
  c.generator().discard(n);
  return {};
}

Tensors raw32(const Call& c) {
  Tensor out = empty({c.count("n")}, DType::int64);
  std::generate_n(out.mutable_data<int64_t>(), out.numel(), [&] { return c.generator().next(); });
  return {out};
}

Tensors rand(const Call& c) { return {gradus::rand(c.shape(), c.generator(), dtype(c))}; }

Tensors uniform(const Call& c) {
  return {gradus::uniform(c.shape(), c.number("lo"), c.number("hi"), c.generator(), dtype(c))};
}

Tensors randn(const Call& c) { return {gradus::randn(c.shape(), c.generator(), dtype(c))}; }

Tensors normal(const Call& c) {
  return {gradus::normal(c.shape(), c.number("mean"), c.number("std"), c.generator(), dtype(c))};
}

Tensors randint(const Call& c) {
  return {gradus::randint(c.integer("low"), c.integer("high"), c.shape(), c.generator())};
}

Tensors randperm(const Call& c) { return {gradus::randperm(c.count("n"), c.generator())}; }

Tensors multinomial(const Call& c) {
  const int64_t samples = c.count("num_samples", 1);
  if (c.x().dim() > 0) {
    Shape drawn = c.x().shape();
    drawn[drawn.size() - 1] = samples;
    check_elements(drawn);
  }
  return {gradus::multinomial(c.x(), samples, c.generator(), c.flag("replacement"))};
}

Tensors bernoulli(const Call& c) { return {gradus::bernoulli(c.x(), c.generator())}; }

Tensors linear_init(const Call& c) {
  const int64_t in = c.count("in_features", 1), out = c.count("out_features", 1);
  check_elements(Shape{out, in});
  const nn::Linear layer(in, out, c.generator(), {.bias = c.flag("bias")});
  return layer.bias.defined() ? Tensors{layer.weight, layer.bias} : Tensors{layer.weight};
}

Tensors embedding_init(const Call& c) {
  const int64_t num = c.count("num", 1), dim = c.count("dim", 1);
  check_elements(Shape{num, dim});
  return {nn::Embedding(num, dim, c.generator()).weight};
}

Tensors dropout(const Call& c) {
  const double p = c.number("p");
  const auto& rng = c.get<std::string>("rng");
  if (rng != "default" && rng != "mkl") fail("cases", "rng must be default or mkl, got '", rng, "'.");
  if (!(p >= 0 && p <= 1)) fail("cases", "p must be in [0, 1], got ", p, ".");
  if (p == 0 || !c.flag("train")) return {c.x()};
  c.generator().as_torch()->set_masks(rng == "mkl" ? TorchStream::Masks::mkl : TorchStream::Masks::portable);
  return {gradus::dropout(c.x(), p, c.generator())};
}

}  // namespace

std::vector<Operation> random_operations() {
  constexpr bool kDraws = true;
  return {
      {"manual_seed(seed seed)", manual_seed, kDraws},
      {"discard(int n)", discard, kDraws},
      {"raw32(int n)", raw32, kDraws},
      {"rand(shape shape, dtype dtype=f32)", rand, kDraws},
      {"uniform(shape shape, float lo, float hi, dtype dtype=f32)", uniform, kDraws},
      {"randn(shape shape, dtype dtype=f32)", randn, kDraws},
      {"normal(shape shape, float mean, float std, dtype dtype=f32)", normal, kDraws},
      {"randint(int low, int high, shape shape)", randint, kDraws},
      {"randperm(int n)", randperm, kDraws},
      {"multinomial(Tensor x, int num_samples, bool replacement=False)", multinomial, kDraws},
      {"bernoulli(Tensor x)", bernoulli, kDraws},
      {"linear_init(int in_features, int out_features, bool bias=True)", linear_init, kDraws},
      {"embedding_init(int num, int dim)", embedding_init, kDraws},
      {"dropout(Tensor x, float p, str rng=default, bool train=True)", dropout, kDraws},
  };
}

}  // namespace gradus::cases
