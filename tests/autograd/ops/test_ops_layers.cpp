// Norms, cross_entropy and dropout at their edges; plain calls are in tests/annexes/cases/conform.
#include "autograd/compare.hpp"

namespace gradus::test_ops_layers {

using namespace gradus::testing;

TEST_CASE("layer_norm of one element") {
  const Tensor one = leaf({5, 7}, {2, 1});
  const Tensor z = layer_norm(one, {1});
  CHECK(difference(z, f64({0, 0}, {2, 1})) == "");
  CHECK(difference(grad({sum(z)}, {one})[0], f64({0, 0}, {2, 1})) == "");
}

TEST_CASE("the eps of rms_norm is the dtype's if none is given") {
  const Tensor zero = leaf({0, 0}, {2});
  CHECK(difference(grad({rms_norm(zero, {2})}, {zero}, {.grad_outputs = {f64({1, 2})}})[0],
                   f64({1, 2}) * 0x1p26) == "");
  CHECK(rms_norm(full({1}, 0x1p-12), {1}).item() == Catch::Approx(std::sqrt(1 / 3.0)).epsilon(1e-6));
}

TEST_CASE("rms_norm and layer_norm refuse shapes that do not fit") {
  CHECK_THROWS_WITH(rms_norm(ones({2, 3}), {2}),
                    "[rms_norm] normalized_shape must be x's last dimensions, got (2,) and x (2, 3).");
  CHECK_THROWS_WITH(rms_norm(ones({2, 3}), {3}, ones({2})), "[rms_norm] a parameter must be (3,), got (2,).");
  CHECK_ERROR(rms_norm(ones({2, 3}), {3}, f64({1, 2, 3})), "one dtype");
  CHECK_ERROR(layer_norm(ones({2, 3}), {2}), "[layer_norm]");
  CHECK_ERROR(layer_norm(ones({3}), {2, 3}), "[layer_norm]");
  CHECK_ERROR(layer_norm(ones({2, 3}), {3}, ones({2})), "[layer_norm]");
  CHECK_ERROR(layer_norm(ones({2, 3}), {3}, ones({3}), ones({1})), "[layer_norm]");
}

TEST_CASE("cross_entropy with everything ignored is NaN with gradient 0; with no rows NaN") {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = cross_entropy(x, i64({7, 7}), 7);
  CHECK(std::isnan(y.item()));
  CHECK(difference(grad({y}, {x}, {.retain_graph = true})[0], zeros({2, 3}, DType::float64)) == "");
  CHECK(difference(grad({y}, {x}, {.create_graph = true})[0], zeros({2, 3}, DType::float64)) == "");
  CHECK(cross_entropy(x, i64({7, 7}), 7, Reduction::sum).item() == 0);
  const Tensor none = leaf({}, {0, 3});
  const Tensor z = cross_entropy(none, i64({}));
  CHECK(std::isnan(z.item()));
  CHECK(grad({z}, {none})[0].shape() == Shape{0, 3});
}

TEST_CASE("cross_entropy refuses targets outside the classes") {
  const Tensor x = ones({2, 3});
  CHECK_ERROR(cross_entropy(x, i64({0, 3})), "[cross_entropy] target 3 (row 1) is outside [0, 3)");
  CHECK_ERROR(cross_entropy(x, i64({0, -1})), "target -1");
  CHECK_ERROR(cross_entropy(x, i64({0})), "needs logits (N, V)");
  CHECK_ERROR(cross_entropy(x, ones({2})), "int64 targets");
}

TEST_CASE("dropout draws anew each time, and the same from the same state") {
  Generator a(1), b(1);
  const Tensor x = ones({1000});
  const Tensor first = dropout(x, 0.5, a);
  CHECK(difference(dropout(x, 0.5, b), first, 0) == "");
  CHECK(difference(dropout(x, 0.5, a), first, 0) != "");
  CHECK(difference(dropout(x, 0.5, b).reshape({1000}), first, 0) != "");
  const Generator before = a;
  CHECK(difference(dropout(x, 0.0, a), x, 0) == "");
  CHECK(a == before);
  CHECK(difference(dropout(x, 1.0, a), zeros({1000}), 0) == "");
  CHECK_ERROR(dropout(x, 1.5, a), "[dropout] p must be in [0, 1], got 1.5");
  CHECK_ERROR(dropout(x, std::nan(""), a), "[dropout]");
}

const Tensor kLogits = f64({0.5, -1, 2, 1, 1, 0, -3, 0.25, 0.5}, {3, 3});

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

}  // namespace gradus::test_ops_layers
