#include "gradus/tools/bench/worker.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "gradus/files/error.hpp"

namespace gradus::bench {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kMostWarmUpMs = 50;

// Peak of this program; without /proc it includes the program before exec.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;)
    if (double kib = 0; key == "VmHWM:" && status >> kib) return kib / 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// See proc(5), clear_refs. If the kernel was built without it, the peak is that of the whole process.
void reset_peak_memory_of_process() { std::ofstream("/proc/self/clear_refs") << "5"; }

Turn take_turn(double seconds, int64_t steps, const std::function<void()>& step, Profile::Clock now) {
  const auto ms_since = [now](int64_t start) { return static_cast<double>(now() - start) / 1e6; };
  const int64_t start = now();
  int64_t warm = 0;
  do {
    step();
  } while (++warm < steps / 10 && ms_since(start) < std::min(100 * seconds, kMostWarmUpMs));
  std::vector<double> ms;
  const int64_t begin = now();
  do {
    const int64_t before = now();
    step();
    ms.push_back(ms_since(before));
  } while (static_cast<int64_t>(ms.size()) < steps && ms_since(begin) < 1000 * seconds);
  return {median(ms), *std::min_element(ms.begin(), ms.end()), static_cast<int64_t>(ms.size())};
}

void answer_commands(std::istream& in, std::ostream& out, const std::function<Turn(double, int64_t)>& run,
                     const std::function<std::string(const std::string&)>& other) {
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string command;
    double seconds = 0;
    int64_t steps = 0;
    words >> command;
    if (command == "run" && words >> seconds >> steps) {
      const Turn turn = run(seconds, steps);
      out << Json{{"ms_median", turn.ms_median}, {"ms_min", turn.ms_min}, {"steps", turn.steps}} << std::endl;
    } else if (command == "memory") {
      out << Json{{"peak_mib", peak_mib()}} << std::endl;
    } else if (other) {
      out << other(line) << std::endl;
    } else {
      fail("bench", "a worker's commands are run, ops and memory, got '", line, "'.");
    }
  }
}

}  // namespace gradus::bench
