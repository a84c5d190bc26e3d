// gradus._core: what the Python package gradus is made of. Python code imports gradus, whose files name,
// document and extend what is here.
#include "gradus/python/object.hpp"

PYBIND11_MODULE(_core, m) {
  namespace python = gradus::python;
  namespace py = pybind11;
  python::Registered& all = python::registered();
  all.error =
      PyErr_NewExceptionWithDoc("gradus.Error", "An invalid request: wrong shapes, dtypes, values or files.",
                                PyExc_RuntimeError, nullptr);
  all.run_error = PyErr_NewExceptionWithDoc(
      "gradus.RunError", "A valid request that failed: a loss that is not finite, a full disk.", all.error,
      nullptr);
  m.attr("Error") = py::handle(all.error);
  m.attr("RunError") = py::handle(all.run_error);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const gradus::RunError& e) {
      PyErr_SetString(python::registered().run_error, e.what());
    } catch (const gradus::Error& e) {
      PyErr_SetString(python::registered().error, e.what());
    }
  });
  python::make_tensor_type(m);
  python::add_autograd(m);
  python::add_operations(m);
  python::add_arrays(m);
  python::add_layers(m);
  python::add_training(m);
  python::add_models(m);
  python::add_gradcheck(m);
}
