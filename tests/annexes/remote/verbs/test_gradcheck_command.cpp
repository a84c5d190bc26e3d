// gradus gradcheck --command: operations of other programs, and programs that do not answer as they should.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "gradus/files/error.hpp"
#include "test_files.hpp"

namespace gradus::cli::test_gradcheck_command {

using nlohmann::json;

/// Runs gradcheck on a command that must fail it: exit code 1, no output, one line with these words.
void check_fails(const std::string& command, const std::string& words, std::vector<std::string> more = {}) {
  const Outcome outcome = call("gradcheck --command", command, more);
  INFO(command << "\n" << outcome.err);
  CHECK(outcome.code == 1);
  CHECK(outcome.out.empty());
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK_HAS(outcome.err, "gradus: [gradcheck] --command must answer ", words);
}

/// A shell program that answers each of these lines in turn.
std::string answers(const std::vector<std::string>& lines) {
  std::string script;
  for (const std::string& line : lines) script += "read -r question; echo '" + line + "'; ";
  return script;
}

constexpr const char* kPair = R"({"name":"pair","inputs":[{"shape":[2]}],"output":[2]})";

TEST_CASE("a command that ends, hangs or prints rubbish fails in one line") {
  check_fails("exit 7", "within --timeout = 60 s, got a command that ended with exit code 7.");
  check_fails("kill -9 $$", "got a command that ended by signal 9, Killed.");
  check_fails("read -r question; exec >&- <&-; sleep 60", "got a command that ended ", args("--timeout 5"));
  check_fails("sleep 60", "within --timeout = 1 s, got no answer.", args("--timeout 1"));
  check_fails("while printf x; do sleep 0.1; done",
              "within --timeout = 1 s, got an answer without a line end.", args("--timeout 1"));
  check_fails("no-such-program 2>/dev/null", "exit code 127");
  check_fails("echo hello", "answer a JSON object, with null for NaN, got 'hello'.");
  check_fails("echo '[1]'", "answer a JSON object, with null for NaN, got '[1]'.");
  check_fails(answers({"{}"}),
              "an object with name, inputs with their shapes and bounds, output and order 1 or 2, got '{}'.");
  for (const char* wrong :
       {R"({"name":"f","inputs":[],"output":[2]})", R"({"name":"f","inputs":[{"shape":[0]}],"output":[2]})",
        R"({"name":"f","inputs":[{"shape":[2]}],"output":[2],"order":3})",
        R"({"name":"f","inputs":[{"shape":[2.7]}],"output":[2]})",
        R"({"name":"f","inputs":[{"shape":[2],"loww":1}],"output":[2]})",
        R"({"name":"f","inputs":[{"shape":[2],"low":-1e308,"high":1e308}],"output":[2]})",
        R"({"name":"f","inputs":[{"shape":[2],"low":1}],"output":[2]})",
        R"({"name":"f","inputs":[{"shape":[2],"low":1,"high":1}],"output":[2]})",
        R"({"name":"f","inputs":[{"shape":[3000000000,3000000000]}],"output":[2]})"})
    check_fails(answers({wrong}), "got '{");
  check_fails(answers({kPair, R"({"value":[1,2,3]})"}),
              R"(the key value and the numbers of (2,), got '{"value":[1,2,3]}'.)");
  check_fails(answers({kPair, R"({"value":[1,"a"]})"}), "the numbers of (2,)");
  check_fails(answers({kPair, R"({"values":[1,2]})"}), "with the key value");
  check_fails(answers({kPair, R"({"value":[1,2]})", R"({"value":[1,2]})", R"({"value":[1,2]})",
                       R"({"value":[1,2]})", R"({"gradient":[1,2,3]})"}),
              "the key gradient and the numbers of (2,)");
}

TEST_CASE("gradcheck --command refuses what it does not know") {
  check_refused(args("gradcheck --command true --op mul"),
                {"--model and --command must not come together, got 2"});
  check_refused(args("gradcheck --command true --timeout 0"),
                {"--timeout must be a whole number of at least 1, got 0"});
}

TEST_CASE("gradcheck --command judges values and gradients") {
  if (run_shell("command -v python3").code != 0) {
    SUCCEED();
    WARN("skipped: there is no python3");
    return;
  }
  // x * y, from lists: {fault} is an expression of the gradient for x, a product with the cotangent v.
  const auto outcome_of = [](const std::string& gradient, const std::string& value = "a * b", int order = 2) {
    const Scratch scratch;
    const std::string script = scratch.file("op.py", R"(import json, math, sys
for line in sys.stdin:
  q = json.loads(line)
  ask, (x, y) = q["ask"], q.get("inputs", ([], []))
  if ask == "description":
    a = {"name": "product", "inputs": [{"shape": [2, 2]}, {"shape": [2, 2], "low": 1, "high": 3}], "output": [2, 2], "order": )" +
                                                         std::to_string(order) + R"(}
  elif ask == "value": a = {ask: [)" + value + R"( for a, b in zip(x, y)]}
  elif ask == "gradient": a = {ask: [[)" + gradient + R"( for a, b, v in zip(x, y, q["cotangent"])],
                                      [v * a for a, v in zip(x, q["cotangent"])]]}
  else:
    v, (dx, dy) = q["cotangent"], q["directions"]
    a = {ask: [[p * r for p, r in zip(v, dy)], [p * r for p, r in zip(v, dx)], [b * d + a * e for a, b, d, e in zip(x, y, dx, dy)]]}
  print(json.dumps(a), flush=True)
)");
    return run_program({"gradcheck", "--json", "--command", "python3 '" + script + "'"});
  };
  const auto judged = [&](const Outcome& outcome) {
    INFO(outcome.err);
    REQUIRE(lines_of(outcome.out).size() == 2);
    return json::parse(lines_of(outcome.out)[0]);
  };
  const Outcome right = outcome_of("v * b");
  CHECK(right.code == 0);
  CHECK(judged(right).at("command") == "product");
  CHECK(judged(right).at("passed") == true);
  CHECK(judged(right).at("worst_order_2") > 0.0);
  CHECK(judged(outcome_of("v * b", "a * b", 1)).at("worst_order_2") == 0.0);

  const Outcome wrong = outcome_of("-v * b", "a * b", 1);
  CHECK(wrong.code == 3);
  CHECK_HAS(judged(wrong).at("cause").get<std::string>(), "a wrong sign");
  CHECK_HAS(judged(outcome_of("b", "a * b", 1)).at("cause").get<std::string>(), "ignore");
  CHECK(outcome_of("None").code == 3);
  CHECK(outcome_of("v * b", "None").code == 3);
  CHECK_HAS(outcome_of("math.nan").err, "with null for NaN, got '{\"gradient\": [[NaN");
  // Order 2 finds a second gradient that is not that of the first.
  const Outcome second = outcome_of("v * b * b", "a * b * b");
  CHECK(second.code == 3);
}

TEST_CASE("gradcheck --command finds in PyTorch what PyTorch finds, and more", "[torch]") {
  const std::string python = python_with_torch();
  if (python.empty()) return;
  const std::string script = concat(python, " -B -W ignore '", testing::test_files().string(),
                                    "/annexes/remote/verbs/torch_op.py' ");
  struct Case {
    const char *fault, *by_torch;
    int code;
  };
  for (const auto& [fault, by_torch, code] :
       {Case{"right", "gradcheck passes\ngradgradcheck passes\n", 0},
        Case{"factor", "gradcheck fails\ngradgradcheck passes\n", 3},
        Case{"clamped", "gradcheck passes\ngradgradcheck passes\n", 3},
        Case{"nearly", "gradcheck passes\ngradgradcheck passes\n", 3},
        Case{"detached", "gradcheck passes\ngradgradcheck fails\n", 3}}) {
    INFO(fault);
    CHECK(run_shell(script + fault + " --torch").out == by_torch);
    const Outcome outcome = call("gradcheck --command", script + fault);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == code);
  }
}

}  // namespace gradus::cli::test_gradcheck_command
