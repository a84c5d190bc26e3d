// Several sequences in a row: each has the losses and gradients that it has alone.
#include "autograd/compare.hpp"
#include "gradus/models/architecture.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_packed {

DecoderConfig small(const std::string& arch) {
  DecoderConfig config{.vocab_size = 13, .block_size = 12, .n_layer = 2, .n_head = 2, .n_embd = 8};
  change_arch(config, arch);
  config.qk_norm = arch == "llama";
  if (arch != "gpt2") config.attention.window = 4;
  if (arch == "gemma") config.attention.window_pattern = 2;
  return config;
}

Decoder decoder_of(const DecoderConfig& config) {
  Decoder model = testing::wide_model(config, 7);
  model.to(DType::float64);
  return model;
}

Tensor ints(std::vector<int64_t> values) {
  const auto n = std::ssize(values);
  return tensor(values, {1, n});
}

TEST_CASE("packed sequences have the losses and gradients of single ones") {
  const std::string arch = GENERATE("gpt2", "llama", "gemma");
  INFO(arch);
  Decoder model = decoder_of(small(arch));
  const std::vector<int64_t> a = {1, 2, 3, 4, 5}, b = {6, 7, 8}, c = {9, 10, 11, 12};
  std::vector<int64_t> x, y, starts;
  double sum = 0;
  for (const auto* one : {&a, &b, &c}) {
    std::vector<int64_t> targets;
    const auto start = std::ssize(x);
    for (size_t t = 0; t < one->size(); ++t) {
      x.push_back((*one)[t]);
      targets.push_back(t == 0 ? -100 : ((*one)[t] + 3) % 13);
      y.push_back(targets.back());
      starts.push_back(start);
    }
    const Tensor loss = model.loss(ints(*one), ints(targets)) * static_cast<double>(one->size() - 1);
    sum += loss.item();
    loss.backward();
  }
  std::vector<Tensor> alone;
  for (const Tensor& p : model.parameters()) alone.push_back(p.grad() + 0.0);
  model.zero_grad();
  const Tensor packed = model.loss(ints(x), ints(y), nullptr, ints(starts)) * 9.0;  // 12 tokens without 3
  CHECK(std::abs(packed.item() - sum) < 1e-10);
  packed.backward();
  size_t i = 0;
  for (const auto& [name, p] : model.named_parameters()) {
    INFO(name);
    CHECK(testing::difference(p.grad(), alone[i++], 1e-10) == "");
  }
  // Nothing crosses: another first sequence leaves the losses of the others as they are.
  const auto last_loss = [&] {
    std::vector<int64_t> targets(y.size(), -100);
    targets.back() = 5;
    return model.loss(ints(x), ints(targets), nullptr, ints(starts)).item();
  };
  const double before = last_loss();
  x[1] = 12;
  x[6] = 0;
  CHECK(last_loss() == before);
}

TEST_CASE("a recurrent decoder reads one sequence a row") {
  Decoder model = decoder_of(testing::kSmallMinGru);
  const Tensor x = ints({1, 2, 3, 0}), y = ints({2, 3, -100, -100});
  const double alone = model.loss(ints({1, 2, 3}), ints({2, 3, -100})).item();
  CHECK(std::abs(model.loss(x, y, nullptr, ints({0, 0, 0, 3})).item() - alone) < 1e-12);
  CHECK_HAS(testing::error_of([&] {
              (void)model.loss(x, ints({2, 3, -100, 5}), nullptr, ints({0, 0, 0, 3}));
            }),
            "one sequence a row");
}

}  // namespace gradus::models::test_packed
