// Every op's gradient is right at orders 1 and 2, and no op is without a check.
#include "autograd/compare.hpp"
#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_gradcheck_cases {

struct Exemption {
  std::string op;
  int order;  // not checked at this order and above
  std::string reason;
};
// None is needed now.
const std::vector<Exemption> kExemptions = {};

std::vector<std::string> all_ops() {
  std::vector<std::string> ops(kRecordedOps.begin(), kRecordedOps.end());
  ops.insert(ops.end(), kComposedOps.begin(), kComposedOps.end());
  return ops;
}

bool is_exempt(const std::string& op, int order) {
  for (const Exemption& e : kExemptions)
    if (e.op == op && order >= e.order) return true;
  return false;
}

TEST_CASE("every op has cases at orders 1 and 2") {
  const std::vector<std::string> ops = all_ops();
  std::map<std::string, int> highest;
  for (const GradcheckCase& c : gradcheck_cases()) highest[c.op] = std::max(highest[c.op], c.max_order);
  for (const Exemption& e : kExemptions)
    std::cout << "not checked at order " << e.order << ": " << e.op << " (" << e.reason << ")\n";
  for (const std::string& op : ops)
    for (const int order : {1, 2}) {
      INFO("op " << op << ", order " << order);
      CHECK((highest[op] >= order || is_exempt(op, order)));
    }
  const std::set<std::string> known(ops.begin(), ops.end());
  for (const auto& [op, order] : highest) {
    INFO("a case is for " << op << ", which is no op");
    CHECK(known.count(op) == 1);
  }
  CHECK(known.size() == ops.size());
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
