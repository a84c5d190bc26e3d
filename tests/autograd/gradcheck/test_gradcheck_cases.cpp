// Every op's gradient is right at orders 1 and 2, and no op is without a check.
#include "autograd/compare.hpp"
#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_gradcheck_cases {

TEST_CASE("every op has cases at orders 1 and 2") {
  std::set<std::string> ops(kRecordedOps.begin(), kRecordedOps.end());
  ops.insert(kComposedOps.begin(), kComposedOps.end());
  CHECK(ops.size() == kRecordedOps.size() + kComposedOps.size());
  std::map<std::string, int> highest;
  for (const GradcheckCase& c : gradcheck_cases()) highest[c.op] = std::max(highest[c.op], c.max_order);
  for (const std::string& op : ops) {
    INFO("op " << op);
    CHECK(highest[op] == 2);
  }
  for (const auto& [op, order] : highest) {
    INFO("a case is for " << op << ", which is no op");
    CHECK(ops.contains(op));
  }
}

TEST_CASE("names of cases are unique, their numbers the same each time") {
  const std::vector<GradcheckCase> cases = gradcheck_cases(), again = gradcheck_cases();
  std::set<std::string> names;
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].op << ": " << cases[i].name);
    CHECK(names.insert(cases[i].op + ": " + cases[i].name).second);
    REQUIRE(cases[i].inputs.size() == again[i].inputs.size());
    for (size_t k = 0; k < cases[i].inputs.size(); ++k)
      CHECK(testing::difference(cases[i].inputs[k], again[i].inputs[k], 0) == "");
  }
}

TEST_CASE("all cases pass") {
  int64_t checks = 0;
  for (const GradcheckCase& c : gradcheck_cases()) {
    const GradcheckReport r = run_gradcheck(c, 2);
    INFO(c.op << ": " << c.name << ": " << r.message);
    CHECK(r.passed);
    CHECK(r.checks >= 5);
    checks += r.checks;
  }
  CHECK(checks > 10000);
}

}  // namespace gradus::test_gradcheck_cases
