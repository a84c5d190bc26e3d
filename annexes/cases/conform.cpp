#include "gradus/annexes/cases/conform.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "gradus/annexes/cases/compare.hpp"
#include "gradus/annexes/cases/read.hpp"
#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/file.hpp"

namespace gradus::cases {
namespace {

// -- intended differences from PyTorch

bool any_of(const Tensor& x, bool (*holds)(double)) {
  if (!x.defined() || x.dtype() != DType::float64) return false;
  const auto values = x.to_vector<double>();
  return std::any_of(values.begin(), values.end(), holds);
}

bool is_infinite(double x) { return std::isinf(x); }
bool is_zero(double x) { return x == 0; }

/// The argument, or its default.
template <class T>
T argument(const CallCase& c, std::string_view name) {
  const auto given = c.arguments.find(name);
  return std::get<T>(given == c.arguments.end() ? *c.operation->find(name)->otherwise : given->second);
}

bool has_no_target(const CallCase& c) {
  const Tensor target = c.input("target");
  if (!target.defined() || target.dtype() != DType::int64) return false;
  const auto classes = target.to_vector<int64_t>();
  return std::all_of(classes.begin(), classes.end(),
                     [&](int64_t t) { return t == argument<int64_t>(c, "ignore_index"); });
}

// The largest |x| / sqrt(var + eps) of a row: rounding grows by this factor if the mean is subtracted after
// the division.
double lost_by_dividing_first(const CallCase& c) {
  autograd::Dims dims;
  for (size_t d = 0; d < argument<std::vector<int64_t>>(c, "normalized_shape").size(); ++d)
    dims.push_back(-1 - static_cast<int64_t>(d));
  const Tensor x = c.input("x");
  if (x.numel() == 0) return 1;
  return amax(gradus::abs(x) * rsqrt(var(x, dims, 0, true) + argument<double>(c, "eps"))).item();
}

bool is_finite_instead(const CallCase&, double got, double expected) {
  return std::isfinite(got) && std::isnan(expected);
}

bool is_within_rounding(const CallCase& c, double got, double expected) {
  constexpr double kRounding = 0x1p-53;
  const double allowed = 8 * kRounding * lost_by_dividing_first(c);
  return std::abs(got - expected) <= allowed * std::max(1.0, std::abs(expected));
}

struct Convention {
  std::string_view op, reason;
  bool (*applies)(const CallCase& c);
  bool (*pardons)(const CallCase& c, double got, double expected) = is_finite_instead;
};

constexpr Convention kConventions[] = {
    {"scaled_dot_product_attention", "a query that may attend to nothing gives 0, not NaN",
     [](const CallCase& c) { return c.input("mask").defined(); }},
    {"logsumexp", "a slice of nothing but -inf has gradient 0, not NaN",
     [](const CallCase& c) { return any_of(c.input("x"), is_infinite); }},
    {"cross_entropy", "the mean over no targets has second derivatives of 0, not NaN", has_no_target},
    {"std", "a constant slice has second derivatives of 0, not NaN",
     [](const CallCase& c) {
       return std::any_of(c.answers.outputs.begin(), c.answers.outputs.end(),
                          [](const Tensor& y) { return any_of(y, is_zero); });
     }},
    {"pow", "0 to a constant power has second derivatives, not NaN",
     [](const CallCase& c) { return any_of(c.input("x"), is_zero); }},
    {"gelu", "the limits at infinity, not NaN, also of the cube",
     [](const CallCase& c) { return any_of(c.input("x"), [](double x) { return std::isinf(x * x * x); }); }},
    {"silu", "the limits at infinity, not NaN",
     [](const CallCase& c) { return any_of(c.input("x"), is_infinite); }},
    {"norm", "where x or the norm is 0, second derivatives are 0, not NaN",
     [](const CallCase& c) { return any_of(c.input("x"), is_zero); }},
    {"kl_div", "a target of 0 has the gradient -x, not NaN",
     [](const CallCase& c) { return any_of(c.input("target"), is_zero); }},
    {"layer_norm",
     "x - mean is taken before it is divided, which keeps the digits PyTorch loses where the mean is large",
     [](const CallCase& c) { return lost_by_dividing_first(c) > 100; }, is_within_rounding},
};

/// The convention that applies to this case; null if none does.
const Convention* convention_of(const CallCase& c) {
  for (const Convention& convention : kConventions)
    if (convention.op == c.operation->name && convention.applies(c)) return &convention;
  return nullptr;
}

// -- running a case

constexpr double kTolerance = 1e-12, kFloat32Tolerance = 1e-5;

template <class Change>
Tensors each(const Tensors& tensors, const Change& change) {
  Tensors changed;
  for (const Tensor& t : tensors) changed.push_back(t.defined() ? change(t) : t);
  return changed;
}

template <class Change>
Given each(const Given& given, const Change& change) {
  return {each(given.inputs, change), each(given.cotangents, change), each(given.v, change)};
}

/// Changes floating tensors only.
template <class Change>
auto floating(const Change& change) {
  return [change](const Tensor& t) { return is_floating(t.dtype()) ? change(t) : t; };
}

Tensors run_call(const CallCase& c, const Tensors& inputs) {
  Inputs named;
  for (size_t i = 0; i < inputs.size(); ++i) named.emplace_back(c.names[i], inputs[i]);
  std::optional<Generator> none;
  return run_operation(*c.operation, named, c.arguments, none);
}

/// Takes a gradient for each input that requires one, gives one for each input.
Tensors by_input(const CallCase& c, const Tensors& gradients) {
  Tensors result(c.names.size());
  size_t next = 0;
  for (size_t i = 0; i < result.size(); ++i)
    if (c.requires_grad[i]) result[i] = gradients[next++];
  return result;
}

/// Runs the operation forward, backward, and backward again if the file has second derivatives. Throws as
/// run_operation().
Answers our_answers(const CallCase& c, const Given& given) {
  Tensors inputs, leaves;  // all inputs; those that require gradients
  for (size_t i = 0; i < given.inputs.size(); ++i) {
    inputs.push_back(given.inputs[i].detach());
    if (c.requires_grad[i]) leaves.push_back(inputs.back().requires_grad_());
  }
  Answers a;
  a.outputs = run_call(c, inputs);

  const auto floating = std::count_if(a.outputs.begin(), a.outputs.end(),
                                      [](const Tensor& y) { return is_floating(y.dtype()); });
  if (static_cast<size_t>(floating) != given.cotangents.size())
    fail("conform", "there must be a cotangent for each of ", floating, " floating outputs, got ",
         given.cotangents.size(), ".");

  Tensors attached, cotangents, all_cotangents;
  for (const Tensor& y : a.outputs) {
    if (!is_floating(y.dtype())) continue;
    all_cotangents.push_back(given.cotangents[all_cotangents.size()].detach().requires_grad_());
    if (!y.requires_grad()) continue;
    attached.push_back(y);
    cotangents.push_back(all_cotangents.back());
  }
  if (attached.empty()) return a;
  a.grads =
      by_input(c, grad(attached, leaves,
                       {.grad_outputs = cotangents, .retain_graph = c.has_grad2, .allow_unused = true}));
  if (!c.has_grad2) return a;
  a.recorded_grads = by_input(
      c, grad(attached, leaves, {.grad_outputs = cotangents, .create_graph = true, .allow_unused = true}));

  Tensors gradients, v;
  for (size_t i = 0; i < given.v.size(); ++i) {
    const Tensor& gradient = a.recorded_grads[i];
    if (!given.v[i].defined() || !gradient.defined() || !gradient.requires_grad()) continue;
    gradients.push_back(gradient);
    v.push_back(given.v[i]);
  }
  Tensors wanted = leaves;
  wanted.insert(wanted.end(), all_cotangents.begin(), all_cotangents.end());
  Tensors second(wanted.size());
  if (!gradients.empty()) second = grad(gradients, wanted, {.grad_outputs = v, .allow_unused = true});
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!second[i].defined()) second[i] = zeros(wanted[i].shape(), wanted[i].dtype());
  a.grad2 = by_input(c, second);
  a.grad2_cotangents.assign(second.end() - static_cast<std::ptrdiff_t>(all_cotangents.size()), second.end());
  return a;
}

/// Runs a case in all layouts, up to the first run that differs.
class Trial {
 public:
  Trial(const CallCase& c, ConformCase& verdict) : case_(c), verdict_(verdict) {}

  void run() {
    run_ = "contiguous";
    if (case_.error) return expect_error();
    try {
      run_all();
    } catch (const Malformed&) {
      throw;
    } catch (const Error& e) {
      differs("error", e.what());
    }
  }

 private:
  void expect_error() {
    if (case_.is_bad) return;
    try {
      run_call(case_, case_.given.inputs);
    } catch (const BadCall&) {
      return;
    } catch (const Malformed&) {
      throw;
    } catch (const Error&) {
      return;
    }
    differs("error", concat("there must be one as PyTorch's '", *case_.error, "', got none"));
  }

  void run_all() {
    const Given& given = case_.given;
    const Answers ours = our_answers(case_, given);
    convention_ = convention_of(case_);  // after a valid call, because it computes with the inputs
    compare(ours, case_.answers, kTolerance);
    if (starts("transposed")) compare(our_answers(case_, each(given, transposed)), case_.answers, kTolerance);
    if (starts("stepped")) compare(our_answers(case_, each(given, stepped)), case_.answers, kTolerance);
    if (starts("expanded")) {
      Given repeated = given;
      repeated.inputs = each(given.inputs, floating(expanded));
      const auto packed = [](const Tensor& t) { return t.contiguous(); };
      compare(our_answers(case_, repeated), our_answers(case_, each(repeated, packed)), kTolerance);
    }
    // The float64 answers are for the same rounded numbers; other numbers may give distant answers.
    if (starts("float32")) {
      const auto cast = [](DType dtype) { return floating([=](const Tensor& t) { return t.to(dtype); }); };
      const Given rounded = each(given, cast(DType::float32)), exact = each(rounded, cast(DType::float64));
      compare(our_answers(case_, rounded), our_answers(case_, exact), kFloat32Tolerance);
    }
  }

  /// Whether no run before `run` has differed.
  bool starts(const char* run) {
    run_ = run;
    return verdict_.passed();
  }

  void compare(const Answers& ours, const Answers& theirs, double tolerance) {
    if (ours.outputs.size() != theirs.outputs.size())
      return differs("outputs",
                     concat("there must be ", theirs.outputs.size(), ", got ", ours.outputs.size()));
    const auto by_place = [](const char* what) { return [what](size_t i) { return concat(what, i); }; };
    const auto by_name = [this](const char* what) {
      return [this, what](size_t i) { return concat(what, case_.names[i]); };
    };
    compare(ours.outputs, theirs.outputs, tolerance, by_place("output "));
    compare(ours.grads, theirs.grads, tolerance, by_name("grad "));
    if (!case_.has_grad2) return;
    compare(ours.recorded_grads, theirs.recorded_grads, tolerance, by_name("recorded grad "));
    compare(ours.grad2, theirs.grad2, tolerance, by_name("grad2 "));
    compare(ours.grad2_cotangents, theirs.grad2_cotangents, tolerance, by_place("grad2 of cotangent "));
  }

  template <class Name>
  void compare(const Tensors& ours, const Tensors& theirs, double tolerance, const Name& name) {
    const Pardon pardon = [this](double got, double expected) {
      if (!convention_ || !convention_->pardons(case_, got, expected)) return false;
      verdict_.convention = convention_->reason;
      return true;
    };
    for (size_t i = 0; i < theirs.size(); ++i) {
      const Tensor got = i < ours.size() ? ours[i] : Tensor();
      if (theirs[i].defined()) {
        const std::string message = compare_answer(got, theirs[i], tolerance, pardon).message;
        if (!message.empty()) differs(name(i), message);
      } else if (got.defined() && any_of(got.to(DType::float64), [](double x) { return x != 0; })) {
        differs(name(i), "there must be none or zeros, for nothing depends on it");
      }
    }
  }

  void differs(const std::string& what, const std::string& message) {
    verdict_.differences.push_back({run_, what, message});
  }

  const CallCase& case_;
  ConformCase& verdict_;
  const Convention* convention_ = nullptr;
  std::string run_;
};

std::vector<std::filesystem::path> files_of(const std::filesystem::path& where) {
  if (!std::filesystem::is_directory(where)) return {where};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(where))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty())
    fail("conform", "a folder must hold files called *.jsonl, got none in ", where.string(), ".");
  return files;
}

}  // namespace

Tensor transposed(const Tensor& x) {
  std::vector<int64_t> reversed;
  for (int d = x.dim() - 1; d >= 0; --d) reversed.push_back(d);
  return x.permute(reversed).contiguous().permute(reversed);
}

Tensor stepped(const Tensor& x) {
  Shape wide = x.shape();
  for (int d = 0; d < x.dim(); ++d) wide[d] = 2 * wide[d] + 1;
  if (wide.empty()) wide = {3};
  constexpr double kNoIndex = -1e9, kNaN = std::numeric_limits<double>::quiet_NaN();
  Tensor part = full(wide, is_floating(x.dtype()) ? kNaN : kNoIndex, x.dtype());
  for (int d = 0; d < x.dim(); ++d) part = part.slice(d, 1, wide[d] - 1, 2);
  if (x.dim() == 0) part = part.select(0, 1);
  part.copy_(x);
  return part;
}

Tensor expanded(const Tensor& x) {
  for (int d = 0; d < x.dim(); ++d)
    if (x.shape()[d] > 1) return x.slice(d, 0, 1).expand(x.shape());
  return x;
}

int64_t ConformReport::passed() const {
  return std::count_if(cases.begin(), cases.end(), [](const ConformCase& c) { return c.passed(); });
}

ConformReport conform_text(std::string_view text, const std::string& file, std::string_view only_op) {
  ConformReport report;
  for (const CallCase& c : read_calls(text, file)) {
    if (!only_op.empty() && c.operation->name != only_op) continue;
    ConformCase& verdict =
        report.cases.emplace_back(ConformCase{c.id, c.operation->name, file, c.line, {}, ""});
    try {
      Trial(c, verdict).run();
    } catch (const Malformed& e) {
      fail("conform", file, ":", c.line, ": ", e.what());
    }
  }
  return report;
}

ConformReport conform(const std::filesystem::path& where, std::string_view only_op) {
  if (!only_op.empty() && !find_operation(only_op))
    fail("conform", "there must be an op of that name, got '", only_op,
         "'. Hint: annexes/cases/README.md lists them.");
  ConformReport report;
  for (const std::filesystem::path& file : files_of(where)) {
    ConformReport part = conform_text(files::read_input(file), file.string(), only_op);
    std::move(part.cases.begin(), part.cases.end(), std::back_inserter(report.cases));
  }
  if (report.cases.empty())
    fail("conform", where.string(), " must have a case to run, got none", only_op.empty() ? "" : " of ",
         only_op, ".");
  return report;
}

}  // namespace gradus::cases
