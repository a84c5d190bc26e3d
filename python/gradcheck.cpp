// gradcheck for functions of Python. python/gradus/gradcheck.py makes functions of arrays and of PyTorch such
// functions.
#include "gradus/autograd/gradcheck/gradcheck.hpp"

#include "gradus/python/casters.hpp"

namespace gradus::python {

void add_gradcheck(py::module_& m) {
  m.def("gradcheck", [](const py::function& f, const std::vector<Tensor>& inputs, int order, double eps,
                        double tolerance, int directions, int64_t elementwise, uint64_t seed) {
    const GradcheckReport report =
        gradcheck([&](const std::vector<Tensor>& x) { return f(x).cast<Tensor>(); }, inputs,
                  {.order = order,
                   .eps = eps,
                   .tolerance = tolerance,
                   .directions = directions,
                   .elementwise = elementwise,
                   .seed = seed});
    py::list each;
    for (const GradcheckInput& i : report.inputs)
      each.append(py::dict(py::arg("input") = i.input, py::arg("order") = i.order, py::arg("worst") = i.worst,
                           py::arg("where") = i.where, py::arg("numeric") = i.numeric,
                           py::arg("analytic") = i.analytic));
    const GradcheckOp& op = report.wrong_op;
    return py::dict(
        py::arg("passed") = report.passed, py::arg("checks") = report.checks, py::arg("worst") = report.worst,
        py::arg("message") = report.message, py::arg("cause") = report.cause, py::arg("inputs") = each,
        py::arg("wrong_op") = py::dict(py::arg("number") = op.number, py::arg("op") = op.op,
                                       py::arg("order") = op.order, py::arg("numeric") = op.numeric,
                                       py::arg("analytic") = op.analytic, py::arg("error") = op.error));
  });
}

}  // namespace gradus::python
