// Products in bfloat16: values and gradients beside float64, within its bounds; and whose precision it is.

#include "autograd/compare.hpp"
#include "gradus/annexes/fast/ops/fast_ops.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/functional/functional.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/tensor/storage.hpp"

namespace gradus::test_autocast {

using namespace gradus::testing;

constexpr double kHalfBf16 = 0x1p-9, kHalfFloat = 0x1p-24;  // the largest relative errors of a rounding

struct Draw : testing::Draw {
  Tensor operator()(const Shape& shape) { return testing::Draw::operator()(shape).to(DType::float32); }
};

Tensor wide(const Tensor& x) { return x.detach().to(DType::float64); }
Tensor rounded(const Tensor& x) { return wide(x).to(DType::float32).to(DType::bfloat16).to(DType::float64); }

/// The largest of |got - a @ b| over what is allowed there: `share` of the sum of |a||b|. NaN wins.
double worst(const Tensor& got, const Tensor& a, const Tensor& b, double share) {
  const Tensor off = abs(wide(got) - matmul(a, b)), allowed = matmul(abs(a), abs(b)) * share;
  double largest = 0;
  for (const double ratio : (off / (allowed + 1e-300)).to_vector<double>())
    largest = ratio <= largest ? largest : ratio;
  return largest;
}

/// Whether `got` is a @ b of rounded operands with float32 sums, and so within the bound of bfloat16 of the
/// exact product, and not the product of operands that were not rounded.
void check_rounded_product(const Tensor& got, const Tensor& a, const Tensor& b) {
  const auto k = static_cast<double>(a.size(-1));
  CHECK(worst(got, rounded(a), rounded(b), (k + 2) * kHalfFloat) <= 1);
  CHECK(worst(got, wide(a), wide(b), 2 * kHalfBf16 + kHalfBf16 * kHalfBf16 + (k + 2) * kHalfFloat) <= 1);
  CHECK(worst(got, wide(a), wide(b), (k + 2) * kHalfFloat) > 1);
}

template <class F>
auto in_bfloat16(const F& f) {
  const Autocast autocast(DType::bfloat16);
  return f();
}

TEST_CASE("products of all layouts are those of rounded operands") {
  Draw draw;
  const Tensor a = draw({33, 70}), b = draw({70, 21}), many = draw({3, 2, 33, 70}),
               others = draw({2, 70, 21});
  const auto check = [](const Tensor& x, const Tensor& y) {
    const Tensor got = in_bfloat16([&] { return matmul(x, y); });
    CHECK(got.dtype() == DType::float32);
    check_rounded_product(got, x, y);
  };
  check(a, b);
  check(a.mT().contiguous().mT(), b);
  check(a, b.mT().contiguous().mT());
  check(draw({33, 140}).slice(1, 0, 140, 2), draw({210, 21}).slice(0, 1, 210, 3));
  check(many, b);
  check(many, others);
  check(many.transpose(0, 1), draw({3, 70, 5}));
}

TEST_CASE("a packed parameter follows its values, and its views") {
  Draw draw;
  Tensor w = draw({8, 40}).requires_grad_();
  const Tensor x = draw({5, 40});
  const auto product = [&] { return in_bfloat16([&] { return linear(x, w); }); };
  check_rounded_product(product(), x, w.detach().mT());
  w.copy_(draw({8, 40}));
  check_rounded_product(product(), x, w.detach().mT());
  // Another leaf on the same memory, of another shape.
  Tensor other = w.detach().reshape({16, 20}).requires_grad_();
  const Tensor narrow = draw({5, 20});
  check_rounded_product(in_bfloat16([&] { return linear(narrow, other); }), narrow, other.detach().mT());
  check_rounded_product(product(), x, w.detach().mT());
}

TEST_CASE("an op made without Autocast has its gradient without") {
  Draw draw;
  Tensor a = draw({6, 50}).requires_grad_(), b = draw({50, 7}).requires_grad_();
  const Tensor gy = draw({6, 7});
  const Tensor y = matmul(a, b);
  in_bfloat16([&] {
    y.backward(gy);
    return 0;
  });
  CHECK(worst(a.grad(), wide(gy), wide(b).mT(), 9 * kHalfFloat) <= 1);
  CHECK(worst(b.grad(), wide(a).mT(), wide(gy), 8 * kHalfFloat) <= 1);
}

/// linear() of x as it is or of an activation of all but the last two inputs, the weight and the bias.
struct Layer {
  const char* name;
  size_t activated;  // inputs before the weight
  Tensor (*values)(const std::vector<Tensor>&);
  Tensor (*layer)(const std::vector<Tensor>&);
};
using Inputs = const std::vector<Tensor>&;
const Layer kLayers[] = {
    {"linear", 1, [](Inputs x) { return x[0] * 1.0; }, [](Inputs x) { return linear(x[0], x[1], x[2]); }},
    {"gelu_linear", 1, [](Inputs x) { return gelu(x[0]); },
     [](Inputs x) { return gelu_linear(x[0], x[1], x[2]); }},
    {"gelu_linear, tanh", 1, [](Inputs x) { return gelu(x[0], Gelu::tanh); },
     [](Inputs x) { return gelu_linear(x[0], x[1], x[2], Gelu::tanh); }},
    {"swiglu_linear", 2, [](Inputs x) { return swiglu(x[0], x[1]); },
     [](Inputs x) { return swiglu_linear(x[0], x[1], x[2], x[3]); }},
};

/// The gradients of a layer in float64, with the operands of its products as `operand` leaves them.
std::vector<Tensor> gradients_by_formula(const Layer& layer, Inputs inputs, const Tensor& gy,
                                         Tensor (*operand)(const Tensor&)) {
  std::vector<Tensor> x;
  for (size_t i = 0; i < layer.activated; ++i) x.push_back(wide(inputs[i]).requires_grad_());
  std::vector<Tensor> all =
      grad({layer.values(x)}, x, {.grad_outputs = {matmul(operand(gy), operand(inputs[layer.activated]))}});
  all.push_back(matmul(operand(gy).mT(), operand(layer.values(inputs))));
  all.push_back(sum(wide(gy), {0}));
  return all;
}

TEST_CASE("a layer's gradients are made in the precision of the layer, wherever they are asked for") {
  const bool made_rounded = GENERATE(false, true), create_graph = GENERATE(false, true);
  INFO("made in " << (made_rounded ? "bfloat16" : "float32") << ", create_graph " << create_graph);
  const DType made = made_rounded ? DType::bfloat16 : DType::float32,
              asked = made_rounded ? DType::float32 : DType::bfloat16;
  for (const Layer& layer : kLayers) {
    INFO(layer.name);
    Draw draw;
    std::vector<Tensor> inputs(layer.activated);
    for (Tensor& x : inputs) x = draw({9, 40}).requires_grad_();
    inputs.push_back(draw({24, 40}).requires_grad_());
    inputs.push_back(draw({24}).requires_grad_());
    const Tensor gy = draw({9, 24});
    const auto in = [](DType precision, const auto& f) {
      const Autocast autocast(precision);
      return f();
    };
    const Tensor y = in(made, [&] { return layer.layer(inputs); });
    std::vector<Tensor> got =
        in(asked, [&] { return grad({y}, inputs, {.grad_outputs = {gy}, .create_graph = create_graph}); });
    auto exact = gradients_by_formula(layer, inputs, gy, wide),
         of_rounded = gradients_by_formula(layer, inputs, gy, rounded);
    got.insert(got.begin(), y);
    for (const bool is_exact : {true, false}) {
      const auto operand = is_exact ? wide : rounded;
      auto& all = is_exact ? exact : of_rounded;
      all.insert(all.begin(), matmul(operand(layer.values(inputs)), operand(inputs[layer.activated]).mT()) +
                                  wide(inputs.back()));
    }
    for (size_t i = 0; i < got.size(); ++i) {
      INFO("result or gradient " << i);
      CHECK(difference(wide(got[i]), made_rounded ? of_rounded[i] : exact[i], 1e-5) == "");
      const bool by_product = i + 1 < got.size();
      CHECK((difference(wide(got[i]), made_rounded ? exact[i] : of_rounded[i], 1e-4) != "") == by_product);
    }
  }
}

TEST_CASE("gradients of gradients are made in the op's precision") {
  Draw draw;
  const Tensor x = draw({6, 40}).requires_grad_(), w = draw({40, 7}).requires_grad_(), v = draw({6, 40});
  const Tensor y = in_bfloat16([&] { return matmul(x, w); });
  const Tensor gx = grad({sum(y * y * 0.5)}, {x}, {.create_graph = true})[0];  // y @ w^T
  check_rounded_product(gx, y.detach(), w.detach().mT());
  const Tensor gw = grad({sum(gx * v)}, {w})[0];  // v^T y, and x^T (v w)
  const Tensor exact = matmul(wide(v).mT(), wide(y)) + matmul(wide(x).mT(), matmul(wide(v), wide(w)));
  const Tensor sizes =
      matmul(abs(wide(v)).mT(), abs(wide(y))) + matmul(abs(wide(x)).mT(), matmul(abs(wide(v)), abs(wide(w))));
  double largest = 0;
  for (const double ratio : (abs(wide(gw) - exact) / sizes).to_vector<double>())
    largest = ratio <= largest ? largest : ratio;
  CHECK(largest <= 4.1 * kHalfBf16);
  CHECK(largest > 100 * kHalfFloat);
}

TEST_CASE("the graph shows it") {
  Draw draw;
  const Tensor x = draw({2, 3}), w = draw({4, 3}).requires_grad_(), u = draw({4, 4}).requires_grad_();
  const Tensor y = in_bfloat16([&] { return matmul(relu(linear(x, w)), u); });
  CHECK(graph_text(y, {{"w", w}, {"u", u}}) ==
        "w = leaf float32 (4, 3)\n"
        "u = leaf float32 (4, 4)\n"
        "%1 = linear of bfloat16, float32 (2, 4) <- w\n"
        "%2 = relu float32 (2, 4) <- %1\n"
        "%3 = matmul of bfloat16, float32 (2, 4) <- %2, u\n");
}

TEST_CASE("attention too, fused and composed, and its gradients' gradients") {
  Draw draw;
  const Tensor q = draw({2, 3, 20, 16}).requires_grad_(), k = draw({2, 3, 20, 16}).requires_grad_(),
               v = draw({2, 3, 20, 16}).requires_grad_(), gy = draw({2, 3, 20, 16});
  const auto attend = [&] { return scaled_dot_product_attention(q, k, v, {.causal = true}); };
  const auto gradients = [&](const Tensor& y, bool create_graph) {
    return grad({y}, {q, k, v}, {.grad_outputs = {gy}, .create_graph = create_graph, .retain_graph = true});
  };
  const Tensor plain = attend(), y = in_bfloat16(attend);
  CHECK_HAS(graph_text(y), "scaled_dot_product_attention of bfloat16, float32 (2, 3, 20, 16)");
  CHECK(difference(y, plain, 0.03) == "");
  CHECK(difference(y, plain, 1e-4) != "");
  const std::vector<Tensor> expected = gradients(plain, false), fused = gradients(y, false),
                            composed = gradients(y, true);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(difference(fused[i], expected[i], 0.06) == "");
    CHECK(difference(fused[i], expected[i], 1e-4) != "");
    CHECK(difference(composed[i], expected[i], 0.06) == "");
    CHECK(difference(composed[i], expected[i], 1e-4) != "");
  }
}

TEST_CASE("checkpoint() runs again in the precision of the first run") {
  Draw draw;
  const Tensor x = draw({3, 40}).requires_grad_(), w = draw({8, 40}).requires_grad_();
  const Tensor y =
      in_bfloat16([&] { return checkpoint([w](const Tensor& in) { return linear(in, w) * 2.0; }, x); });
  y.backward(ones({3, 8}));  // would refuse other values
  check_rounded_product(w.grad() * 0.5, ones({8, 3}), x.detach());
}

TEST_CASE("it is this thread's, for as long as it lives, and leaves float64 alone") {
  CHECK(autocast_dtype() == DType::float32);
  {
    const Autocast outer(DType::bfloat16);
    CHECK(autocast_dtype() == DType::bfloat16);
    CHECK(is_rounded(DType::float32));
    CHECK_FALSE(is_rounded(DType::float64));
    {
      const Autocast inner(DType::float32);
      CHECK(autocast_dtype() == DType::float32);
    }
    CHECK(autocast_dtype() == DType::bfloat16);
    const Tensor a = f64({1.0 + 0x1p-30}, {1, 1});
    CHECK(matmul(a, a).item() == (1.0 + 0x1p-30) * (1.0 + 0x1p-30));
  }
  CHECK(autocast_dtype() == DType::float32);
  check_error("needs bfloat16 or float32, got float64", [] { Autocast wrong(DType::float64); });
}

TEST_CASE("layers that share an input pack it once") {
  Draw draw;
  const Tensor w = draw({8, 64}).requires_grad_(), u = draw({8, 64}).requires_grad_();
  const auto product = [](const Tensor& x, const Tensor& weight) {
    return in_bfloat16([&] { return linear(x, weight); });
  };
  Tensor made = draw({40, 64}).requires_grad_() * 2.0;
  product(made, w);
  product(made, u);  // Both weights are packed.
  made = draw({40, 64}).requires_grad_() * 2.0;
  check_rounded_product(product(made, w), made, w.detach().mT());
  product(made, draw({8, 64}).requires_grad_());  // The forms of a parameter go, and those of x stay.
  reset_peak_memory();
  const int64_t start = memory_use().bytes;
  const Tensor y = product(made, u);
  CHECK(memory_use().peak == start + y.numel() * 4);
  check_rounded_product(y, made, u.detach().mT());

  // Back, too: gw is packed for one of them.
  const Tensor both = sum(y * 2.0 + product(made, w));
  const std::vector<Tensor> g = grad({both}, {u, w, made});
  check_rounded_product(g[0], full({40, 8}, 2.0).mT(), made);
  check_rounded_product(g[1], ones({40, 8}).mT(), made);
}

TEST_CASE("an input is packed again when its values have changed, by a pointer of old too") {
  Draw draw;
  const Tensor w = draw({8, 64}).requires_grad_();
  const auto check = [&](const Tensor& x) {
    check_rounded_product(in_bfloat16([&] { return linear(x, w); }), x, w.detach().mT());
  };
  Tensor x = draw({40, 64});
  float* const values = x.mutable_data<float>();
  check(x);
  values[7] = 100.0F;
  check(x);
  Tensor made = draw({40, 64}).requires_grad_() * 2.0;
  check(made);
  made.detach().mutable_data<float>()[7] = 100.0F;
  check(made);
}

TEST_CASE("a linear layer does not keep its result") {
  Draw draw;
  const Tensor x = draw({40, 64}), w = draw({8, 64}).requires_grad_();
  in_bfloat16([&] { return linear(x, w); });
  const int64_t before = memory_use().bytes;
  const Tensor z = in_bfloat16([&] { return neg(linear(x, w)); });
  CHECK(memory_use().bytes == before + z.numel() * 4);
}

TEST_CASE(
    "a packed parameter stays as it is for whoever still multiplies by it, and then its memory serves "
    "again") {
  Draw draw;
  Tensor w = draw({24, 40}).requires_grad_();
  const auto pack = [&] { return packed(kernels::Side::right, Matrices(w)); };
  const auto numbers = [](const Packed& of) {
    const auto* const bits = reinterpret_cast<const uint16_t*>(of->tiles);
    return std::vector<uint16_t>(bits, bits + kernels::packed_bytes(of->side, of->rows, of->columns) / 2);
  };
  Packed lent = pack();
  const std::vector<uint16_t> before = numbers(lent);
  CHECK(pack()->tiles == lent->tiles);
  w.copy_(draw({24, 40}));
  Packed next = pack();
  CHECK(numbers(lent) == before);
  CHECK(numbers(next) != before);
  const void* const memory = next->tiles;
  lent = next = nullptr;
  w.copy_(draw({24, 40}));
  CHECK(pack()->tiles == memory);
}

TEST_CASE("what was packed last goes with what it was made of") {
  Draw draw;
  const Tensor w = draw({8, 64}).requires_grad_(), leaf = draw({40, 64}).requires_grad_();
  in_bfloat16([&] { return linear(leaf * 2.0, w); });
  const int64_t before = memory_use().bytes;
  in_bfloat16([&] { return linear(leaf * 2.0, w); });
  CHECK(memory_use().bytes == before);
}

TEST_CASE("an input that is overwritten is refused by the gradient that needs it, and by no other") {
  Draw draw;
  for (const bool weight_learns : {false, true}) {
    Tensor x = draw({5, 40}).requires_grad_();
    const Tensor w = draw({8, 40}).requires_grad_(weight_learns);
    const Tensor y = in_bfloat16([&] { return sum(linear(x, w)); });
    x.fill_(5);
    CHECK((error_of([&] { y.backward(); }) == "") == !weight_learns);
  }
}

}  // namespace gradus::test_autocast
