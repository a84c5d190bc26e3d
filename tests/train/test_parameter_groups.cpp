// Rates, decays and freezing by pattern of names.
#include "autograd/compare.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/sgd.hpp"

namespace gradus::train::test_parameter_groups {

using namespace testing;

/// Parameters of value 1 with gradients of 1.
struct Named {
  explicit Named(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      all.emplace_back(name, ones({2, 2}, DType::float64).requires_grad_());
      all.back().second.set_grad(ones({2, 2}, DType::float64));
    }
  }
  /// What a step of SGD at rate 1 takes from each parameter.
  std::vector<double> moved(const ParameterGroups& groups, double weight_decay = 0) {
    SGD(all, {.weight_decay = weight_decay}, groups).step(1.0);
    std::vector<double> by;
    for (const NamedParameter& p : all) by.push_back(1.0 - p.second.at({0, 0}));
    return by;
  }
  NamedParameters all;
};

/// Is a parameter of that name one of the group of that pattern?
bool matches(const std::string& pattern, const std::string& name) {
  Named one({name, "-"});
  try {
    return one.moved({{.pattern = pattern, .lr_factor = 0.5}})[0] == 0.5;
  } catch (const Error&) {
    return false;  // no name at all
  }
}

using Moved = std::vector<double>;

TEST_CASE("a pattern is of the whole name, with * for any text and ? for a character") {
  for (const char* pattern : {"h.0.w", "*", "h.*", "*.w", "h.?.w", "*0*", "h*0*w", "**", "h.0.w*", "?.?.?"})
    CHECK(matches(pattern, "h.0.w"));
  for (const char* pattern : {"h.0", "0.w", "h.1.*", "?", "h.0.w?", "*.b", "", "H.0.w", "*w*0", "h.0.w.*"})
    CHECK_FALSE(matches(pattern, "h.0.w"));
  CHECK(matches("*ab", "aab"));
  CHECK(matches("*.c_proj.*", "h.11.attn.c_proj.weight"));
}

TEST_CASE("groups scale rates, set decays and freeze; those that match a name combine") {
  const std::vector<std::string> names{"a.x", "a.y", "b.x"};
  CHECK(Named(names).moved({}) == Moved{1, 1, 1});
  CHECK(Named(names).moved({{.pattern = "a.*", .lr_factor = 0.5}}) == Moved{0.5, 0.5, 1});
  CHECK(Named(names).moved({{.pattern = "a.*", .lr_factor = 0.5}, {.pattern = "*.x", .lr_factor = 0.25}}) ==
        Moved{0.125, 0.5, 0.25});
  CHECK(Named(names).moved({{.pattern = "*.y", .frozen = true}, {.pattern = "a.*", .lr_factor = 0.5}}) ==
        Moved{0.5, 0, 1});
  CHECK(Named(names).moved({{.pattern = "a.*", .weight_decay = 0.5}, {.pattern = "a.y", .weight_decay = 0}},
                           0.25) == Moved{1.5, 1, 1.25});
  Named with_vector(names);
  with_vector.all[0].role = with_vector.all[1].role = nn::Role::vector;
  CHECK(with_vector.moved({{.pattern = "a.y", .weight_decay = 0.5}}, 0.25) == Moved{1, 1.5, 1.25});
}

TEST_CASE("groups that cannot be meant are refused") {
  const auto refused = [](const ParameterGroup& group) {
    return error_of([&] { Named({"a"}).moved({group}); });
  };
  CHECK_HAS(refused({.pattern = "b*"}),
            "[optimizer] a pattern must match the name of a parameter, got 'b*'. Hint: ");
  CHECK_HAS(refused({.pattern = "a", .lr_factor = -1}), "must be at least 0, got -1 and 0 for 'a'.");
  CHECK_HAS(refused({.pattern = "a", .weight_decay = -1}), "must be at least 0, got 1 and -1");
}

TEST_CASE("nothing is kept for what is frozen, and a state from before it was frozen still loads") {
  Named named({"a", "b"});
  AdamW before(named.all);
  before.step(0.1);
  AdamW after(named.all, {}, {{.pattern = "b", .frozen = true}});
  CHECK_FALSE(named.all[1].second.requires_grad());
  CHECK(after.state_dict().size() == 3);
  after.load_state_dict(before.state_dict());
  CHECK(after.steps() == 1);
  CHECK(difference(after.state_dict().at("m.a"), before.state_dict().at("m.a"), 0.0) == "");
  CHECK_HAS(error_of([&] { before.load_state_dict(after.state_dict()); }), "got missing: m.b, v.b.");
}

}  // namespace gradus::train::test_parameter_groups
