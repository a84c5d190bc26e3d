// Event files: the metrics of a run for TensorBoard, which can show them while the run goes on.
//
// A file is a sequence of TFRecords: the length of the data (8 bytes, little-endian), its checksum, the data,
// their checksum; a checksum is CRC-32C, masked. The data are Events as in event.proto and summary.proto.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <span>

#include "gradus/files/file.hpp"
#include "gradus/train/run.hpp"

namespace gradus::tensorboard {

using train::EvalReport, train::Metric, train::Observer, train::StepReport;

/// Writes kStepMetrics and kEvalMetrics, and passes all events to another observer, which is borrowed. If the
/// file cannot be written, the run is stopped.
class EventFileObserver : public train::PassingObserver {
 public:
  /// Makes events.out.tfevents.TIME.HOST.PROCESS in the folder, which is made if it is missing. Its first
  /// records tell TensorBoard to drop earlier records of steps after `steps_done`, or all of them if that is
  /// 0. Throws RunError if the disk refuses.
  EventFileObserver(const std::filesystem::path& folder, int64_t steps_done, Observer& next);

  void on_step(const StepReport& report) override;
  void on_eval(const EvalReport& report) override;
  bool should_stop() override { return next_.should_stop() || failure_; }

  /// Throws the RunError of the write that failed, if one did.
  void finish() const;

 private:
  template <class Report>
  void add(const Report& report, std::span<const Metric<Report>> metrics);

  files::AppendedFile file_;
  std::exception_ptr failure_;
};

}  // namespace gradus::tensorboard
