// cross_entropy with class weights, smoothing, probabilities and inner dimensions, against sums by hand.
#include "autograd/compare.hpp"

namespace gradus::test_ops_losses {

using namespace gradus::testing;

// One loss: -sum over classes of p[c] * weight[c] * log softmax(x)[c].
double loss(const std::vector<double>& x, const std::vector<double>& p, const std::vector<double>& weight) {
  double total = 0, result = 0;
  for (const double value : x) total += std::exp(value);
  for (size_t c = 0; c < x.size(); ++c) result -= p[c] * weight[c] * (x[c] - std::log(total));
  return result;
}

// The target's probabilities after smoothing.
std::vector<double> smoothed(size_t target, double s) {
  std::vector<double> p(3, s / 3);
  p[target] += 1 - s;
  return p;
}

const std::vector<std::vector<double>> kRows = {{0.5, -1, 2}, {1, 1, 0}, {-3, 0.25, 0.5}};
const Tensor kLogits = f64({0.5, -1, 2, 1, 1, 0, -3, 0.25, 0.5}, {3, 3});
const std::vector<double> kWeight = {0.5, 2, 1}, kEqual = {1, 1, 1};

TEST_CASE("class weights weigh the losses, and the mean is divided by theirs") {
  const Tensor target = i64({2, 0, 1}), weight = f64(kWeight);
  std::vector<double> rows;
  for (size_t i = 0; i < 3; ++i)
    rows.push_back(loss(kRows[i], smoothed(std::vector<size_t>{2, 0, 1}[i], 0), kWeight));
  CHECK(difference(cross_entropy(kLogits, target, {.weight = weight, .reduction = Reduction::none}),
                   f64(rows)) == "");
  CHECK(cross_entropy(kLogits, target, {.weight = weight}).item() ==
        Catch::Approx((rows[0] + rows[1] + rows[2]) / 3.5).epsilon(1e-13));
  CHECK(cross_entropy(kLogits, target, {.weight = weight, .ignore_index = 0}).item() ==
        Catch::Approx((rows[0] + rows[2]) / 3).epsilon(1e-13));
}

TEST_CASE("smoothing spreads a share of the target over all classes") {
  const Tensor target = i64({2, -100, 1});
  const double first = loss(kRows[0], smoothed(2, 0.3), kWeight),
               last = loss(kRows[2], smoothed(1, 0.3), kWeight);
  const CrossEntropyOptions options{.weight = f64(kWeight), .label_smoothing = 0.3};
  CHECK(cross_entropy(kLogits, target, options).item() == Catch::Approx((first + last) / 3).epsilon(1e-13));
  const Tensor plain = cross_entropy(kLogits, target, {.reduction = Reduction::none, .label_smoothing = 0.3});
  CHECK(difference(plain, f64({loss(kRows[0], smoothed(2, 0.3), kEqual), 0,
                               loss(kRows[2], smoothed(1, 0.3), kEqual)})) == "");
}

TEST_CASE("targets may be probabilities, whose mean is that over rows, weights or not") {
  const Tensor target = f64({0.2, 0.3, 0.5, 1, 0, 0, 0.1, 0.1, 0.1}, {3, 3});
  const std::vector<std::vector<double>> p = {{0.2, 0.3, 0.5}, {1, 0, 0}, {0.1, 0.1, 0.1}};
  double total = 0, weighed = 0;
  for (size_t i = 0; i < 3; ++i) {
    total += loss(kRows[i], p[i], kEqual);
    weighed += loss(kRows[i], p[i], kWeight);
  }
  CHECK(cross_entropy(kLogits, target, CrossEntropyOptions{}).item() ==
        Catch::Approx(total / 3).epsilon(1e-13));
  CHECK(cross_entropy(kLogits, target, {.weight = f64(kWeight)}).item() ==
        Catch::Approx(weighed / 3).epsilon(1e-13));
}

TEST_CASE("classes stand in the second dimension of what has more than two") {
  Generator g(8);
  const Tensor x = randn({2, 3, 4, 5}, g, DType::float64);
  const Tensor target = arange(0, 40).reshape({2, 4, 5}) * full({}, 7, DType::int64);
  Tensor classes = zeros({2, 4, 5}, DType::int64);  // 7 n modulo 3
  for (int64_t n = 0; n < 40; ++n) classes.mutable_data<int64_t>()[n] = 7 * n % 3;
  const Tensor rows = x.permute({0, 2, 3, 1}).reshape({40, 3});
  const Tensor expected = cross_entropy(rows, classes.reshape({40}), -100, Reduction::none);
  CHECK(difference(cross_entropy(x, classes, {.reduction = Reduction::none}), expected.reshape({2, 4, 5})) ==
        "");
  CHECK(difference(cross_entropy(x, classes, CrossEntropyOptions{}), mean(expected)) == "");
  CHECK_ERROR(cross_entropy(x, target, CrossEntropyOptions{}),
              "[cross_entropy] target 7 (row 1) is outside [0, 3)");
  const Tensor one =
      cross_entropy(rows.select(0, 3), classes.reshape({40}).select(0, 3), {.reduction = Reduction::none});
  CHECK(difference(one, expected.select(0, 3)) == "");
}

TEST_CASE("the options are the plain loss where they change nothing") {
  const Tensor target = i64({2, 0, 1});
  const Tensor x = kLogits.detach().requires_grad_(), y = kLogits.detach().requires_grad_();
  const Tensor plain = cross_entropy(x, target);
  const Tensor weighed = cross_entropy(y, target, {.weight = ones({3}, DType::float64)});
  CHECK(difference(weighed, plain) == "");
  CHECK(difference(grad({weighed}, {y})[0], grad({plain}, {x})[0]) == "");
  CHECK(difference(cross_entropy(kLogits, target, CrossEntropyOptions{}), plain, 0) == "");
}

TEST_CASE("empty options are the defaults, not class 0 to be ignored") {
  const Tensor target = i64({0, 1, 0});
  const Tensor loss = cross_entropy(kLogits, target, {});
  CHECK(difference(loss, cross_entropy(kLogits, target)) == "");
  CHECK(difference(loss, cross_entropy(kLogits, target, CrossEntropyOptions{})) == "");
  CHECK(difference(cross_entropy(kLogits, target, 0), cross_entropy(kLogits, target, {.ignore_index = 0})) ==
        "");
  CHECK(cross_entropy(kLogits, target, 0).item() != loss.item());
}

TEST_CASE("cross_entropy refuses options that do not fit") {
  const auto refused = [](const Tensor& target, const CrossEntropyOptions& options) {
    return error_of([&] { cross_entropy(kLogits, target, options); });
  };
  const Tensor target = i64({2, 0, 1});
  CHECK_HAS(refused(target, {.weight = f64({1, 2})}), "weight must be (3,), one for each class, got (2,)");
  CHECK_HAS(refused(target, {.weight = ones({3})}), "[cross_entropy]");
  CHECK_HAS(refused(target, {.label_smoothing = 1.5}), "label_smoothing must be in [0, 1], got 1.5");
  CHECK_HAS(refused(kLogits, {.ignore_index = 1}), "ignore_index needs targets");
  CHECK_HAS(refused(i64({1, 2}), {}), "need int64 classes (3,)");
  CHECK_HAS(refused(ones({3, 3}), {}), "float64 probabilities (3, 3)");
  CHECK_HAS(refused(i64({3, 0, 1}), {.weight = f64(kWeight)}), "target 3 (row 0)");
}

}  // namespace gradus::test_ops_losses
