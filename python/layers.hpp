// Layers of the library as leaves of Python's modules, and Python's modules as modules of the library.
#pragma once

#include "gradus/nn/containers.hpp"
#include "gradus/python/operation.hpp"

namespace gradus::python {

/// A layer.
struct Layer {
  nn::AnyModule any;
  bool draws = false;  ///< whether it draws random numbers in training mode
  nn::Module& module() const { return any.module(); }
};
using Made = std::shared_ptr<Layer>;  ///< as Python holds one

/// Calls f(generator) without the GIL if it takes long or draws; the generator is null if it does not draw.
template <class F>
auto run(const Layer& layer, bool is_long, const Random& random, const F& f) {
  const bool draws = layer.draws && layer.module().training();
  Unlocked unlocked(draws || is_long);
  if (draws) unlocked.lock(random);
  return f(draws ? random.get() : nullptr);
}

}  // namespace gradus::python
