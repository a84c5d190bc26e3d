// BenchReport: the output of `gradus bench`, as a table in Markdown or as JSON lines.
#pragma once

#include <string>
#include <vector>

#include "gradus/tools/bench/compare.hpp"
#include "gradus/tools/bench/scaling.hpp"
#include "gradus/tools/cli/program/machine.hpp"

namespace gradus::cli {

class BenchReport {
 public:
  explicit BenchReport(bool json) : json_(json) {}

  void begin(const Machine& machine, const Peak& peak, const bench::CompareOptions& options);
  void add(const bench::Result& result);
  void begin_scaling(const Machine& machine, const Peak& peak, const bench::CompareOptions& options);
  void add(const bench::ScalingPoint& point);
  void end();

 private:
  void print_machine(const Machine& machine, const Peak& peak, int threads, const std::string& torch) const;

  bool json_;
  size_t columns_ = 0;              ///< of the table
  std::vector<std::string> notes_;  ///< below the table
};

}  // namespace gradus::cli
