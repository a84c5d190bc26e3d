#include "gradus/annexes/layers/channel_norms.hpp"
#include "gradus/annexes/layers/convolution.hpp"

#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/sequential.hpp"
#include "nn/gradcheck_module.hpp"
#include "test_files.hpp"

namespace gradus::nn::test_convolution {

using namespace testing;

Tensor flatten(const Tensor& x) { return x.reshape({x.size(0), -1}); }

// Trains as make_image_runs.py does, from the same weights, and compares with its figures.
void check_run(
    const char* name, const Shape& shape,
    const std::function<void(Generator&, std::function<void(Module&, std::function<Tensor(const Tensor&)>)>)>&
        with_model) {
  const files::Json json(files::read(testing::test_files() / "annexes/layers/image_runs.json"), "test",
                         "image_runs.json");
  const files::Field run = json.root().at(name);
  Generator g = Generator::torch(7);
  with_model(g, [&](Module& model, const std::function<Tensor(const Tensor&)>& call) {
    model.to(DType::float64);
    const Tensor x = rand(shape, g).to(DType::float64),
                 y = tensor(std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0, 1}, {8});
    std::vector<Tensor> velocity;
    for (const Tensor& p : model.parameters()) velocity.push_back(zeros(p.shape(), DType::float64));
    for (const files::Field& expected : run.at("losses").items()) {
      const Tensor loss = cross_entropy(call(x), y);
      CHECK(difference(loss, full({}, expected.number(), DType::float64), 1e-10) == "");
      model.zero_grad();
      loss.backward();
      size_t i = 0;
      for (Tensor p : model.parameters()) {
        velocity[i] = velocity[i] * 0.9 + p.grad();
        p.copy_(p.detach() - velocity[i++] * 0.1);
      }
    }
    model.eval();
    CHECK(difference(cross_entropy(call(x), y), full({}, run.at("evaluation").number(), DType::float64),
                     1e-10) == "");
    const StateDict state = model.state_dict();
    CHECK(state.size() == run.at("state").members().size());
    for (const auto& [key, values] : run.at("state").members()) {
      INFO(key);
      std::vector<double> numbers;
      for (const files::Field& value : values.items()) numbers.push_back(value.number());
      const Tensor& own = state.at(std::string(key));
      const bool buffer = key.find("running") != std::string::npos || key.find("num") != std::string::npos;
      if (buffer)
        CHECK(difference(own.to(DType::float64), tensor(numbers, own.shape()), 1e-10) == "");
      else
        CHECK(Shape(std::vector<int64_t>(numbers.begin(), numbers.end())) == own.shape());
    }
  });
}

TEST_CASE("models start with PyTorch's weights, and train with its losses, names and running values") {
  check_run("convolution", {8, 2, 8, 8}, [](Generator& g, const auto& run) {
    Sequential model{
        Conv2d(2, 4, 3, g, {.padding = 1, .padding_mode = PaddingMode::reflect}),
        relu,
        MaxPool2d(2),
        Conv2d(4, 6, {3, 2}, g, {.stride = {1, 2}, .padding = {1, 0}, .groups = 2, .bias = false}),
        tanh,
        AvgPool2d({2, 1}),
        flatten,
        Linear(24, 3, g)};
    run(model, [&](const Tensor& x) { return model(x); });
  });
  check_run("batch norm", {8, 2, 8, 8}, [](Generator& g, const auto& run) {
    Sequential model{Conv2d(2, 4, 3, g),
                     BatchNorm2d(4, {.eps = 1e-3, .momentum = 0.2}),
                     relu,
                     flatten,
                     Linear(144, 3, g),
                     BatchNorm1d(3, {.momentum = {}})};
    run(model, [&](const Tensor& x) { return model(x); });
  });
  check_run("one dimension", {8, 3, 12}, [](Generator& g, const auto& run) {
    Sequential model{
        Conv1d(3, 6, 3, g, {.padding = "same", .dilation = 2, .padding_mode = PaddingMode::circular}),
        MaxPool1d(3, {.stride = 2, .padding = 1}),
        BatchNorm1d(6),
        relu,
        Conv1d(6, 4, 2, g, {.padding = 1, .padding_mode = PaddingMode::replicate}),
        AvgPool1d(2),
        flatten,
        Linear(12, 3, g)};
    run(model, [&](const Tensor& x) { return model(x); });
  });
  check_run("group norm", {8, 2, 8, 8}, [](Generator& g, const auto& run) {
    Sequential model{Conv2d(2, 6, 3, g, {.padding = "same"}), GroupNorm(3, 6), silu, flatten,
                     Linear(384, 3, g)};
    run(model, [&](const Tensor& x) { return model(x); });
  });
}

TEST_CASE("gradients of the layers, orders 1 and 2") {
  Generator g(1);
  const Tensor x = randn({3, 2, 4, 4}, g, DType::float64);
  const auto check = [](const auto& layer, const Tensor& in) { testing::check_gradients(layer, {in}); };
  check(Conv2d(2, 3, 3, g, {.stride = 2, .padding = 2, .padding_mode = PaddingMode::circular}), x);
  check(Conv1d(2, 2, 2, g, {.padding = "same", .padding_mode = PaddingMode::reflect}), x.select(3, 0));
  check(BatchNorm2d(2), x);
  check(BatchNorm1d(2, {.affine = false}), x.select(3, 0).select(2, 0));
  BatchNorm2d evaluated(2);
  evaluated.eval();
  check(evaluated, x);
  (void)evaluated(x.to(DType::float32));
  CHECK(evaluated.num_batches_tracked.item() == 0);  // buffers are written in training mode only
  CHECK(difference(evaluated.running_mean, zeros({2}), 0) == "");
  check(GroupNorm(2, 2), x);
}

TEST_CASE("a batch norm counts a batch once, also when a checkpoint computes it twice") {
  Generator g(1);
  const Tensor x = randn({4, 2, 3}, g) + 1.0;
  BatchNorm1d plain(2), twice(2);
  Tensor in = x.detach().requires_grad_(), same = x.detach().requires_grad_();
  sum(pow(plain(in), 3.0)).backward();
  sum(pow(checkpoint([&](const Tensor& t) { return twice(t); }, same), 3.0)).backward();
  CHECK(twice.num_batches_tracked.item() == 1);
  CHECK(difference(twice.running_mean, plain.running_mean, 0) == "");
  CHECK(difference(twice.running_var, plain.running_var, 0) == "");
  CHECK(difference(same.grad(), in.grad(), 0) == "");
}

TEST_CASE("a batch norm ignores an empty batch, and one that it refuses") {
  BatchNorm1d norm(2), equal(2, {.momentum = {}});
  for (const BatchNorm1d* one : {&norm, &equal}) {
    CHECK((*one)(zeros({0, 2})).shape() == Shape{0, 2});
    CHECK_THROWS_AS((*one)(ones({1, 2})), Error);
    CHECK(difference(one->running_mean, zeros({2})) == "");
    CHECK(difference(one->running_var, ones({2})) == "");
    CHECK(one->num_batches_tracked.item() == 0);
  }
}

TEST_CASE("a batch norm without running values uses the batch in evaluation mode too") {
  Generator g(1);
  BatchNorm2d layer(2, {.affine = false, .track_running_stats = false});
  CHECK(layer.state_dict().empty());
  const Tensor x = randn({2, 2, 3, 3}, g);
  const Tensor trained = layer(x);
  layer.eval();
  CHECK(difference(layer(x), trained, 0) == "");
  CHECK(std::abs(mean(trained).item()) < 1e-6);
}

TEST_CASE("convolution has the same bits for any number of threads and for each image alone") {
  Generator g(1);
  const Tensor x = randn({33, 3, 9, 20}, g), weight = randn({4, 3, 3, 3}, g), bias = randn({4}, g);
  std::vector<std::vector<Tensor>> results;
  for (const int threads : {1, 3}) {
    const vectors::Threads guard(threads);
    Tensor in = x.detach().requires_grad_(), w = weight.detach().requires_grad_();
    const Tensor y = max_pool2d(conv2d(in, w, bias, {.padding = 1}), 2);
    sum(y * y).backward();
    results.push_back({y, in.grad(), w.grad()});
  }
  for (size_t i = 0; i < 3; ++i) CHECK(difference(results[1][i], results[0][i], 0) == "");
  const Tensor alone = max_pool2d(conv2d(x.select(0, 5), weight, bias, {.padding = 1}), 2);
  CHECK(difference(alone, results[0][0].select(0, 5).detach(), 1e-6) == "");
}

TEST_CASE("layers refuse what they cannot use") {
  Generator g(1);
  CHECK(error_of([&] { Conv2d(3, 4, 3, g, {.groups = 2}); }) ==
        "[conv] channels, groups and kernel_size must be >= 1, and groups divide the channels, got channels "
        "3 and 4, groups 2 and kernel_size (3,).");
  CHECK(error_of([&] {
          Conv1d(1, 1, 2, g, {.padding = 3, .padding_mode = PaddingMode::reflect})(zeros({1, 3}));
        }) == "[conv] padding must be at most 2 for reflect or circular padding of (1, 3), got 3.");
  for (const PaddingMode mode : {PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular})
    for (const autograd::Padding& padding :
         {autograd::Padding(-1), autograd::Padding(int64_t{1} << 62), autograd::Padding{1, -1},
          autograd::Padding{1, 1, 1}, autograd::Padding("full")}) {
      const std::string refusal = error_of([&] {
        Conv2d(1, 1, 2, g, {.padding = padding, .padding_mode = mode})(zeros({1, 4, 4}));
      });
      CHECK_THAT(refusal, Catch::Matchers::ContainsSubstring(" padding must be "));
    }
  CHECK_THROWS_AS(
      Conv2d(1, 1, 2, g,
             {.padding = "same", .dilation = int64_t{1} << 62, .padding_mode = PaddingMode::circular})(
          zeros({1, 4, 4})),
      Error);
  CHECK_HAS(error_of([&] {
              Conv1d(1, 1, 3, g, {.stride = 2, .padding = "same", .padding_mode = PaddingMode::reflect})(
                  zeros({1, 1, 4}));
            }),
            "padding 'same' needs a stride of 1");
  CHECK(error_of([] { BatchNorm2d(2)(zeros({3, 2})); }) == "[batch_norm] needs (N, C, H, W), got (3, 2).");
  CHECK(error_of([] { BatchNorm1d(0); }) == "[batch_norm] num_features must be >= 1, got 0.");
  CHECK(error_of([] { GroupNorm(3, 4); }) ==
        "[group_norm] num_groups must divide num_channels, both >= 1, got 3 and 4.");
}

}  // namespace gradus::nn::test_convolution
