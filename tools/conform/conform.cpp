#include "gradus/tools/conform/conform.hpp"

#include <algorithm>
#include <iterator>

#include "gradus/autograd/ops.hpp"
#include "gradus/files/file.hpp"
#include "gradus/tools/conform/answers.hpp"
#include "gradus/tools/conform/compare.hpp"
#include "gradus/tools/conform/conventions.hpp"
#include "gradus/tools/conform/layouts.hpp"

namespace gradus::tools {
namespace {

using namespace conformance;

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

template <class Change>
Given each_floating(const Given& given, const Change& change) {
  return each(given, [&](const Tensor& t) { return is_floating(t.dtype()) ? change(t) : t; });
}

bool is_zero(const Tensor& t) {
  const std::vector<double> values = t.to(DType::float64).to_vector<double>();
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

/// A case in all its runs, up to the first that differs.
class Trial {
 public:
  Trial(const Case& c, ConformCase& verdict) : case_(c), verdict_(verdict) {}

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
    try {
      run_operation(case_, given_by(case_).inputs);
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
    const Given given = given_by(case_);
    const Answers written = written_answers(case_), ours = our_answers(case_, given);
    convention_ =
        convention_of(case_);  // It computes with the inputs, so they must be those of a valid call.
    compare(ours, written, kTolerance);
    against("transposed", each(given, transposed), written);
    against("stepped", each(given, stepped), written);
    if (!verdict_.passed()) return;

    run_ = "expanded";
    Given repeated = given;
    repeated.inputs =
        each(given.inputs, [](const Tensor& t) { return is_floating(t.dtype()) ? expanded(t) : t; });
    const auto packed = [](const Tensor& t) { return t.contiguous(); };
    compare(our_answers(case_, repeated), our_answers(case_, each(repeated, packed)), kTolerance);
    if (!verdict_.passed()) return;

    // Beside the float64 answers to the same rounded numbers, for those to others may be far away.
    run_ = "float32";
    const Given rounded = each_floating(given, [](const Tensor& t) { return t.to(DType::float32); });
    const Given exact = each_floating(rounded, [](const Tensor& t) { return t.to(DType::float64); });
    compare(our_answers(case_, rounded), our_answers(case_, exact), kFloat32Tolerance);
  }

  void against(const char* run, const Given& given, const Answers& written) {
    if (!verdict_.passed()) return;
    run_ = run;
    compare(our_answers(case_, given), written, kTolerance);
  }

  void compare(const Answers& ours, const Answers& theirs, double tolerance) {
    if (ours.outputs.size() != theirs.outputs.size())
      return differs("outputs",
                     concat("there must be ", theirs.outputs.size(), ", got ", ours.outputs.size()));
    const auto by_place = [](const char* what) { return [what](size_t i) { return concat(what, i); }; };
    const auto by_name = [this](const char* what) {
      return [this, what](size_t i) { return concat(what, case_.inputs[i].name); };
    };
    compare(ours.outputs, theirs.outputs, tolerance, by_place("output "));
    compare(ours.grads, theirs.grads, tolerance, by_name("grad "));
    if (!case_.grad2) return;
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
        const std::string message = difference(got, theirs[i], tolerance, pardon);
        if (!message.empty()) differs(name(i), message);
      } else if (got.defined() && !is_zero(got)) {
        differs(name(i), "there must be none or zeros, for nothing depends on it");
      }
    }
  }

  void differs(const std::string& what, const std::string& message) {
    verdict_.differences.push_back({run_, what, message});
  }

  const Case& case_;
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

int64_t ConformReport::passed() const {
  return std::count_if(cases.begin(), cases.end(), [](const ConformCase& c) { return c.passed(); });
}

ConformReport conform_text(std::string_view text, const std::string& file, std::string_view only_op) {
  ConformReport report;
  for (const Case& c : parse(text, file)) {
    if (!only_op.empty() && c.op != only_op) continue;
    ConformCase& verdict = report.cases.emplace_back();
    verdict.id = c.id;
    verdict.op = c.op;
    verdict.file = file;
    verdict.line = c.line;
    try {
      Trial(c, verdict).run();
    } catch (const Malformed& e) {
      fail("conform", file, ":", c.line, ": ", e.what());
    }
  }
  return report;
}

ConformReport conform(const std::filesystem::path& where, std::string_view only_op) {
  if (!only_op.empty() && !is_operation(only_op))
    fail("conform", "there must be an op of that name, got '", only_op,
         "'. Hint: tools/conform/README.md lists them.");
  ConformReport report;
  for (const std::filesystem::path& file : files_of(where)) {
    ConformReport part = conform_text(files::read(file), file.string(), only_op);
    std::move(part.cases.begin(), part.cases.end(), std::back_inserter(report.cases));
  }
  if (report.cases.empty())
    fail("conform", where.string(), " must have a case to run, got none", only_op.empty() ? "" : " of ",
         only_op, ".");
  return report;
}

}  // namespace gradus::tools
