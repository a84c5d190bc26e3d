// Memory: what the counters say, and that training steps leave nothing behind.
#include <unistd.h>

#include "autograd/compare.hpp"
#include "autograd/sanitized.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/tensor/storage.hpp"

namespace gradus::test_memory {

using namespace gradus::testing;

// Resident memory of this process, bytes.
int64_t resident() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, pages = 0;
  file >> total >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// A small network of two layers, one of them in a checkpoint, with dropout and a hook; trained by hand.
class Training {
 public:
  void step() {
    const Tensor x = randn({4, 8}, g_), target = randint(0, 3, {4}, g_);
    const auto hidden = [this](const Tensor& t) { return dropout(gelu(linear(t, w1_, b1_)), 0.1, g_); };
    const Tensor h = checkpoint(hidden, x, {&g_});
    HookHandle handle = h.register_hook([](const Tensor& gh) { return gh * 1.0; });
    Tensor loss = cross_entropy(linear(layer_norm(h, {16}), w2_), target);
    if (steps_++ % 10 == 0) {  // an evaluation that is dropped
      loss = loss + mean(h * h);
      loss = cross_entropy(linear(layer_norm(h, {16}), w2_), target);
    }
    loss.backward();
    for (Tensor* p : {&w1_, &b1_, &w2_}) {
      p->copy_(p->detach() - p->grad() * 0.01);
      p->zero_grad();
    }
    last_ = loss.item();
  }
  double last() const { return last_; }

 private:
  Generator g_{1};
  Tensor w1_ = randn({16, 8}, g_).requires_grad_(), b1_ = zeros({16}).requires_grad_();
  Tensor w2_ = randn({3, 16}, g_).requires_grad_();
  int steps_ = 0;
  double last_ = 0;
};

void check_flat(int steps) {
  Training training;
  for (int i = 0; i < 200; ++i) training.step();
  const MemoryUse before = memory_use();
  const int64_t resident_before = resident();
  for (int i = 0; i < steps; ++i) training.step();
  CHECK(memory_use().bytes == before.bytes);
  CHECK(memory_use().blocks == before.blocks);
  CHECK(memory_use().peak == before.peak);
  // Slack for the allocator's own; a leak of 16 bytes a step shows in the soak. Sanitizers keep what is free.
  if (!kSanitized) CHECK(resident() - resident_before < 1 << 20);
  CHECK(std::isfinite(training.last()));
}

TEST_CASE("memory_use counts bytes, storages and the peak of this thread") {
  const MemoryUse before = memory_use();
  reset_peak_memory();
  {
    const Tensor a = zeros({1000}, DType::float64);
    const Tensor view = a.slice(0, 0, 10);
    CHECK(memory_use().bytes == before.bytes + 8000);
    CHECK(memory_use().blocks == before.blocks + 1);
    { const Tensor b = zeros({500}, DType::float32); }
  }
  CHECK(memory_use().bytes == before.bytes);
  CHECK(memory_use().blocks == before.blocks);
  CHECK(memory_use().peak == before.bytes + 10'000);
  reset_peak_memory();
  CHECK(memory_use().peak == before.bytes);
  int64_t elsewhere = -1;
  const Tensor mine = zeros({100});
  std::thread([&] { elsewhere = memory_use().bytes; }).join();
  CHECK(elsewhere == 0);
}

TEST_CASE("what another thread frees goes back to the thread that made it") {
  std::vector<Tensor> batches;
  const int64_t before = resident(), used = memory_use().bytes;
  int64_t left = -1;
  std::thread([&] {
    for (int i = 0; i < 300; ++i) {
      batches.push_back(ones({1 << 18}));  // 1 MiB, which the main thread frees
      std::thread([&] { batches.clear(); }).join();
    }
    left = memory_use().bytes;
    batches.push_back(ones({1 << 18}));
  }).join();
  CHECK(left == 0);
  batches.clear();  // after the end of its thread
  CHECK(memory_use().bytes == used);
  if (!kSanitized) CHECK(resident() - before < 16 << 20);
}

TEST_CASE("the cache keeps at most 256 MiB more than was in use, whatever sizes come") {
  if (kSanitized) {
    SUCCEED("sanitizers take memory of their own");
    return;
  }
  int64_t most = 0;
  std::thread([&] {  // which has a cache of its own
    const int64_t before = resident();
    for (const int64_t mib : {160, 192, 224, 256, 320, 384}) {
      (void)ones({mib << 18});
      most = std::max(most, resident() - before);
    }
    const int64_t kept = resident();
    (void)ones({int64_t{384} << 18});  // a size that it has
    CHECK(resident() - kept < 1 << 20);
  })
      .join();
  CHECK(most < int64_t{384 + 256 + 16} << 20);
  CHECK(most > int64_t{384} << 20);
}

TEST_CASE("a loss that is dropped without a backward frees every storage") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const MemoryUse before = memory_use();
  {
    const Tensor h = exp(matmul(x, x));
    const Tensor loss = sum(softmax(h, -1) * layer_norm(h, {2}));
    CHECK(memory_use().blocks > before.blocks + 3);
  }
  CHECK(memory_use().blocks == before.blocks);
  CHECK(memory_use().bytes == before.bytes);
  CHECK(x.impl()->node->use_count() == 2);  // x and its alias
}

TEST_CASE("errors in the middle of forward and backward leave nothing behind") {
  const Tensor x = leaf({1, 0}, {2});
  const MemoryUse before = memory_use();
  for (int i = 0; i < 3; ++i) {
    const AnomalyMode on;
    CHECK(error_of([&] { sum(sqrt(exp(x) - 1.0) * x).backward(); }) != "");
    CHECK(error_of([&] { log(x * 2.0); }) != "");
  }
  CHECK(memory_use().blocks == before.blocks);
  CHECK(x.impl()->node->use_count() == 2);  // x and its alias
}

TEST_CASE("borrowed values are shared, not counted, and given back once") {
  double values[] = {1, 2, 3, 4, 5, 6};
  int given_back = 0;
  const MemoryUse before = memory_use();
  {
    Tensor x = borrowed(values, {3, 2}, {1, 3}, DType::float64, [&] { ++given_back; });
    CHECK_FALSE(x.is_contiguous());
    CHECK(memory_use().bytes == before.bytes);
    CHECK(x.to_vector<double>() == std::vector<double>{1, 4, 2, 5, 3, 6});
    const Tensor row = x.select(0, 1);
    x = Tensor();
    CHECK(given_back == 0);
    Tensor(row).fill_(9);
  }
  CHECK(given_back == 1);
  CHECK(values[1] == 9);
  CHECK(values[4] == 9);
  CHECK(borrowed(values, {2}, {1}, DType::float64, {}).at({1}) == 9);  // nobody waits for the memory
  CHECK(error_of([&] { borrowed(values + 1, {2}, {-1}, DType::float64, [] {}); }) ==
        "[borrowed] strides must be at least 0, got (-1,). Hint: copy the values.");
  CHECK(error_of([&] { borrowed(reinterpret_cast<char*>(values) + 1, {2}, {1}, DType::float64, [] {}); }) ==
        "[borrowed] values must be aligned to 8 bytes, got others. Hint: copy them.");
}

TEST_CASE("a borrowed gradient is not used as memory") {
  float values[] = {1, 1};
  const Tensor x = leaf({1, 2}, {2});
  Tensor w = x.to(DType::float32).detach();
  w.requires_grad_();
  (w + w).backward(borrowed(values, {2}, {1}, DType::float32, [] {}));
  (w + w).backward(borrowed(values, {2}, {1}, DType::float32, [] {}));
  CHECK(w.grad().to_vector<float>() == std::vector<float>{4, 4});
  CHECK(values[0] == 1);
}

TEST_CASE("memory is flat over 2,000 training steps") { check_flat(2'000); }

TEST_CASE("memory is flat over 100,000 training steps", "[soak]") { check_flat(100'000); }

}  // namespace gradus::test_memory
