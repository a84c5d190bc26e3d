// A mixture of experts (Shazeer et al., arXiv 1701.06538): a router sends each example to two of eight small
// networks, so that a model of eight networks costs little more than two of them.
//
// The task has eight clusters, each with a different linear map, which one network of the size of two
// experts cannot learn. An expert that gets more examples becomes better and gets more still; the balancing
// loss of Fedus et al. (arXiv 2101.03961, equation 4) works against that. On this small task it changes
// little.
//
// Exits with 1 unless the mixture's error is below 0.15 and a third of the single network's, and no expert
// has a quarter of the load.
#include <gradus/gradus.hpp>
#include <iostream>

using namespace gradus;

constexpr int64_t kExperts = 8, kChosen = 2, kFeatures = 8, kHidden = 8;

struct MixtureOfExperts : nn::Module {
  using Expert = nn::MLP;
  struct Output {
    Tensor y;        // (N, C)
    Tensor balance;  // (): 1 if all experts have the same load, up to kExperts if one has all
    Tensor load;     // (kExperts): the share of the examples that each gets
  };

  nn::Linear router;
  std::vector<Expert> experts;
  explicit MixtureOfExperts(Generator& g) : router(kFeatures, kExperts, g, {.bias = false}) {
    for (int64_t i = 0; i < kExperts; ++i) experts.emplace_back(kFeatures, kHidden, g);
  }
  void visit(nn::Visitor& v) override { v("router", router)("experts", experts); }

  Output operator()(const Tensor& x) const {  // (N, C)
    const int64_t n = x.size(0);
    const Tensor probabilities = softmax(router(x), 1);
    const Tensor chosen = topk(probabilities, kChosen, 1).indices;  // (N, kChosen)
    const Tensor picked = gather(probabilities, 1, chosen), gates = picked / sum(picked, {1}, true);
    Tensor y = zeros(x.shape());
    std::vector<Tensor> loads;
    for (int64_t i = 0; i < kExperts; ++i) {  // An expert computes its own examples only.
      const Tensor mine = eq(chosen, static_cast<double>(i));
      const Tensor gate =
          sum(masked_fill(gates, eq(mine, 0.0), 0.0), {1});  // (N), 0 for the examples of others
      const Tensor rows = arange(0, static_cast<double>(n)).index({gt(gate.detach(), 0.0)});
      loads.push_back(full({}, static_cast<double>(rows.size(0)) / static_cast<double>(n * kChosen)));
      if (rows.size(0) == 0) continue;
      const Tensor result =
          experts[static_cast<size_t>(i)](x.index({rows})) * gate.index({rows}).unsqueeze(1);
      y = index_add(y, 0, rows, result);
    }
    const Tensor load = stack(loads, 0);
    return {y, static_cast<double>(kExperts) * sum(load * mean(probabilities, {0})), load};
  }
};

/// Examples around eight centres, each centre with its own linear map.
struct Task {
  Tensor centres, maps;
  explicit Task(Generator& g)
      : centres(2.0 * randn({kExperts, kFeatures}, g)), maps(randn({kExperts, kFeatures, kFeatures}, g)) {}
  std::pair<Tensor, Tensor> batch(int64_t n, Generator& g) const {
    const Tensor cluster = randint(0, kExperts, {n}, g), noise = 0.5 * randn({n, kFeatures}, g);
    const Tensor y = matmul(noise.unsqueeze(1), maps.index({cluster})).squeeze(1);
    return {centres.index({cluster}) + noise, y};
  }
};

int main() {
  Generator g(1);
  const Task task(g);
  MixtureOfExperts mixture(g);
  nn::MLP single(kFeatures, kChosen * kHidden, g);
  train::AdamW optimizer(mixture.named_parameters()), other(single.named_parameters());
  constexpr int kSteps = 3000;
  for (int step = 0; step < kSteps; ++step) {
    const auto [x, y] = task.batch(256, g);
    const double lr = 1e-2 * (1.0 - static_cast<double>(step) / kSteps);
    const MixtureOfExperts::Output out = mixture(x);
    const Tensor loss = mse_loss(out.y, y), loss_of_single = mse_loss(single(x), y);
    if (step % 1000 == 0)
      std::cout << "step " << step << "  mixture " << loss.item() << "  single " << loss_of_single.item()
                << "  balance " << out.balance.item() << "\n";
    (loss + 0.01 * out.balance).backward();
    loss_of_single.backward();
    optimizer.step(lr);
    other.step(lr);
    optimizer.zero_grad();
    other.zero_grad();
  }
  const NoGrad evaluation;
  const auto [x, y] = task.batch(4096, g);
  const MixtureOfExperts::Output out = mixture(x);
  const double error = mse_loss(out.y, y).item(), error_of_single = mse_loss(single(x), y).item();
  std::cout << "error on new examples: mixture " << error << ", single " << error_of_single
            << "\nload of each expert: " << out.load << "\n";
  return error < 0.15 && error < error_of_single / 3 && amax(out.load).item() < 0.25 ? 0 : 1;
}
