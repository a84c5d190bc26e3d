// Layers of the library as leaves of Python's modules, and Python's modules as modules of the library.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/containers.hpp"
#include "gradus/python/casters.hpp"

namespace gradus::python {

/// A layer.
struct Layer {
  nn::AnyModule any;
  bool draws = false;  ///< whether it draws random numbers in training mode
  nn::Module& module() const { return any.module(); }
};

/// A module whose members a module of Python lists: its parameters, its buffers, and the layers in it.
class Assembly : public nn::Module {
 public:
  /// (name, Layer) or (name, Tensor). A tensor that is no Parameter is a buffer, unless all are parameters.
  Assembly(const py::list& members, bool all_are_parameters);
  void visit(nn::Visitor& v) override;

 private:
  struct Member {
    std::string name;
    std::shared_ptr<Layer> layer;  // or
    Tensor tensor;
    bool is_buffer;
  };
  std::vector<Member> members_;
};

}  // namespace gradus::python
