// Long rows keep their digits, and values whose squares overflow or vanish their norms, as in float64.
#include "autograd/against_float64.hpp"

namespace gradus::test_ops_extremes {

using namespace gradus::testing;

Tensor weight(const Tensor& x, int64_t n) {
  return arange(1, static_cast<double>(n + 1)).to(x.dtype()) / static_cast<double>(n);
}

TEST_CASE("sums over long rows are as exact as over short ones") {
  constexpr int64_t n = 1'200'000;
  Generator g(1);
  const Tensor long_row = rand({1, n}, g) + 1.0;
  const NamedOp rows[] = {
      {"logsumexp", [](const Tensor& x) { return logsumexp(x, {1}); }},
      {"softmax", [](const Tensor& x) { return softmax(x, 1); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x, 1); }},
      {"cross_entropy", [](const Tensor& x) { return cross_entropy(x, i64({5})); }},
      {"layer_norm", [](const Tensor& x) { return layer_norm(x, {n}, {}, {}, 1e-5); }},
      {"rms_norm", [](const Tensor& x) { return rms_norm(x, {n}, {}, 1e-5); }},
      {"var", [](const Tensor& x) { return var(x, {1}); }},
      {"stddev", [](const Tensor& x) { return stddev(x, {1}); }},
      {"norm", [](const Tensor& x) { return norm(x, 2, {1}); }},
      {"norm 3", [](const Tensor& x) { return norm(x, 3, {1}); }},
      {"cumsum", [](const Tensor& x) { return cumsum(x, 1); }},
      {"mse_loss",
       [](const Tensor& x) {
         return mse_loss(x, zeros({1, n}, x.dtype()));
       }},
      {"gradient of a bias",
       [](const Tensor& x) {
         return x.reshape({n, 1}) + sum(x.slice(1, 0, 1));
       }},
  };
  for (const NamedOp& c : rows) check_against_float64(c, long_row, 2e-6);
  // The gradients of scales and biases over many rows.
  const NamedOp parameters[] = {
      {"layer_norm's",
       [](const Tensor& w) {
         Generator same(3);
         const Tensor y = rand({n / 4, 4}, same).to(w.dtype());
         return layer_norm(y, {4}, w, w, 1e-5);
       }},
      {"rms_norm's",
       [](const Tensor& w) {
         Generator same(3);
         const Tensor y = rand({n / 4, 4}, same).to(w.dtype());
         return rms_norm(y, {4}, w, 1e-5);
       }},
  };
  for (const NamedOp& c : parameters) check_against_float64(c, weight(long_row, 4), 2e-6);
}

TEST_CASE("norms and deviations of huge and of tiny values neither overflow nor vanish") {
  const Tensor unit = f64({1, 2, -3, 4, 0.5, 6}, {2, 3});
  const NamedOp cases[] = {
      {"layer_norm", [](const Tensor& x) { return layer_norm(x, {3}, {}, {}, 0); }},
      {"layer_norm with a weight",
       [](const Tensor& x) { return layer_norm(x, {3}, weight(x, 3), weight(x, 3), 0); }},
      {"rms_norm", [](const Tensor& x) { return rms_norm(x, {3}, weight(x, 3), 0.0); }},
      {"norm", [](const Tensor& x) { return norm(x); }},
      {"norm by rows", [](const Tensor& x) { return norm(x, 2, {1}, true); }},
      {"norm 1", [](const Tensor& x) { return norm(x, 1, {1}); }},
      {"norm 3", [](const Tensor& x) { return norm(x, 3, {0}); }},
      {"norm 1/2", [](const Tensor& x) { return norm(x, 0.5, {1}); }},
      {"norm -1", [](const Tensor& x) { return norm(x, -1, {1}); }},
      {"stddev", [](const Tensor& x) { return stddev(x, {1}); }},
      {"stddev of all", [](const Tensor& x) { return stddev(x, {}, 0); }},
  };
  for (const double scale : {1e20, 1e30, 1e-23, 1e-30, 1.0})
    for (const NamedOp& c : cases)
      for (const bool create_graph : {false, true})
        check_against_float64(c, (unit * scale).to(DType::float32), 2e-6, create_graph);
  const NamedOp far{"far from 0", [](const Tensor& t) { return layer_norm(t, {3}, {}, {}, 0); }};
  check_against_float64(far, ((unit + 1000.0) * 1e20).to(DType::float32), 2e-6);
  for (const NamedOp& c : {NamedOp{"eps", [](const Tensor& t) { return layer_norm(t, {3}, {}, {}, 1e-38); }},
                           NamedOp{"eps", [](const Tensor& t) { return rms_norm(t, {3}, {}, 1e-38); }}})
    check_against_float64(c, (unit * 1e-19).to(DType::float32), 2e-6);
  // Defaults of eps.
  const Tensor x = f32({1e20, 2e20, 3e20, 4e20});
  CHECK(layer_norm(x, {4}).at({0}) == Approx(-1.3416408));
  CHECK(layer_norm(x * 1e10, {4}).at({0}) == Approx(-1.3416408));
  CHECK(rms_norm(x, {4}).at({0}) == Approx(0.3651484));
  CHECK(norm(zeros({3})).item() == 0);
  CHECK(norm(f32({1e-30, 1e20})).item() == Approx(1e20));
  CHECK(norm(f32({1e-39, 1e20}), -1).item() == Approx(1e-39).epsilon(1e-5));
  CHECK(norm(f32({kInf, 1e30})).item() == kInf);
  CHECK(std::isnan(norm(f32({kNan, 1e30})).item()));
}

TEST_CASE("the gradient of norm 1 is the sign, also where |x| / norm vanishes") {
  const Tensor x = f32({1e-30, -1e-40, 0, 1e20}).requires_grad_();
  norm(x, 1).backward();
  CHECK(difference(x.grad(), f32({1, -1, 0, 1})) == "");
}

TEST_CASE("a loss has the shape of its first argument") {
  const Tensor x = f32({1, 2}), column = f32({1, 2}, {2, 1});
  for (const auto loss : {mse_loss, l1_loss}) {
    CHECK_ERROR(loss(x, column, Reduction::mean),
                "target must broadcast to the shape of x, (2,), got (2, 1)");
    CHECK_ERROR(loss(column, x, Reduction::mean),
                "target must broadcast to the shape of x, (2, 1), got (2,)");
    CHECK(loss(x, f32({3}), Reduction::none).shape() == x.shape());
  }
  CHECK_ERROR(huber_loss(column, x), "target must broadcast");
  CHECK_ERROR(smooth_l1_loss(column, x), "target must broadcast");
  CHECK_ERROR(kl_div(column, x), "target must broadcast");
}

TEST_CASE("binary_cross_entropy_with_logits keeps small losses and gradients") {
  // Losses log1p(e^-|x|) and slopes 1 / (1 + e^-x) - t by Python's math, in float64.
  struct Row {
    double x, target, loss, slope;
  };
  const Row rows[] = {
      {-15, 0, 3.059022737137205e-07, 3.059022269256247e-07},
      {-20, 0, 2.061153620314381e-09, 2.0611536181902033e-09},
      {-80, 0, 1.8048513878454153e-35, 1.8048513878454153e-35},
      {15, 1, 3.059022737137205e-07, -3.059022269256247e-07},
      {15, 0, 15.000000305902274, 0.999999694097773},
      {-15, 1, 15.000000305902274, -0.999999694097773},
      {0, 0.25, 0.6931471805599453, 0.25},
      {2, 0.5, 1.1269280110429727, 0.38079707797788237},
      {-3, 0.5, 1.548587351573742, -0.4525741268224333},
  };
  for (const DType dtype : {DType::float32, DType::float64})
    for (const Row& row : rows) {
      const Tensor x = f64({row.x}).to(dtype).requires_grad_(), t = f64({row.target}).to(dtype);
      const Tensor loss = binary_cross_entropy_with_logits(x, t);
      loss.backward();
      INFO(row.x << ", target " << row.target);
      const double digits = dtype == DType::float32 ? 1e-6 : 1e-12;
      CHECK(loss.item() == Approx(row.loss).epsilon(digits));
      CHECK(x.grad().at({0}) == Approx(row.slope).epsilon(digits));
    }
}

TEST_CASE("the weight of positives has the same digits, and kl_div a slope at a target of 0") {
  Tensor x = f64({-20, 20, -1}).requires_grad_();
  const Tensor t = f64({1, 1, 0.5}),
               loss = binary_cross_entropy_with_logits(x, t, {}, Reduction::none, f64({3, 3, 3}));
  // By Python: 3 t log1p(e^-x) + (1 - t) log1p(e^x), and its slope.
  CHECK(difference(loss.detach(), f64({60.000000006183456, 6.183460860943142e-09, 2.1265233750364456})) ==
        "");
  sum(loss).backward();
  CHECK(difference(x.grad(), f64({-2.999999993816539, -6.18346085457061e-09, -0.9621171572600098})) == "");
  Tensor target = f64({0, 1}).requires_grad_();
  kl_div(f64({-1, -2}), target, Reduction::sum).backward();
  CHECK(difference(target.grad(), f64({1, 3})) == "");  // -x, and log t + 1 - x
}

TEST_CASE("kl_div divides by the number of rows, also if there is none") {
  const Tensor none = zeros({0, 5});
  CHECK(std::isnan(kl_div(none, none, Reduction::batchmean).item()));
  CHECK(kl_div(none, none, Reduction::sum).item() == 0);
  CHECK(kl_div(f64({-1}, {}), f64({1}, {}), Reduction::batchmean).item() == 1);
}

}  // namespace gradus::test_ops_extremes
