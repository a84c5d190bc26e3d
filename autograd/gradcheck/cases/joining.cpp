// cat, stack and pad.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {

void add_joining(CaseList& list) {
  Values v(701);
  const auto join = [&](const char* name, const std::vector<Shape>& shapes, int64_t dim) {
    std::vector<Tensor> inputs;
    for (const Shape& s : shapes) inputs.push_back(v.normal(s));
    list.add("cat", name, inputs, [dim](Inputs x) { return cat(x, dim); });
  };
  join("rows", {{2, 3}, {1, 3}, {3, 3}}, 0);
  join("columns", {{2, 3}, {2, 1}}, -1);
  join("middle dim", {{2, 1, 3}, {2, 2, 3}}, 1);
  join("vectors", {{2}, {3}}, 0);
  join("one tensor", {{2, 3}}, 1);
  join("a piece of size 0", {{2, 3}, {2, 0}, {2, 1}}, 1);
  join("empty vectors among matrices", {{0}, {2, 3}, {0}, {2, 1}}, 1);
  join("empty vectors only", {{0}, {0}}, 0);
  list.add("cat", "one tensor three times", {v.normal({2, 3})}, [](Inputs x) {
    return cat({x[0], x[0], x[0]}, 0);
  });
  list.add("cat", "views", {v.normal({3, 2}), v.normal({2, 6}), v.normal({2, 1})}, [](Inputs x) {
    return cat({x[0].mT(), x[1].slice(1, 0, 6, 2), x[2].expand({2, 2})}, 1);
  });
  list.add("cat", "squared", {v.normal({2, 3}), v.normal({2, 2})}, [](Inputs x) {
    const Tensor y = cat(x, 1);
    return y * y;
  });

  const auto pile = [&](const char* name, const Shape& shape, int64_t dim) {
    list.add("stack", name, {v.normal(shape), v.normal(shape)}, [dim](Inputs x) { return stack(x, dim); });
  };
  pile("in front", {2, 3}, 0);
  pile("in the middle", {2, 3}, 1);
  pile("at the end", {2, 3}, -1);
  pile("0-d", {}, 0);
  pile("zero-size", {0, 2}, 1);
  list.add("stack", "one tensor twice, transposed", {v.normal({2, 3})}, [](Inputs x) {
    return stack({x[0].mT(), x[0].mT()}, 1);
  });
  list.add("stack", "squared", {v.normal({3}), v.normal({3})}, [](Inputs x) {
    const Tensor y = stack(x, 1);
    return y * y;
  });

  const auto widen = [&](const char* name, const Shape& shape, const GradcheckFunction& f) {
    list.add("pad", name, {v.normal(shape)}, f);
  };
  widen("in front", {2, 3}, [](Inputs x) { return pad(x[0], 0, 4, 2); });
  widen("with a step", {2, 3}, [](Inputs x) { return pad(x[0], -1, 7, 1, 2); });
  widen("middle dim", {2, 2, 3}, [](Inputs x) { return pad(x[0], 1, 5, 0, 3); });
  widen("nothing", {2, 0}, [](Inputs x) { return pad(x[0], 1, 3, 1); });
  widen("transposed", {2, 3}, [](Inputs x) { return pad(x[0].mT(), 0, 5, 1); });
  widen("squared", {2, 3}, [](Inputs x) {
    const Tensor y = pad(x[0], 1, 5, 1);
    return y * y;
  });
}

}  // namespace gradus::cases
