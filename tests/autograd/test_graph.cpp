// What a graph costs: depth, memory, and what every op keeps and notices.
#include <pthread.h>

#include <functional>
#include <string>

#include "autograd/compare.hpp"
#include "catch.hpp"
#include "gradus/autograd/backward.hpp"
#include "gradus/autograd/gradcheck_cases.hpp"
#include "gradus/autograd/random.hpp"
#include "gradus/autograd/record.hpp"

using namespace gradus;
using namespace gradus::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kDeep = 100'000;

// Builds, walks and destroys a chain of kDeep ops; returns d(end)/d(start).
double walk_deep_chain() {
  const Tensor x = full({}, 0.5, DType::float64).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < kDeep / 4; ++i) y = neg((y + 0.0) * 1.0).reshape({1}).reshape({});
  y.backward();
  return x.grad().item();
}

// The same at two branches a step, without ever walking it: destruction alone.
void drop_deep_graph() {
  Tensor y = full({}, 0.5, DType::float64).requires_grad_();
  for (int i = 0; i < kDeep / 2; ++i) y = y * y;
}

void run_on_small_stack(const std::function<void()>& f) {
  pthread_attr_t attributes;
  pthread_t thread;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  const auto entry = [](void* p) -> void* {
    (*static_cast<const std::function<void()>*>(p))();
    return nullptr;
  };
  std::function<void()> copy = f;
  REQUIRE(pthread_create(&thread, &attributes, entry, &copy) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

std::vector<Tensor> leaves_of(const GradcheckCase& c) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : c.inputs) {
    leaves.push_back(x.detach());
    if (is_floating(x.dtype())) leaves.back().requires_grad_();
  }
  return leaves;
}

// With storage of their own.
std::vector<Tensor> fresh_leaves_of(const GradcheckCase& c) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : c.inputs) {
    leaves.push_back(empty(x.shape(), x.dtype()));
    leaves.back().copy_(x);
    if (is_floating(x.dtype())) leaves.back().requires_grad_();
  }
  return leaves;
}

std::vector<Tensor> floating(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> some;
  for (const Tensor& t : tensors)
    if (is_floating(t.dtype())) some.push_back(t);
  return some;
}

}  // namespace

TEST_CASE("a chain of 100,000 ops is built, walked and destroyed without recursion") {
  CHECK(walk_deep_chain() == 1.0);
  drop_deep_graph();
}

TEST_CASE("so it is on a thread with a stack of 256 KiB") {
  double gradient = 0;
  run_on_small_stack([&] {
    gradient = walk_deep_chain();
    drop_deep_graph();
  });
  CHECK(gradient == 1.0);
}

TEST_CASE("a deep graph of second derivatives is destroyed without recursion") {
  double second = 0;
  run_on_small_stack([&] {
    const Tensor x = full({}, 1.0, DType::float64).requires_grad_();
    Tensor y = x * x;
    for (int i = 0; i < 5000; ++i) y = y + 0.0 * y;
    const Tensor g = grad({y}, {x}, {.create_graph = true})[0];
    second = grad({g}, {x})[0].item();
  });
  CHECK(second == 2.0);
}

TEST_CASE("dropping the result frees the graph and what it kept") {
  for (const GradcheckCase& c : gradcheck_cases()) {
    INFO(c.op << ": " << c.name);
    const std::vector<Tensor> leaves = leaves_of(c);
    const auto counts = [&] {
      std::vector<uint32_t> n;
      for (const Tensor& x : leaves) {
        n.push_back(x.impl()->storage->use_count());
        n.push_back(x.impl()->use_count());
        if (x.requires_grad()) n.push_back(x.impl()->node->use_count());
      }
      return n;
    };
    const std::vector<uint32_t> before = counts();
    { c.f(leaves); }
    CHECK(counts() == before);
    {
      const Tensor y = c.f(leaves);
      y.backward(ones(y.shape(), y.dtype()));
    }
    CHECK(counts() == before);
    {
      const Tensor y = c.f(leaves);
      grad({y}, floating(leaves),
           {.grad_outputs = {ones(y.shape(), y.dtype())}, .create_graph = true, .allow_unused = true});
    }
    CHECK(counts() == before);
  }
}

TEST_CASE("backward frees what the graph kept, even while the result lives") {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor h = exp(x);
  const Tensor y = sum(h);
  CHECK(h.impl()->storage->use_count() == 2);  // h, and the graph: exp's rule needs it
  y.backward();
  CHECK(h.impl()->storage->use_count() == 1);
}

TEST_CASE("what only an input without gradient would need is not kept") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor w = f64({3, 4});
  const Tensor y = x * w;
  CHECK(w.impl()->use_count() == 2);
  CHECK(x.impl()->use_count() == 1);
}

TEST_CASE("every op notices an overwritten input or does not need it") {
  for (const GradcheckCase& c : gradcheck_cases()) {
    for (size_t k = 0; k <= c.inputs.size(); ++k) {  // the last round overwrites the result
      const auto gradients = [&](bool overwrite) {
        const std::vector<Tensor> leaves = fresh_leaves_of(c);
        const Tensor y = c.f(leaves);
        if (overwrite) (k < leaves.size() ? leaves[k] : y).detach().fill_(0.25);
        return grad({y}, floating(leaves),
                    {.grad_outputs = {ones(y.shape(), y.dtype())}, .allow_unused = true});
      };
      INFO(c.op << ": " << c.name << ", overwriting "
                << (k < c.inputs.size() ? concat("input ", k) : "the result"));
      const std::vector<Tensor> right = gradients(false);
      try {
        const std::vector<Tensor> after = gradients(true);
        for (size_t i = 0; i < right.size(); ++i) CHECK(difference(after[i], right[i], 0) == "");
      } catch (const Error& e) {
        CHECK_THAT(e.what(), ContainsSubstring("has been overwritten since it was used"));
      }
    }
  }
}
