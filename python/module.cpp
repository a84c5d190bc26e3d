// gradus._core: what the Python package gradus is made of. Python code imports gradus, whose files name,
// document and extend what is here.
#include "gradus/python/operation.hpp"

PYBIND11_MODULE(_core, m) {
  namespace python = gradus::python;
  python::make_types(m);
  m.attr("_functional") = pybind11::list();  // the names of rows with a +
  m.attr("_tile_types") = std::vector<std::string>(std::end(gradus::kDTypeNames) - gradus::kTileTypes,
                                                   std::end(gradus::kDTypeNames));
  python::Table table(m);
  python::add_operations(table);
  python::add_arithmetic(table);
  python::add_pytorch_bits(table);
  python::add_arrays(table);
  python::add_autograd(table);
  python::add_layers(table);
  python::add_training(table);
  python::add_models(table);
}
