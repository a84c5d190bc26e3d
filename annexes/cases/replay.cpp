#include "gradus/annexes/cases/replay.hpp"

#include <algorithm>
#include <new>

#include "gradus/annexes/cases/compare.hpp"
#include "gradus/annexes/cases/read.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cases {
namespace {

/// Runs one case.
class Run {
 public:
  Run(const ProgramCase& program, std::vector<ReplayCheck>& checks) : case_(program), checks_(checks) {
    if (case_.manual_seed) stream_ = Generator::torch(*case_.manual_seed);
    tensors_ = case_.inputs;
    for (const auto& [name, weight] : case_.weights) {
      tensors_[name] = weight.detach();  // a parameter, like those of linear_init
      if (is_floating(weight.dtype())) tensors_[name].requires_grad_();
    }
  }

  void step(size_t index) {
    const Step& s = case_.steps[index];
    const bool is_given = s.operation->draws && !stream_ && !s.outputs.empty() &&
                          std::all_of(s.outputs.begin(), s.outputs.end(),
                                      [&](const std::string& name) { return case_.weights.contains(name); });
    Tensors results;
    if (is_given)
      for (const std::string& name : s.outputs) results.push_back(tensors_[name]);
    else
      results = run(s);
    if (results.size() != s.outputs.size())
      fail("replay", "gives ", results.size(), " tensors, got ", s.outputs.size(), " names in out.");

    for (size_t i = 0; i < results.size(); ++i) {
      const std::string& out = s.outputs[i];
      const Tensor& x = tensors_[out] = results[i];
      const auto check = [&](const char* kind, const Verdict& verdict) {
        checks_.push_back({case_.name, static_cast<int64_t>(index), s.operation->name, out, kind,
                           verdict.message.empty(), verdict.worst, verdict.message});
      };
      if (const auto weight = case_.weights.find(out);
          s.operation->draws && !is_given && weight != case_.weights.end())
        check("weights", compare_bits(x, weight->second));
      if (!s.expected.empty()) check("expected", compare_expected(x, s.expected[i], s.atol, s.rtol));
      if (!s.value.empty()) check("value", compare_value(x, s.value[i]));
      if (s.text) check("text", compare_text(x, *s.text));
    }
  }

 private:
  Tensors run(const Step& s) {
    Inputs inputs;
    for (const auto& [parameter, name] : s.inputs) {
      const auto found = tensors_.find(name);
      if (found == tensors_.end())
        fail("replay", "needs a tensor ", files::in_quotes(name), ", which no step before it has made.");
      inputs.emplace_back(parameter, found->second);
    }
    return run_operation(*s.operation, inputs, s.arguments, stream_);
  }

  const ProgramCase& case_;
  std::vector<ReplayCheck>& checks_;
  NamedTensors tensors_;
  std::optional<Generator> stream_;
};

/// Without the "[op] " at the start, which place_of() has.
std::string_view without_op(std::string_view what) {
  const size_t end = what.find("] ");
  return what.starts_with('[') && end != std::string_view::npos ? what.substr(end + 2) : what;
}

void run_case(const ProgramCase& program, const std::string& file, ReplayReport& report) {
  const size_t before = report.checks.size();
  Run run(program, report.checks);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto refuse = [&](std::string_view why) {
      fail("replay", file, ": ", place_of(program.name, i, program.steps[i].operation->name), " ", why);
    };
    try {
      run.step(i);
    } catch (const Error& e) {
      refuse(without_op(e.what()));
    } catch (const std::bad_alloc&) {
      refuse("needs more memory than is available.");
    }
  }
  report.cases.push_back({program.name, report.checks.size() - before});
}

}  // namespace

int64_t ReplayReport::passed() const {
  return std::count_if(checks.begin(), checks.end(), [](const ReplayCheck& check) { return check.passed; });
}

ReplayReport replay_text(std::string_view text, const std::string& file, std::string_view only) {
  const std::vector<ProgramCase> cases = read_programs(text, file);
  ReplayReport report;
  for (const ProgramCase& c : cases)
    if (only.empty() || c.name == only) run_case(c, file, report);
  if (report.cases.empty() && !only.empty())
    fail("replay", file, " must have the requested case, got ", files::in_quotes(only), " and ", cases.size(),
         " cases of other names.");
  return report;
}

ReplayReport replay(const std::filesystem::path& file, std::string_view only) {
  return replay_text(files::read_input(file), file.string(), only);
}

}  // namespace gradus::cases
