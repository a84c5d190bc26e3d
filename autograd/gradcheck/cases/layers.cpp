// layer_norm, rms_norm, rotary_embedding, swiglu and dropout.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

void add_layer_norm(CaseList& list) {
  Values v(901);
  const auto add = [&](const std::string& name, const Shape& x, const Shape& over) {
    list.add("layer_norm", name + ", bare", {v.normal(x)},
             [over](Inputs in) { return layer_norm(in[0], over); });
    list.add("layer_norm", name + ", weight", {v.normal(x), v.normal(over)},
             [over](Inputs in) { return layer_norm(in[0], over, in[1]); });
    list.add("layer_norm", name + ", bias", {v.normal(x), v.normal(over)},
             [over](Inputs in) { return layer_norm(in[0], over, {}, in[1]); });
    list.add("layer_norm", name + ", weight and bias", {v.normal(x), v.normal(over), v.normal(over)},
             [over](Inputs in) { return layer_norm(in[0], over, in[1], in[2]); });
  };
  add("matrix", {3, 4}, {4});
  add("batch", {2, 2, 5}, {5});
  add("two dims", {2, 3, 2}, {3, 2});
  add("a single row", {5}, {5});
  add("longer than a vector", {2, 37}, {37});
  add("no rows", {0, 3}, {3});
  const Shape four{4};
  const GradcheckFunction full = [four](Inputs x) { return layer_norm(x[0], four, x[1], x[2]); };
  const auto numbers = [&](const char* name, const Tensor& x) {
    list.add("layer_norm", name, {x, v.normal({4}), v.normal({4})}, full);
  };
  numbers("small values, where eps matters", v.uniform({3, 4}, -0.02, 0.02));
  numbers("large values", v.uniform({3, 4}, -200, 200));
  const auto view = [&](const char* name, const Shape& x, const GradcheckFunction& f) {
    list.add("layer_norm", name, {v.normal(x), v.normal({4}), v.normal({4})}, f);
  };
  view("transposed", {4, 3}, [four](Inputs x) { return layer_norm(x[0].mT(), four, x[1], x[2]); });
  view("sliced with a step", {3, 8},
       [four](Inputs x) { return layer_norm(x[0].slice(1, 0, 8, 2), four, x[1], x[2]); });
  view("expanded", {1, 4}, [four](Inputs x) { return layer_norm(x[0].expand({3, 4}), four, x[1], x[2]); });
  view("another eps", {3, 4}, [four](Inputs x) { return layer_norm(x[0], four, x[1], x[2], 0.3); });
  view("weight and bias are views", {3, 4}, [four](Inputs x) {
    return layer_norm(x[0], four, x[1].slice(0, 1, 2).expand({4}), x[2].slice(0, 0, 1).expand({4}));
  });
  list.add("layer_norm", "one tensor as input and weight", {v.normal({4})},
           [four](Inputs x) { return layer_norm(x[0], four, x[0], x[0]); });
}

void add_rms_norm(CaseList& list) {
  Values v(903);
  const auto add = [&](const std::string& name, const Shape& x, const Shape& over) {
    list.add("rms_norm", name + ", bare", {v.normal(x)}, [over](Inputs in) { return rms_norm(in[0], over); });
    list.add("rms_norm", name + ", weight", {v.normal(x), v.normal(over)},
             [over](Inputs in) { return rms_norm(in[0], over, in[1], 1e-5); });
  };
  add("matrix", {3, 4}, {4});
  add("two dims", {2, 3, 2}, {3, 2});
  add("longer than a vector, more than one block", {70, 37}, {37});
  add("no rows", {0, 3}, {3});
  list.add("rms_norm", "small values, where eps matters", {v.uniform({3, 4}, -0.02, 0.02), v.normal({4})},
           [](Inputs in) { return rms_norm(in[0], {4}, in[1], 1e-3); });
  list.add("rms_norm", "views", {v.normal({8, 3}), v.normal({1})},
           [](Inputs in) { return rms_norm(in[0].mT().slice(1, 0, 8, 2), {4}, in[1].expand({4})); });
  list.add("rms_norm", "one tensor as input and weight", {v.normal({4})},
           [](Inputs in) { return rms_norm(in[0], {4}, in[0]); });
}

void add_rotary_embedding(CaseList& list) {
  Values v(904);
  const auto add = [&](const char* name, const Shape& x, int64_t offset, double base) {
    list.add("rotary_embedding", name, {v.normal(x)},
             [=](Inputs in) { return rotary_embedding(in[0], offset, base); });
  };
  add("heads", {2, 3, 4, 6}, 0, 10000.0);
  add("from an offset, another base", {1, 2, 3, 4}, 1000, 500.0);
  add("one pair", {2, 3, 2}, 7, 10000.0);
  add("a matrix, more than a vector", {5, 36}, 3, 10.0);
  add("five dims", {2, 1, 2, 3, 2}, 1, 10000.0);
  add("no positions", {2, 0, 4}, 5, 10000.0);
  list.add("rotary_embedding", "heads inside positions", {v.normal({2, 3, 8})}, [](Inputs in) {
    return rotary_embedding(in[0].reshape({2, 3, 2, 4}).transpose(1, 2), 2).transpose(1, 2);
  });
  list.add("rotary_embedding", "columns far apart", {v.normal({1, 2, 4, 3})},
           [](Inputs in) { return rotary_embedding(in[0].mT(), 2); });
  list.add("rotary_embedding", "expanded", {v.normal({1, 3, 4})}, [](Inputs in) {
    return rotary_embedding(in[0].expand({2, 2, 3, 4}), 1);
  });
  list.add("rotary_embedding", "used twice", {v.normal({3, 4})},
           [](Inputs in) { return rotary_embedding(in[0], 1) * rotary_embedding(in[0], 2); });
}

void add_swiglu(CaseList& list) {
  Values v(905);
  const auto add = [&](const char* name, const Shape& s, const GradcheckFunction& f) {
    list.add("swiglu", name, {v.uniform(s, -6.0, 6.0), v.normal(s)}, f);
  };
  const GradcheckFunction plain = [](Inputs x) { return swiglu(x[0], x[1]); };
  add("matrix", {3, 4}, plain);
  add("0-d", {}, plain);
  add("zero-size", {2, 0}, plain);
  add("more than one block", {5, 41}, plain);
  add("transposed and sliced", {4, 6},
      [](Inputs x) { return swiglu(x[0].mT().slice(0, 0, 6, 2), x[1].mT().slice(0, 1, 6, 2)); });
  add("expanded", {3, 1}, [](Inputs x) { return swiglu(x[0].expand({2, 3, 2}), x[1].expand({2, 3, 2})); });
  list.add("swiglu", "one tensor twice", {v.normal({3, 4})}, [](Inputs x) { return swiglu(x[0], x[0]); });
  list.add("swiglu", "halves of one projection", {v.normal({3, 8})}, [](Inputs x) {
    const std::vector<Tensor> halves = x[0].chunk(2, -1);
    return swiglu(halves[0], halves[1]);
  });
}

void add_dropout(CaseList& list) {
  Values v(902);
  const auto add = [&](const char* name, const Shape& shape, double p) {
    list.add("dropout", name, {v.normal(shape)}, [p](Inputs x) {
      Generator generator(7);
      return dropout(x[0], p, generator);
    });
  };
  add("half", {3, 4}, 0.5);
  add("a tenth, more than one block", {3, 50}, 0.1);
  add("none", {3, 4}, 0.0);
  add("all", {3, 4}, 1.0);
  add("0-d", {}, 0.25);
  add("zero-size", {0, 3}, 0.5);
  const auto from_torch = [&](const char* name, double p, const Generator& start) {
    list.add("dropout", name, {v.normal({3, 4})}, [p, start](Inputs x) {
      Generator generator = start;
      return dropout(x[0], p, generator);
    });
  };
  from_torch("as PyTorch", 0.3, Generator::torch(7));
  from_torch("as PyTorch with MKL", 0.3, Generator::torch_mkl(7));
  from_torch("as PyTorch, all", 1.0, Generator::torch(7));
  const auto view = [&](const char* name, const Shape& shape, uint64_t seed, const GradcheckFunction& f) {
    list.add("dropout", name, {v.normal(shape)}, [seed, f](Inputs x) {
      Generator generator(seed);
      return dropout(f(x), 0.5, generator);
    });
  };
  view("transposed", {4, 3}, 8, [](Inputs x) { return x[0].mT(); });
  view("expanded", {4, 1}, 9, [](Inputs x) { return x[0].expand({4, 3}); });
  list.add("dropout", "twice from one generator", {v.normal({3, 4})}, [](Inputs x) {
    Generator generator(10);
    const Tensor y = dropout(x[0], 0.5, generator);
    return dropout(x[0], 0.5, generator) * y;
  });
}

}  // namespace

void add_layers(CaseList& list) {
  add_layer_norm(list);
  add_rms_norm(list);
  add_rotary_embedding(list);
  add_swiglu(list);
  add_dropout(list);
}

}  // namespace gradus::cases
