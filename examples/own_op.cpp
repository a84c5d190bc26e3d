// An operation with its own kernel: the loss of Geman and McClure, r^2 / (r^2 + 1) with r = x - target, which
// outliers do not pull (Barron, "A general and adaptive robust loss function", arXiv 1701.03077, equation 6).
//
// Composed of public operations it reads and writes memory four times. Here one loop computes it. Its
// gradient is an operation with another loop; the rule of that one is written in public operations, so that
// gradients of gradients exist.
//
// The program checks both orders against finite differences, compares values and speed with the composed
// form, and fits a line to points a fifth of which are wrong. Exits with 1 unless the checks pass and the
// slope is within 0.02 of the right one.
#include <chrono>
#include <cmath>
#include <gradus/gradus.hpp>
#include <iostream>

using namespace gradus;

/// f(x, target) for each pair of elements, in one loop. x and target: one shape, float32 or float64.
template <class F>
Tensor each(const Tensor& x, const Tensor& target, F f) {
  if (x.shape() != target.shape() || x.dtype() != target.dtype())
    fail("geman_mcclure", "x and target must have one shape and dtype, got ", x.shape(), " and ",
         target.shape(), ".");
  Tensor out = empty(x.shape(), x.dtype());
  const auto loop = [&]<class T>(T) {
    const Tensor xs = x.detach().contiguous(), ts = target.detach().contiguous();
    const T *a = xs.data<T>(), *b = ts.data<T>();
    T* y = out.mutable_data<T>();
    for (int64_t i = 0, n = x.numel(); i < n; ++i) y[i] = f(a[i] - b[i]);
  };
  x.dtype() == DType::float64 ? loop(0.0) : loop(0.0f);
  return out;
}

/// The derivative by x: 2 r / (r^2 + 1)^2, an operation with its own gradient, (2 - 6 r^2) / (r^2 + 1)^3.
Tensor geman_mcclure_slope(const Tensor& x, const Tensor& target) {
  const auto curvature = [x = Saved(x), target = Saved(target)](const Tensor& gy) {
    const Tensor r = Tensor(x) - target, square = r * r;
    return gy * (2.0 - 6.0 * square) / pow(square + 1.0, 3.0);
  };
  return record(OpName::custom("geman_mcclure_slope"),
                each(x, target, [](auto r) { return 2 * r / ((r * r + 1) * (r * r + 1)); }),
                {{x, curvature}, {target, [curvature](const Tensor& gy) { return -curvature(gy); }}});
}

/// r^2 / (r^2 + 1), element by element.
Tensor geman_mcclure(const Tensor& x, const Tensor& target) {
  const auto slope = [x = Saved(x), target = Saved(target)](const Tensor& gy) {
    return gy * geman_mcclure_slope(x, target);
  };
  return record(OpName::custom("geman_mcclure"), each(x, target, [](auto r) { return r * r / (r * r + 1); }),
                {{x, slope}, {target, [slope](const Tensor& gy) { return -slope(gy); }}});
}

Tensor composed(const Tensor& x, const Tensor& target) {
  const Tensor r = x - target, square = r * r;
  return square / (square + 1.0);
}

/// Milliseconds of a forward and a backward pass over a million elements, the shortest of 20.
template <class F>
double milliseconds(F loss) {
  Generator g(1);
  Tensor x = randn({1'000'000}, g).requires_grad_();
  const Tensor target = randn({1'000'000}, g);
  double shortest = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    mean(loss(x, target)).backward();
    x.zero_grad();
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, taken.count());
  }
  return shortest;
}

int main() {
  Generator g(1);
  const std::vector<Tensor> inputs = {randn({3, 4}, g, DType::float64), randn({3, 4}, g, DType::float64)};
  const auto report = gradcheck([](const std::vector<Tensor>& in) { return geman_mcclure(in[0], in[1]); },
                                inputs, {.order = 2});
  std::cout << "gradcheck of orders 1 and 2  " << (report ? "passed" : report.message) << "\n";
  const double difference =
      amax(abs(geman_mcclure(inputs[0], inputs[1]) - composed(inputs[0], inputs[1]))).item();
  std::cout << "difference from composed     " << difference << "\n"
            << "composed                     " << milliseconds(composed) << " ms\n"
            << "own loops                    " << milliseconds(geman_mcclure) << " ms\n";

  const Tensor x = rand({200, 1}, g) * 4.0 - 2.0;
  const Tensor wrong = lt(rand({200, 1}, g), 0.2);
  const Tensor y = where(wrong, full({}, 8.0), 1.5 * x + 0.1 * randn({200, 1}, g));
  nn::Linear line(1, 1, g);
  train::AdamW optimizer(line.named_parameters(), {.weight_decay = 0});
  for (int step = 0; step < 500; ++step) {
    mean(geman_mcclure(line(x), y)).backward();
    optimizer.step(/*lr=*/2e-2);
    optimizer.zero_grad();
  }
  const double slope = line.weight.item();
  std::cout << "slope of the line            " << slope << ", right is 1.5\n";
  return report && difference < 1e-12 && std::abs(slope - 1.5) < 0.02 ? 0 : 1;
}
