// Two moons: micrograd's demonstration. A perceptron separates two half circles with a margin, and the
// program draws where.
//
// usage: moons [PICTURE.svg]. Exits with 1 unless 99 % of the points are on the right side.
#include <fstream>
#include <gradus/gradus.hpp>
#include <iostream>
#include <numbers>

using namespace gradus;

struct Points {
  Tensor x;  // (N, 2)
  Tensor y;  // (N), -1 or 1
};

/// Half circles that interlock, with noise, as scikit-learn's make_moons.
Points make_moons(int64_t n, double noise, Generator& g) {
  const Tensor angle = rand({n}, g) * std::numbers::pi;
  const Tensor upper = stack({cos(angle), sin(angle)}, 1);  // (n, 2)
  const Tensor lower = stack({1.0 - cos(angle), 0.5 - sin(angle)}, 1);
  return {cat({upper, lower}, 0) + noise * randn({2 * n, 2}, g), cat({full({n}, -1.0), ones({n})}, 0)};
}

/// An SVG of the model's sign over the plane, and of the points; a unit is a hundredth of a coordinate, and y
/// points down.
template <class M>
void draw(const M& model, const Points& points, const std::string& file) {
  constexpr int kLeft = -160, kTop = -170, kCell = 5, kColumns = 84, kRows = 58;
  std::ofstream svg(file);
  svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='" << kLeft << " " << kTop << " "
      << kCell * kColumns << " " << kCell * kRows << "'>\n";
  const NoGrad drawing;
  for (int row = 0; row < kRows; ++row) {
    const int top = kTop + row * kCell;
    const Tensor x = (arange(0, kColumns) + 0.5) * kCell + kLeft, y = full({kColumns}, -top - 0.5 * kCell);
    const Tensor score = model(stack({x, y}, 1) / 100.0);
    for (int column = 0; column < kColumns; ++column)
      svg << "<rect x='" << kLeft + column * kCell << "' y='" << top << "' width='5.2' height='5.2' fill='"
          << (score.at({column, 0}) > 0 ? "#f4c7a1" : "#a8c8ec") << "'/>\n";
  }
  for (int64_t i = 0; i < points.y.size(0); ++i)
    svg << "<circle cx='" << 100 * points.x.at({i, 0}) << "' cy='" << -100 * points.x.at({i, 1})
        << "' r='3' fill='" << (points.y.at({i}) > 0 ? "#c8521b" : "#1f5fa8") << "'/>\n";
  svg << "</svg>\n";
}

int main(int argc, char** argv) {
  Generator g(1337);
  const Points points = make_moons(100, 0.1, g);
  nn::Sequential model{nn::Linear(2, 16, g), relu, nn::Linear(16, 16, g), relu, nn::Linear(16, 1, g)};
  train::AdamW optimizer(model.named_parameters(), {.weight_decay = 1e-3});
  double share = 0;
  for (int step = 0; step <= 300; ++step) {
    const Tensor margin = points.y * model(points.x).squeeze(1);  // above 0 on the right side
    const Tensor loss = mean(relu(1.0 - margin));
    share = mean(gt(margin, 0.0).to(DType::float32)).item();
    if (step % 100 == 0)
      std::cout << "step " << step << "  loss " << loss.item() << "  right " << 100 * share << " %\n";
    loss.backward();
    optimizer.step(/*lr=*/1e-2);
    optimizer.zero_grad();
  }
  if (argc > 1) {
    draw(model, points, argv[1]);
    std::cout << "wrote " << argv[1] << "\n";
  }
  return share >= 0.99 ? 0 : 1;
}
