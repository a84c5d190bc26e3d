// layer_norm, rms_norm, rotary_embedding, swiglu and dropout.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

void add_layer_norm(CaseList& list) {
  OpCases c(list, "layer_norm", 901);
  const auto add = [&](const std::string& name, const Shape& x, const Shape& over) {
    c.add(name + ", bare", {x}, [over](In in) { return layer_norm(in, over); });
    c.add(name + ", weight", {x, over}, [over](In in, In w) { return layer_norm(in, over, w); });
    c.add(name + ", bias", {x, over}, [over](In in, In b) { return layer_norm(in, over, {}, b); });
    c.add(name + ", weight and bias", {x, over, over},
          [over](In in, In w, In b) { return layer_norm(in, over, w, b); });
  };
  add("matrix", {3, 4}, {4});
  add("batch", {2, 2, 5}, {5});
  add("two dims", {2, 3, 2}, {3, 2});
  add("a single row", {5}, {5});
  add("longer than a vector", {2, 37}, {37});
  add("no rows", {0, 3}, {3});
  const auto four = [](In x, In w, In b) { return layer_norm(x, {4}, w, b); };
  c.add("small values, where eps matters", {c.uniform({3, 4}, -0.02, 0.02), {4}, {4}}, four);
  c.add("large values", {c.uniform({3, 4}, -200, 200), {4}, {4}}, four);
  c.add("another eps", {{3, 4}, {4}, {4}}, [](In x, In w, In b) { return layer_norm(x, {4}, w, b, 0.3); });
  c.add("one tensor as input and weight", {{4}}, [four](In x) { return four(x, x, x); });
}

void add_rms_norm(CaseList& list) {
  OpCases c(list, "rms_norm", 903);
  const auto add = [&](const std::string& name, const Shape& x, const Shape& over) {
    c.add(name + ", bare", {x}, [over](In in) { return rms_norm(in, over); });
    c.add(name + ", weight", {x, over}, [over](In in, In w) { return rms_norm(in, over, w, 1e-5); });
  };
  add("matrix", {3, 4}, {4});
  add("two dims", {2, 3, 2}, {3, 2});
  add("longer than a vector, more than one block", {70, 37}, {37});
  add("no rows", {0, 3}, {3});
  c.add("small values, where eps matters", {c.uniform({3, 4}, -0.02, 0.02), {4}},
        [](In x, In w) { return rms_norm(x, {4}, w, 1e-3); });
  c.add("one tensor as input and weight", {{4}}, [](In x) { return rms_norm(x, {4}, x); });
}

void add_rotary_embedding(CaseList& list) {
  OpCases c(list, "rotary_embedding", 904);
  const auto add = [&](const char* name, const Shape& x, int64_t offset, double base) {
    c.add(name, {x}, [=](In in) { return rotary_embedding(in, offset, base); });
  };
  add("heads", {2, 3, 4, 6}, 0, 10000.0);
  add("from an offset, another base", {1, 2, 3, 4}, 1000, 500.0);
  add("one pair", {2, 3, 2}, 7, 10000.0);
  add("a matrix, more than a vector", {5, 36}, 3, 10.0);
  add("five dims", {2, 1, 2, 3, 2}, 1, 10000.0);
  add("no positions", {2, 0, 4}, 5, 10000.0);
  c.add("heads inside positions", {{2, 3, 8}}, [](In x) {
    return rotary_embedding(x.reshape({2, 3, 2, 4}).transpose(1, 2), 2).transpose(1, 2);
  });
  c.add("other frequencies, scaled", {{2, 3, 4}}, [](In x) {
    return rotary_embedding(x, 5, tensor(std::vector<double>{0.7, 0.01}, {2}), 1.3);
  });
  c.add("used twice", {{3, 4}}, [](In x) { return rotary_embedding(x, 1) * rotary_embedding(x, 2); });
}

void add_swiglu(CaseList& list) {
  OpCases c(list, "swiglu", 905);
  const auto add = [&](const char* name, const Shape& s, auto f) {
    c.add(name, {c.uniform(s, -6.0, 6.0), s}, f);
  };
  add("matrix", {3, 4}, swiglu);
  add("0-d", {}, swiglu);
  add("zero-size", {2, 0}, swiglu);
  add("more than one block", {5, 41}, swiglu);
  c.add("one tensor twice", {{3, 4}}, [](In x) { return swiglu(x, x); });
  c.add("halves of one projection", {{3, 8}}, [](In x) {
    const std::vector<Tensor> halves = x.chunk(2, -1);
    return swiglu(halves[0], halves[1]);
  });
}

void add_dropout(CaseList& list) {
  OpCases c(list, "dropout", 902);
  // dropout() with the same random numbers at each call.
  const auto with = [](double p, const Generator& start = Generator(7)) {
    return [p, start](In x) {
      Generator generator = start;
      return dropout(x, p, generator);
    };
  };
  c.add("half", {{3, 4}}, with(0.5));
  c.add("a tenth, more than one block", {{3, 50}}, with(0.1));
  c.add("none", {{3, 4}}, with(0.0));
  c.add("all", {{3, 4}}, with(1.0));
  c.add("0-d", {{}}, with(0.25));
  c.add("zero-size", {{0, 3}}, with(0.5));
  c.add("as PyTorch", {{3, 4}}, with(0.3, Generator::torch(7)));
  c.add("as PyTorch with MKL", {{3, 4}}, with(0.3, Generator::torch_mkl(7)));
  c.add("as PyTorch, all", {{3, 4}}, with(1.0, Generator::torch(7)));
  c.add("twice from one generator", {{3, 4}}, [](In x) {
    Generator generator(10);
    const Tensor y = dropout(x, 0.5, generator);
    return dropout(x, 0.5, generator) * y;
  });
}

}  // namespace

void add_layers(CaseList& list) {
  for (const auto add : {add_layer_norm, add_rms_norm, add_rotary_embedding, add_swiglu, add_dropout})
    add(list);
}

}  // namespace gradus::cases
