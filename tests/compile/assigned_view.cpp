// A program that assigns to a view that nothing holds, as if this wrote into its base.
#include "gradus/gradus.hpp"

int main() {
  gradus::Tensor x = gradus::zeros({2, 2});
  x.select(0, 1) = gradus::ones({2});
}
