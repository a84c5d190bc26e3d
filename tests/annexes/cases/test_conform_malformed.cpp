// Conformance files that are not as the format has it: an error that names file and line, and never a crash.
#include "annexes/cases/changed.hpp"
#include "annexes/cases/conform/conform_cases.hpp"
#include "catch.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cases::test_conform_malformed {

using namespace testing;

std::string refusal(const std::string& text) {
  return error_of([&] { conform_text(text, "f.jsonl"); });
}

TEST_CASE("a malformed line is refused with file, line and expectation") {
  const auto refused = [](const Changes& changes, const std::string& words) {
    const std::string bad = changed(product_case(), changes).dump();
    const std::string error = refusal(product_case().dump() + "\n\n" + bad + "\n");
    INFO(error);
    CHECK(error.starts_with("[conform] f.jsonl:3"));
    CHECK(error.find('\n') == std::string::npos);
    CHECK_HAS(error, words);
  };
  for (const std::string field : {"id", "op", "inputs", "args", "outputs", "cotangents", "grads"})
    refused({{"/" + field, kErased}}, "f.jsonl:3 must have a field '" + field + "'");
  const json x = product_case()["inputs"][0], gx = product_case()["grads"]["x"],
             extra = changed(x, {{"/name", "extra"}});
  const Changes only_x = {{"/inputs/1", kErased}, {"/grads/other", kErased}, {"/grad2", kErased}};
  refused({{"", 3}}, "f.jsonl:3 must be an object, got 3");
  refused({{"/op", "mull"}}, ": op must be a known operation, got 'mull'");
  refused({{"/op", 3}}, ": op must be a string, got 3");
  refused({{"/args", 3}}, ": args must be an object, got 3");
  refused({{"/args/alpha", 2}}, "mul has no argument 'alpha'");
  refused({{"/args/alpha", {{"a", 1}}}},
          ": args, alpha must be a number, a string or a list, got an object of 1");
  refused({{"/op", "sum"}, {"/args/dim", {0, 0.5}}},
          ": args, dim[1] must be a whole number of 64 bits, got 0.5");
  refused({{"/inputs/1/name", "y"}}, ": grads, other must not be there");
  refused({{"/inputs/1/name", "x"}}, ": inputs[1], name must be of one input only, got 'x' again");
  refused({{"/grads/z", gx}}, ": grads, z must not be there, for no input has that name");
  refused({{"/grad2/v/z", gx}}, ": grad2, v, z must not be there");
  refused({{"/grad2/v", kErased}}, ": grad2 must have a field 'v'");
  refused(only_x, "mul needs 'other', an input or a number");
  refused({{"/inputs/2", extra}}, "mul has no input 'extra'");
  Changes softmax = only_x;
  softmax.insert(softmax.end(), {{"/op", "softmax"}, {"/args/dim", 0.5}});
  refused(softmax, ": args, dim must be a whole number of 64 bits, got 0.5");
  const auto x_refused = [&](const std::string& field, const json& value, const std::string& words) {
    refused({{"/inputs/0/" + field, value}}, ": inputs[0]" + words);
  };
  x_refused("dtype", "f32", ", dtype must be f64, i64 or bool, got 'f32'");
  x_refused("dtype", "i64", " must be f64 to have a gradient, got int64");
  x_refused("data", {1, 2, 3}, ", data must have 2 elements for shape (2,), got 3");
  x_refused("data", {1, "two"}, ", data[1] must be a number, 'nan', 'inf' or '-inf', got 'two'");
  x_refused("data", 1, ", data must be a list, got 1");
  x_refused("shape", {-2}, ", shape[0] must be a whole number of at least 0, got -2");
  x_refused("shape", {2.5}, ", shape[0] must be a whole number of at least 0, got 2.5");
  x_refused("shape", {4294967296, 4294967296, 4294967296}, ", shape must have at most 134217728 elements");
  x_refused("requires_grad", 1, ", requires_grad must be true or false, got 1");
  x_refused("name", nullptr, ", name must be a string, got null");
}

TEST_CASE("malformed subscripts are refused with the forms that they may have") {
  const auto refused = [](const json& index, const std::string& words) {
    const json c = changed(product_case(), {{"/op", "__getitem__"},
                                            {"/inputs/1", kErased},
                                            {"/grads/other", kErased},
                                            {"/grad2", kErased},
                                            {"/args/index", index}});
    const std::string error = refusal(c.dump());
    CHECK(error.starts_with("[conform] f.jsonl:1"));
    CHECK_HAS(error, words);
  };
  refused({{{"int", 0.5}}}, ": args, index[0], int must be a whole number of 64 bits, got 0.5");
  refused({{{"slice", {0, 1}}}}, ": args, index[0] must be {\"int\"}");
  refused({{{"slice", {0, 1, "a"}}}},
          ": args, index[0], slice[2] must be a whole number of 64 bits, got 'a'");
  refused({{{"int", 0}, {"tensor", "x"}}}, ": args, index[0] must be {\"int\"}");
  refused({{{"tensor", "i"}}}, "__getitem__ needs an input 'i'");
  refused("0", ": args, index must be a list, got '0'");
}

TEST_CASE("a text that is no JSON is refused with its place") {
  CHECK_HAS(refusal("{]"), "f.jsonl:1 must be JSON, got ']' at line 1, column 2");
  CHECK_HAS(refusal(product_case().dump() + "x"), "f.jsonl:1 must be JSON");
  CHECK_HAS(refusal(R"({"id": 1e999})"), "f.jsonl:1 must be JSON");
  CHECK_HAS(refusal("\"\xff\""), "f.jsonl:1 must be JSON");
}

TEST_CASE("no depth of any field overflows a stack") {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  const json whole = product_case();
  for (const auto& [key, value] : whole.items()) {
    INFO(key);
    json shallow = whole;
    shallow[key] = "HERE";
    std::string text = shallow.dump();
    text.replace(text.find("\"HERE\""), 6, deep);
    CHECK_HAS(refusal(text), "must have at most 64 lists and objects inside one another, got more");
  }
}

}  // namespace gradus::cases::test_conform_malformed
