// The measurements of a step: norms of parameters, gradients and updates, and gradients of a part of a batch.
#include "catch.hpp"
#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/trainer/metrics.hpp"
#include "gradus/train/trainer/trainer.hpp"
#include "train/small_model.hpp"

namespace gradus::train {
namespace test_layers {

double norm_of(const std::vector<float>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

std::map<std::string, std::vector<float>> parameters_of(const models::Decoder& model) {
  std::map<std::string, std::vector<float>> all;
  for (const auto& parameter : model.named_parameters())
    all[parameter.first] = parameter.second.to_vector<float>();
  return all;
}

TrainConfig with(double dropout, int64_t accum, int64_t micro) {
  TrainConfig config = small_config();
  config.model.dropout = dropout;
  config.accum = accum;
  config.micro = micro;
  return config;
}

TEST_CASE("a measured step has the bits of one that is not measured") {
  const TrainConfig config = GENERATE(with(0, 1, 1), with(0.2, 1, 1), with(0.2, 2, 1), with(0.2, 2, 4));
  SmallRun plain(config), measured(config);
  for (int i = 0; i < 3; ++i) {
    LayerReport layers;
    measured.trainer.measure_part(layers);
    const StepReport a = plain.trainer.step(), b = measured.trainer.step(&layers);
    CHECK(a.loss == b.loss);
    CHECK(a.grad_norm == b.grad_norm);
    CHECK(layers.step == i + 1);
    CHECK(layers.part_examples < layers.examples);
    CHECK(layers.part_grad_norm > 0);
  }
  CHECK(values_of(plain.model) == values_of(measured.model));
  CHECK(plain.trainer.state().data_stream == measured.trainer.state().data_stream);
  CHECK(plain.trainer.state().dropout_stream == measured.trainer.state().dropout_stream);
}

TEST_CASE("the norms are those of the values before and after the step") {
  SmallRun run;
  const auto before = parameters_of(run.model);
  LayerReport layers;
  const StepReport report = run.trainer.step(&layers);
  const auto after = parameters_of(run.model);
  REQUIRE(layers.parameters.size() == after.size());
  double squares = 0;
  for (const ParameterNorms& norms : layers.parameters) {
    INFO(norms.name);
    std::vector<float> change;
    for (size_t i = 0; i < after.at(norms.name).size(); ++i)
      change.push_back(after.at(norms.name)[i] - before.at(norms.name)[i]);
    CHECK(norms.norm == Approx(norm_of(after.at(norms.name))).epsilon(1e-9));
    CHECK(norms.update_norm == Approx(norm_of(change)).epsilon(1e-9));
    CHECK(norms.update_norm > 0);
    squares += norms.grad_norm * norms.grad_norm;
  }
  CHECK(std::sqrt(squares) == Approx(report.grad_norm).epsilon(1e-9));
}

TEST_CASE("the part's gradient is that of the first examples of the step") {
  SmallRun run;  // 4 windows a step
  Generator data(0);
  data.set_state(run.trainer.state().data_stream);
  const data::Batch half = run.trainer.recipe().batches(2, data, 0);
  const Tensor loss = run.trainer.recipe().loss(half, nullptr);
  std::vector<float> all;
  for (const Tensor& gradient : grad({loss}, run.model.parameters()))
    for (const float value : gradient.to_vector<float>()) all.push_back(value);

  LayerReport layers;
  run.trainer.measure_part(layers);
  CHECK(layers.part_examples == 2);
  CHECK(layers.part_grad_norm == Approx(norm_of(all)).epsilon(1e-9));
}

TEST_CASE("the line of a measurement has a norm as null if it is not known") {
  const LayerReport report{.step = 3, .parameters = {{"w", 2, std::nan(""), 0.5}}, .examples = 4};
  CHECK(to_json(report) ==
        R"({"event":"layers","step":3,"parameters":{"w":[2.0,null,0.5]},"examples":4,"part_examples":0,)"
        R"("part_grad_norm":0.0,"elapsed_s":0.0})");
}

}  // namespace test_layers
}  // namespace gradus::train
