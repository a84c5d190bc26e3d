#include "gradus/autograd/kernels/threads/parallel.hpp"

#include "gradus/files/error.hpp"
#include "vectors.hpp"

namespace test_parallel {

using gradus::parallel_for;
using vectors::Threads;

/// How often each of n elements is visited by one parallel_for.
std::vector<int> visits(int64_t n, int64_t grain) {
  std::vector<int> count(n);
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++count[i];
  });
  return count;
}

/// Uses the pool when it is destroyed, as a thread may that computes while main returns; ends the process
/// with exit code 1 if that changes memory which the pool no longer owns, and would be given here.
struct AfterMain {
  ~AfterMain() {
    std::vector<std::unique_ptr<uint64_t>> numbers;
    for (uint64_t i = 0; i < 100; ++i) numbers.push_back(std::make_unique<uint64_t>(i));
    bool right = visits(100, 1) == std::vector<int>(100, 1);
    for (uint64_t i = 0; i < 100; ++i) right = right && *numbers[i] == i;
    if (!right) std::_Exit(1);
  }
};

TEST_CASE("parallel_for visits every element once", "[parallel]") {
  for (const int threads : {1, 2, 5}) {
    const Threads guard(threads);
    for (const int64_t n : {0, 1, 2, 7, 64, 1000})
      for (const int64_t grain : {1, 3, 64, 5000}) CHECK(visits(n, grain) == std::vector<int>(n, 1));
  }
}

TEST_CASE("chunks depend on n and grain only", "[parallel]") {
  const std::set<std::pair<int64_t, int64_t>> expected = {{0, 4}, {4, 8}, {8, 10}};
  for (const int threads : {1, 2, 3}) {
    const Threads guard(threads);
    std::vector<std::pair<int64_t, int64_t>> chunks(3);
    parallel_for(10, 4, [&](int64_t begin, int64_t end) { chunks.at(begin / 4) = {begin, end}; });
    CHECK(std::set(chunks.begin(), chunks.end()) == expected);
  }
}

// For the test below, in a process of its own: its object is made before the pool.
TEST_CASE("main returns before the last use of the pool", "[.after-main]") {
  static const AfterMain after_main;
  gradus::set_num_threads(2);
  CHECK(visits(100, 1) == std::vector<int>(100, 1));
}

TEST_CASE("the pool may be used after main has returned", "[parallel]") {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  CHECK(std::system(("'" + program + "' '[.after-main]' > /dev/null").c_str()) == 0);
}

TEST_CASE("a thread whose chunks are done takes all that are left of a slow thread's", "[parallel]") {
  const Threads guard(2);
  const std::thread::id caller = std::this_thread::get_id();
  bool is_seen = false;
  for (int attempt = 0; attempt < 1000 && !is_seen; ++attempt) {
    std::atomic<int> others{0};
    parallel_for(8, 1, [&](int64_t chunk, int64_t) {
      if (chunk == 4 && std::this_thread::get_id() != caller) {  // the first of the worker's share
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (others < 7 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        is_seen = others == 7;
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // a long chunk
        ++others;
      }
    });
  }
  CHECK(is_seen);
}

TEST_CASE("a nested parallel_for runs in order on its own thread", "[parallel]") {
  const Threads guard(2);
  std::atomic<int> strays{0};
  std::vector<std::vector<int64_t>> order(8);
  parallel_for(8, 1, [&](int64_t outer, int64_t) {
    const auto self = std::this_thread::get_id();
    parallel_for(5, 1, [&](int64_t inner, int64_t) {
      if (std::this_thread::get_id() != self) ++strays;
      order[outer].push_back(inner);
    });
  });
  CHECK(strays.load() == 0);
  for (const auto& inner : order) CHECK(inner == std::vector<int64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("an exception reaches the caller and the pool works on", "[parallel]") {
  for (const int threads : {1, 2}) {
    const Threads guard(threads);
    for (int64_t bad = 0; bad < 50; ++bad) {
      CHECK_THROWS_WITH(parallel_for(50, 1,
                                     [&](int64_t i, int64_t) {
                                       if (i == bad) throw std::runtime_error("chunk " + std::to_string(i));
                                     }),
                        "chunk " + std::to_string(bad));
      CHECK(visits(50, 1) == std::vector<int>(50, 1));
    }
  }
}

TEST_CASE("several user threads may call at once, and change the number of threads", "[parallel]") {
  const Threads guard(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      for (int round = 0; round < 200; ++round) {
        if (round % 50 == 10 * user) gradus::set_num_threads(1 + (round + user) % 3);
        const std::vector<int> count = visits(100, 7);
        total += std::accumulate(count.begin(), count.end(), int64_t{0});
      }
    });
  for (std::thread& user : users) user.join();
  CHECK(total.load() == 4 * 200 * 100);
}

TEST_CASE("many short jobs one after another", "[parallel]") {
  const Threads guard(3);
  int64_t sum = 0;
  for (int job = 0; job < 20000; ++job) {
    int64_t parts[4] = {};
    parallel_for(4, 1, [&](int64_t i, int64_t) { parts[i] = job + i; });
    sum += parts[0] + parts[1] + parts[2] + parts[3];
  }
  CHECK(sum == int64_t{4} * 20000 * 19999 / 2 + 6 * 20000);
}

TEST_CASE("the number of threads is checked", "[parallel]") {
  CHECK(gradus::kernels::available_cores() >= 1);
  CHECK(gradus::kernels::available_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
  CHECK_THROWS_WITH(gradus::set_num_threads(0), "[set_num_threads] needs at least 1 thread, got 0.");
  CHECK_THROWS_AS(gradus::set_num_threads(-3), gradus::Error);
  const Threads guard(2);
  CHECK(gradus::num_threads() == 2);
  CHECK_THROWS_AS(parallel_for(4, 1, [](int64_t, int64_t) { gradus::set_num_threads(1); }), gradus::Error);
  CHECK(gradus::num_threads() == 2);
}

}  // namespace test_parallel
