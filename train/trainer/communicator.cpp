#include "gradus/train/trainer/communicator.hpp"

namespace gradus::train {

void add_ranks(Communicator* ranks, std::vector<double>& numbers) {
  if (!ranks) return;
  constexpr int kTag = 0;
  const auto bytes = static_cast<int64_t>(numbers.size() * sizeof(double));
  std::vector<std::vector<double>> of(static_cast<size_t>(ranks->size()), numbers);
  for (int other = 0; other < ranks->size(); ++other) {
    if (other == ranks->rank()) continue;
    ranks->receive(other, kTag, of[static_cast<size_t>(other)].data(), bytes);
    ranks->send(other, kTag, numbers.data(), bytes);
  }
  ranks->wait();
  numbers.assign(numbers.size(), 0.0);
  for (const std::vector<double>& values : of)
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] += values[i];
}

std::vector<double> all_ranks(Communicator* ranks, double own) {
  if (!ranks) return {own};
  std::vector<double> numbers(static_cast<size_t>(ranks->size()), 0.0);
  numbers[static_cast<size_t>(ranks->rank())] = own;
  add_ranks(ranks, numbers);
  return numbers;
}

}  // namespace gradus::train
