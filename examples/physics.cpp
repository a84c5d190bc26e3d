// A physics-informed network (Raissi, Perdikaris and Karniadakis, arXiv 1711.10561): it learns a damped
// oscillation from its differential equation alone,
//
//   u'' + 2 d u' + w^2 u = 0,  u(0) = 1,  u'(0) = 0,  0 <= t <= 4.
//
// Its derivatives by t are gradients that are recorded (create_graph), so that the loss can be differentiated
// by the weights. The form u = 1 + t^2 / (1 + t^2) net(t) has the right start whatever the weights are.
//
// Exits with 1 unless u is within 0.01 of the exact solution everywhere.
#include <cmath>
#include <gradus/gradus.hpp>
#include <iostream>
#include <numbers>

using namespace gradus;

constexpr double kDamping = 0.4, kFrequency = 2.5, kEnd = 4.0;

double exact(double t) {
  const double damped = std::sqrt(kFrequency * kFrequency - kDamping * kDamping);
  return std::exp(-kDamping * t) * (std::cos(damped * t) + kDamping / damped * std::sin(damped * t));
}

struct Oscillation : nn::Module {
  nn::Linear first, second, last;
  explicit Oscillation(Generator& g) : first(1, 32, g), second(32, 32, g), last(32, 1, g) {}
  Tensor operator()(const Tensor& t) const {  // (N, 1) -> (N, 1)
    const Tensor square = t * t;
    return 1.0 + square / (1.0 + square) * last(tanh(second(tanh(first(t)))));
  }
  void visit(nn::Visitor& v) override { v("first", first)("second", second)("last", last); }
};

/// d y_i / d t_i for each i: y_i depends on t_i only, so that the gradient of the sum is all of them.
Tensor derivative(const Tensor& y, const Tensor& t) {
  return grad({sum(y)}, {t}, {.create_graph = true}).at(0);
}

double largest_error(const Oscillation& u) {
  const NoGrad evaluation;
  const Tensor t = arange(0, kEnd + 0.01, 0.01, DType::float32).unsqueeze(1), values = u(t);
  double largest = 0;
  for (int64_t i = 0; i < t.size(0); ++i)
    largest = std::max(largest, std::abs(values.at({i, 0}) - exact(t.at({i, 0}))));
  return largest;
}

int main() {
  Generator g(1);
  Oscillation u(g);
  train::AdamW optimizer(u.named_parameters(), {.weight_decay = 0});
  constexpr int kSteps = 6000;
  for (int step = 0; step <= kSteps; ++step) {
    const Tensor t = (rand({128, 1}, g) * kEnd).requires_grad_();
    const Tensor value = u(t), velocity = derivative(value, t), acceleration = derivative(velocity, t);
    const Tensor residual = acceleration + 2 * kDamping * velocity + kFrequency * kFrequency * value;
    const Tensor loss = mean(residual * residual);
    if (step % 1500 == 0)
      std::cout << "step " << step << "  residual " << std::sqrt(loss.item()) << "  largest error "
                << largest_error(u) << "\n";
    loss.backward();
    optimizer.step(/*lr=*/5e-3 * 0.5 * (1 + std::cos(std::numbers::pi * step / kSteps)));
    optimizer.zero_grad();
  }
  return largest_error(u) < 0.01 ? 0 : 1;
}
