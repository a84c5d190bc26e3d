// What a graph costs: depth, memory, and what every op keeps and notices.
#include <future>

#include "autograd/case_checks.hpp"
#include "autograd/sanitized.hpp"
#include "autograd/small_stack.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_graph {

using namespace gradus::testing;

constexpr int kDeep = kSanitized ? 100'000 : 1'000'000;

// Builds, walks and destroys a chain of kDeep ops of several kinds; returns d(end)/d(start).
double walk_deep_chain() {
  const Tensor x = full({}, 0.5, DType::float64).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < kDeep / 4; ++i) y = neg(y * 1.0).reshape({1}).reshape({});
  y.backward();
  return x.grad().item();
}

// Two branches a step, without ever walking it: destruction alone, of nodes that keep tensors.
void drop_deep_graph() {
  Tensor y = full({}, 0.5, DType::float64).requires_grad_();
  for (int i = 0; i < kDeep / 10; ++i) y = y * y;
}

TEST_CASE("a chain of a million ops is built, walked and destroyed on a stack of 256 KiB") {
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

TEST_CASE("a graph of checkpoints a thousand long, and of functions of several results, does not recurse") {
  double gradient = 0;
  run_on_small_stack([&] {
    const Tensor x = full({}, 0.5, DType::float64).requires_grad_();
    Tensor y = x;
    for (int i = 0; i < 1000; ++i) {
      y = checkpoint([](const Tensor& t) { return neg(neg(t)); }, y);
      y = record_many(OpName::custom("pair"), {y.detach() * 1.0, y.detach()}, {y},
                      [](const std::vector<Tensor>& g, const std::vector<Tensor>&, Needs) {
                        return std::vector<Tensor>{g[0] + g[1]};
                      })[static_cast<size_t>(i % 2)];
    }
    y.backward();
    gradient = x.grad().item();
  });
  CHECK(gradient == 1.0);
}

TEST_CASE("threads build and walk graphs of their own at the same time, with the same bits") {
  const auto gradient = [] {
    Generator g(1);
    const Tensor x = randn({8, 8}, g, DType::float64).requires_grad_();
    Tensor h = x;
    for (int i = 0; i < 20; ++i) {
      h = checkpoint([](const Tensor& t) { return tanh(matmul(t, t)); }, h);
      h.register_hook([](const Tensor& gh) { return gh * 1.5; });
    }
    sum(h).backward();
    return x.grad();
  };
  const Tensor expected = gradient();
  std::vector<Tensor> found(4);
  std::vector<std::thread> threads;
  for (Tensor& t : found) threads.emplace_back([&t, &gradient] { t = gradient(); });
  for (std::thread& t : threads) t.join();
  for (const Tensor& t : found) CHECK(difference(t, expected, 0) == "");
}

TEST_CASE("grad of graphs that share a leaf may run on several threads at once") {
  const Tensor x = leaf({3}, {});
  const auto gradient = [&x](const std::function<void()>& on_the_way) {
    const Tensor h = x * 2.0;
    h.register_hook([&](const Tensor& gh) {
      on_the_way();
      return gh;
    });
    try {
      return grad({h * h}, {x})[0].item();
    } catch (const Error&) {
      return 0.0;
    }
  };
  // Neither of two walks lies within the other.
  std::promise<void> second_began, first_ended;
  double of_second = 0;
  std::thread second;
  const double of_first = gradient([&] {
    second = std::thread([&] {
      of_second = gradient([&] {
        second_began.set_value();
        first_ended.get_future().wait();
      });
    });
    second_began.get_future().wait();
  });
  first_ended.set_value();
  second.join();
  CHECK(of_first == 24);
  CHECK(of_second == 24);

  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) right += gradient([] {}) == 24;
    });
  for (std::thread& t : threads) t.join();
  CHECK(right == 4 * 500);
}

TEST_CASE("an output that nothing uses costs nothing in backward and disturbs nothing") {
  const Tensor x = leaf({4, 0}, {2});
  const std::vector<Tensor> parts = x.split(1, 0);
  const Tensor unused = sqrt(parts[1]);  // its gradient would be infinite
  parts[0].backward();
  CHECK(difference(x.grad(), f64({1, 0})) == "");
}

TEST_CASE("dropping the result frees the graph and what it kept") { check_freed(gradcheck_cases()); }

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
  check_overwriting(gradcheck_cases());
}

}  // namespace gradus::test_graph
