// The options of cross_entropy. tests/tools/conform has PyTorch's answers for each of them.
#include "autograd/compare.hpp"

namespace gradus::test_ops_losses {

using namespace gradus::testing;

const Tensor kLogits = f64({0.5, -1, 2, 1, 1, 0, -3, 0.25, 0.5}, {3, 3});

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
  CHECK_HAS(refused(i64({3, 0, 1}), {.weight = f64({0.5, 2, 1})}), "target 3 (row 0)");
  CHECK_ERROR(cross_entropy(kLogits.reshape({1, 3, 3}), i64({2, 7, 0}).unsqueeze(0), CrossEntropyOptions{}),
              "[cross_entropy] target 7 (row 1) is outside [0, 3)");
}

}  // namespace gradus::test_ops_losses
