#include "gradus/python/operation.hpp"

#include <pybind11/eval.h>
#include <structmember.h>

#include <cctype>
#include <string_view>

namespace gradus::python {

struct Operation {
  PyObject_HEAD vectorcallfunc call;
  Invoke invoke;
  struct Argument {
    PyObject* name;   // interned
    PyObject* value;  // the default; null: it must be given
    bool rest;        // takes all positional arguments from here on
  };
  std::vector<Argument>* arguments;
  std::string* name;
  PyObject* doc;  // the signature
  bool in_place;
};

namespace {

PyTypeObject* operation_type = nullptr;

const Operation& operation_of(PyObject* o) { return *reinterpret_cast<Operation*>(o); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "dim=None" as an Argument; a star before the name takes the rest.
Operation::Argument argument_from(std::string_view text) {
  const bool rest = text.front() == '*';
  if (rest) text.remove_prefix(1);
  const size_t equals = std::min(text.find('='), text.size());
  Operation::Argument argument{PyUnicode_InternFromString(std::string(text.substr(0, equals)).c_str()),
                               nullptr, rest};
  if (equals < text.size())
    argument.value = py::eval(py::str(std::string(text.substr(equals + 1)))).release().ptr();
  return argument;
}

// One argument for the rest: the only one if it is a sequence, else a tuple of all.
py::object rest_of(PyObject* const* args, size_t count) {
  if (count == 1 && !PyLong_Check(args[0])) return py::reinterpret_borrow<py::object>(args[0]);
  py::tuple all(count);
  for (size_t i = 0; i < count; ++i) all[i] = py::handle(args[i]);
  return all;
}

[[noreturn]] void refuse_call(const Operation& op, const std::string& why) {
  throw py::type_error(*op.name + "() " + why + ". It is called as " + py::str(op.doc).cast<std::string>());
}

// The place of a keyword; throws if there is none.
size_t place_of(const Operation& op, PyObject* keyword) {
  const auto& arguments = *op.arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name == keyword) return i;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (PyUnicode_Compare(arguments[i].name, keyword) == 0) return i;
  refuse_call(op, "has no argument '" + py::str(keyword).cast<std::string>() + "'");
}

PyObject* call_operation(const Operation& op, PyObject* const* args, size_t count, PyObject* keywords) {
  PyObject* values[kMaxArguments] = {};
  const auto& arguments = *op.arguments;
  py::object rest;
  for (size_t i = 0; i < count; ++i) {
    if (i >= arguments.size()) refuse_call(op, concat("takes ", arguments.size(), " arguments, got ", count));
    if (arguments[i].rest) {
      rest = rest_of(args + i, count - i);
      values[i] = rest.ptr();
      break;
    }
    values[i] = args[i];
  }
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); ++k) {
    PyObject*& value = values[place_of(op, PyTuple_GET_ITEM(keywords, k))];
    if (value)
      refuse_call(op,
                  "got two values for '" + py::str(PyTuple_GET_ITEM(keywords, k)).cast<std::string>() + "'");
    value = args[count + static_cast<size_t>(k)];
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!values[i]) values[i] = arguments[i].value;
    if (!values[i] && arguments[i].rest) values[i] = (rest = py::tuple(0)).ptr();
    if (!values[i])
      refuse_call(op, "needs the argument '" + py::str(arguments[i].name).cast<std::string>() + "'");
  }
  PyObject* const result = op.invoke(op, values);
  if (!op.in_place) return result;
  const auto owned = py::reinterpret_steal<py::object>(result);
  become(values[0], tensor_of(result), op.name->c_str());
  return Py_NewRef(values[0]);
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  try {
    return call_operation(operation_of(self), args, static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("<operation %U>", operation_of(self).doc); }
PyObject* get_name(PyObject* self, void*) { return PyUnicode_FromString(operation_of(self).name->c_str()); }
PyObject* get_signature(PyObject* self, void*) {
  return PyUnicode_FromString(py::str(operation_of(self).doc).cast<std::string>().c_str() +
                              operation_of(self).name->size());
}

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Operation, call), READONLY, nullptr},
                         {"__doc__", T_OBJECT, offsetof(Operation, doc), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef getters[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                         {"__qualname__", get_name, nullptr, nullptr, nullptr},
                         {"__text_signature__", get_signature, nullptr, nullptr, nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_members, members},
                       {Py_tp_getset, getters},
                       {0, nullptr}};
PyType_Spec spec = {"gradus._core.operation", sizeof(Operation), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};

}  // namespace

PyObject* make_operation(const char* signature, const Invocation& f, bool in_place) {
  if (!operation_type) operation_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  auto* const op = PyObject_New(Operation, operation_type);
  const std::string_view text = signature;
  const size_t open = text.find('(');
  op->call = vectorcall;
  op->invoke = f.invoke;
  op->in_place = in_place;
  op->name = new std::string(std::string(text.substr(0, open)) + (in_place ? "_" : ""));
  op->doc = py::str(*op->name + std::string(text.substr(open))).release().ptr();
  op->arguments = new std::vector<Operation::Argument>;
  std::string_view list = text.substr(open + 1, text.size() - open - 2);
  while (!trimmed(list).empty()) {
    const size_t comma = std::min(list.find(", "), list.size());
    op->arguments->push_back(argument_from(trimmed(list.substr(0, comma))));
    list.remove_prefix(std::min(comma + 2, list.size()));
  }
  if (op->arguments->size() != f.arguments || f.arguments > kMaxArguments)
    throw std::logic_error(concat(signature, " must name the ", f.arguments, " arguments of its function"));
  return reinterpret_cast<PyObject*>(op);
}

void refuse_argument(const Operation& op, size_t i, const char* type, PyObject* value) {
  const std::string given = std::string(py::str(py::type::handle_of(value).attr("__name__")));
  throw py::type_error(concat(*op.name, "(): argument '", std::string(py::str((*op.arguments)[i].name)),
                              "' must be ", type, ", got ", given));
}

void Table::put(const char* signature, const Invocation& f, bool is_function, bool is_method) {
  const bool twin = signature[0] == '*';
  for (int in_place = 0; in_place <= (twin ? 1 : 0); ++in_place) {
    const auto op =
        py::reinterpret_steal<py::object>(make_operation(signature + (twin ? 1 : 0), f, in_place == 1));
    const py::str name(op.attr("__name__"));
    if (is_function) py::setattr(module_, name, op);
    if (is_method) py::setattr(reinterpret_cast<PyObject*>(registered().tensor), name, op);
  }
}

void Table::put_property(const char* signature, const Invocation& get, const char* setter,
                         const Invocation& set) {
  const auto getter = py::reinterpret_steal<py::object>(make_operation(signature, get));
  const auto assign = setter ? py::reinterpret_steal<py::object>(make_operation(setter, set)) : py::none();
  const auto property = py::module_::import("builtins").attr("property")(getter, assign);
  py::setattr(reinterpret_cast<PyObject*>(registered().tensor), py::str(getter.attr("__name__")), property);
}

}  // namespace gradus::python
