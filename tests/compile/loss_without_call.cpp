// A loss that takes what no trainer gives.
#include "gradus/train/trainer/recipe.hpp"

using namespace gradus;

train::Recipe recipe() {
  return {.loss = [](const Tensor& x, const Tensor& y) { return x.defined() ? x : y; }, .batches = {}};
}
