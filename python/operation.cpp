#include "gradus/python/operation.hpp"

#include <pybind11/eval.h>
#include <structmember.h>

#include <cctype>

namespace gradus::python {

/// The operation behind a callable of Python. It is never freed.
struct Operation {
  struct Argument {
    PyObject* name;   // interned
    PyObject* value;  // the default; null: it must be given
    bool rest;        // takes all positional arguments from here on
  };
  std::string name;
  std::string signature;  // "(input, dim)"
  Invocation f;
  bool in_place;
  bool detaches = name == "detach" || name == "data";  // gradients do not reach its result, a view
  std::string rule{};                                  // which of them
  std::vector<std::string> names{};                    // PyTorch's for the result
  std::vector<Argument> arguments{};

  bool is_operator() const { return name.starts_with("__"); }
};

namespace {

struct OperationObject {
  PyObject_HEAD vectorcallfunc call;
  Operation* operation;
  PyObject *name, *signature, *doc;
  PyObject* types;  // of the arguments, then of the result; stubs.py reads them
};

const Operation& operation_of(PyObject* o) { return *reinterpret_cast<OperationObject*>(o)->operation; }

// The description of a name, from the headers of the library or from descriptions.txt.
struct Description {
  std::string_view name, text;
};
constexpr Description kDescriptions[] = {
#include "descriptions.inc"
};

struct NotForThese {};  // an operator is given another type

// The parts of a text between separators.
std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + separator.size(), text.size()));
  }
  return parts;
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

std::string text_of(PyObject* o) { return py::str(py::handle(o)); }

// One argument for the rest: the only one if it is a sequence, else a tuple of all.
py::object rest_of(PyObject* const* args, size_t count) {
  if (count == 1 && !PyLong_Check(args[0])) return py::reinterpret_borrow<py::object>(args[0]);
  py::tuple all(count);
  for (size_t i = 0; i < count; ++i) all[i] = py::handle(args[i]);
  return all;
}

[[noreturn]] void refuse_call(const Operation& op, const std::string& why) {
  throw py::type_error(op.name + "() " + why + ". It is called as " + op.name + op.signature);
}

// The place of a keyword; throws if there is none.
size_t place_of(const Operation& op, PyObject* keyword) {
  for (size_t i = 0; i < op.arguments.size(); ++i)
    if (op.arguments[i].name == keyword || PyUnicode_Compare(op.arguments[i].name, keyword) == 0) return i;
  const std::string name = text_of(keyword);
  if (name == "axis" || name == "keepdims")  // NumPy's names, which PyTorch takes as well
    return place_of(op, py::str(name == "axis" ? "dim" : "keepdim").ptr());
  refuse_call(op, "has no argument '" + name + "'");
}

// 0: plain, 1: smoothed labels, 2: probabilities as targets.
size_t loss_kind(PyObject* const* values) {
  return is_floating(tensor_of(values[1]).dtype()) ? 2 : PyFloat_AsDouble(values[5]) > 0;
}

// Gives what an operation returned PyTorch's names: of the operation in graphs, and of a pair.
void name_result(const Operation& op, PyObject* const* values, PyObject* result) {
  if (is_tensor(result)) {
    const Tensor& y = tensor_of(result);
    if (op.names.empty() || !y.requires_grad()) return;
    const auto dims = [values](size_t i) { return tensor_of(values[i]).dim(); };
    const size_t i = op.rule == "dim"       ? (values[1] != Py_None) + is_tensor(values[1])
                     : op.rule == "int"     ? PyLong_Check(values[1])
                     : op.rule == "tensor"  ? is_tensor(values[op.arguments.size() - 1])
                     : op.rule == "loss"    ? loss_kind(values)
                     : op.rule == "copy"    ? y.impl()->storage != tensor_of(values[0]).impl()->storage
                     : op.rule == "product" ? (y.dim() > 1    ? 4 * (dims(1) == 1)
                                               : y.dim() == 0 ? 1
                                               : dims(1) == 1 ? 2
                                                              : 3)
                                            : 0;
    if (i < op.names.size() && !op.names[i].empty())
      reinterpret_cast<TensorObject*>(result)->grad_fn = op.names[i].c_str();
  } else if (PyTuple_Check(result)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i)
      name_result(op, values, PyTuple_GET_ITEM(result, i));
    if (Py_TYPE(result) == reinterpret_cast<PyTypeObject*>(registered().pair))
      py::setattr(result, "_operation", py::str(op.name));
  }
}

PyObject* call_operation(const Operation& op, PyObject* const* args, size_t count, PyObject* keywords) {
  PyObject* values[kMaxArguments] = {};
  const auto& arguments = op.arguments;
  py::object rest;
  PyObject* out = nullptr;
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
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, k);
    const bool is_out = PyUnicode_CompareWithASCIIString(keyword, "out") == 0;
    PyObject*& value = is_out ? out : values[place_of(op, keyword)];
    if (value) refuse_call(op, "got two values for '" + text_of(keyword) + "'");
    value = args[count + static_cast<size_t>(k)];
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!values[i]) values[i] = arguments[i].value;
    if (!values[i] && arguments[i].rest) values[i] = (rest = py::tuple(0)).ptr();
    if (!values[i]) refuse_call(op, "needs the argument '" + text_of(arguments[i].name) + "'");
  }
  PyObject* result = op.f.invoke(op, values);
  if (op.in_place) {
    const auto owned = py::reinterpret_steal<py::object>(result);
    become(values[0], tensor_of(result), op.name.c_str());
    result = Py_NewRef(values[0]);
  } else if (!arguments.empty()) {
    for (size_t i = 0; is_tensor(result) && op.names.empty() && !op.detaches && i < arguments.size(); ++i)
      if (is_tensor(values[i]) && tensor_of(values[i]).impl() == tensor_of(result).impl()) {
        Py_DECREF(result);
        return Py_NewRef(values[i]);  // as float() of float32: it keeps its name
      }
    note_view(result, values[0], op.detaches);
    for (Py_ssize_t i = 0; PyTuple_Check(result) && i < PyTuple_GET_SIZE(result); ++i)
      note_view(PyTuple_GET_ITEM(result, i), values[0], op.detaches);
  }
  if (!op.names.empty() || PyTuple_Check(result)) name_result(op, values, result);
  if (!out || out == Py_None) return result;
  const auto owned = py::reinterpret_steal<py::object>(result);
  if (!is_tensor(out) || !is_tensor(result)) refuse_call(op, "writes a tensor into out");
  become(out, tensor_of(result), op.name.c_str());
  return Py_NewRef(out);
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  try {
    return call_operation(operation_of(self), args, static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords);
  } catch (const NotForThese&) {
    return Py_NewRef(Py_NotImplemented);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject* repr(PyObject* self) {
  const Operation& op = operation_of(self);
  return PyUnicode_FromFormat("<operation %s%s>", op.name.c_str(), op.signature.c_str());
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperationObject, call), READONLY, nullptr},
    {"__name__", T_OBJECT, offsetof(OperationObject, name), READONLY, nullptr},
    {"__qualname__", T_OBJECT, offsetof(OperationObject, name), READONLY, nullptr},
    {"__doc__", T_OBJECT, offsetof(OperationObject, doc), READONLY, nullptr},
    {"__text_signature__", T_OBJECT, offsetof(OperationObject, signature), READONLY, nullptr},
    {"__types__", T_OBJECT, offsetof(OperationObject, types), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"gradus._core.operation", sizeof(OperationObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};

// "dim:Mean0|Mean1" as the rule and the names.
void set_names(Operation& op, std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ":");
  if (parts.size() > 1) op.rule = parts[0];
  for (const std::string_view part : split(parts.back(), "|")) {
    op.names.emplace_back(part);
    if (!part.empty()) op.names.back().insert(part.size() - 1, "Backward");
  }
}

py::object make_operation(const std::string& name, std::string_view signature, std::string_view text,
                          const Invocation& f, bool in_place) {
  static auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  const size_t close = signature.rfind(')');
  auto* const object = PyObject_New(OperationObject, type);
  object->call = vectorcall;
  Operation& op =
      *(object->operation = new Operation{name, std::string(signature.substr(0, close + 1)), f, in_place});
  object->name = py::cast(op.name).release().ptr();
  object->signature = py::cast(op.signature).release().ptr();
  object->doc = py::cast(concat(op.name, op.signature, "\n\n", text)).release().ptr();
  object->types = py::cast(std::vector<std::string>(f.types, f.types + f.arguments + 1)).release().ptr();
  if (close + 2 < signature.size()) set_names(op, signature.substr(close + 2));
  for (const std::string_view argument : split(signature.substr(1, op.signature.size() - 2), ", "))
    op.arguments.push_back(argument_from(argument));
  if (op.arguments.size() != f.arguments || f.arguments > kMaxArguments)
    throw std::logic_error(concat(name, signature, " must name ", f.arguments, " arguments"));
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(object));
}

}  // namespace

void refuse_argument(const Operation& op, size_t i, PyObject* value) {
  if (op.is_operator()) throw NotForThese();
  throw py::type_error(concat(op.name, "(): argument '", text_of(op.arguments[i].name), "' must be ",
                              op.f.types[i], ", got ", Py_TYPE(value)->tp_name));
}

void Table::add(std::string_view row, const Invocation& f) {
  const char mark = row.front();
  if (!std::isalpha(mark) && mark != '_') row.remove_prefix(1);
  const size_t open = row.find('(');
  const std::vector<std::string_view> names = split(row.substr(0, open), " ");
  const auto* const found = std::ranges::find_if(
      kDescriptions, [&](const Description& d) { return std::ranges::count(names, d.name) > 0; });
  const std::string_view text = found == std::end(kDescriptions) ? "" : found->text;
  const py::handle type(reinterpret_cast<PyObject*>(registered().tensor));
  const auto put = [&](const std::string& name, bool in_place) {
    py::object made = make_operation(name, row.substr(open), text, f, in_place);
    if (mark == '@') made = py::module_::import("builtins").attr("property")(made);
    if (mark == '=') made = type.attr(name.c_str()).attr("setter")(made);
    if (mark != ':' && mark != '+') py::setattr(type, name.c_str(), made);
    if (mark == '+') module.attr("_functional").attr("append")(name);
    const bool is_function = mark != '.' && mark != '@' && mark != '=';
    if (is_function && !name.starts_with("__")) module.attr(name.c_str()) = made;
  };
  for (const std::string_view part : names) {
    const std::string name(part);
    put(name, false);
    if (mark == '*' || mark == '~') put(name.starts_with("__") ? "__i" + name.substr(2) : name + "_", true);
  }
}

}  // namespace gradus::python
