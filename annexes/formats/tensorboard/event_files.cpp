#include "gradus/annexes/formats/tensorboard/event_files.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>

#include "gradus/files/error.hpp"

namespace gradus::tensorboard {
namespace {

namespace fs = std::filesystem;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

fs::path new_event_file(const fs::path& folder) {
  files::make_folders(folder);
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  return folder /
         concat("events.out.tfevents.", static_cast<int64_t>(now()), ".", host.data(), ".", ::getpid());
}

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> 8 * i & 0xFF);
  return bytes;
}

/// CRC-32C (RFC 3720), masked so that the checksum of a text with its checksum is not special.
std::string checksum(std::string_view bytes) {
  constexpr uint32_t kPolynomial = 0x82F63B78, kMask = 0xA282EAD8;
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
  }
  return little_endian(std::rotr(~crc, 15) + kMask);
}

std::string record(const std::string& data) {
  const std::string size = little_endian(uint64_t{data.size()});
  return size + checksum(size) + data + checksum(data);
}

// -- protocol buffers: the fields of a message, one after another

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string whole(int field, int64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(static_cast<uint64_t>(value));
}
std::string bytes(int field, std::string_view value) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(value.size()) + std::string(value);
}
std::string number(int field, double value) {
  return varint(static_cast<uint64_t>(field) << 3 | 1) + little_endian(std::bit_cast<uint64_t>(value));
}
std::string number(int field, float value) {
  return varint(static_cast<uint64_t>(field) << 3 | 5) + little_endian(std::bit_cast<uint32_t>(value));
}

/// Event: wall_time = 1, step = 2 and one of file_version = 3, summary = 5, session_log = 7.
std::string event(int64_t step, const std::string& what) { return number(1, now()) + whole(2, step) + what; }

/// SessionLog: status = 1, which is START = 1.
std::string beginning(int64_t steps_done) {
  return record(event(0, bytes(3, "brain.Event:2"))) +
         record(event(steps_done > 0 ? steps_done + 1 : 0, bytes(7, whole(1, 1))));
}

}  // namespace

EventFileObserver::EventFileObserver(const fs::path& folder, int64_t steps_done, Observer& next)
    : train::PassingObserver(next), file_(new_event_file(folder)) {
  file_.add(beginning(steps_done));
}

/// Summary: value = 1, repeated, with tag = 1 and simple_value = 2.
template <class Report>
void EventFileObserver::add(const Report& report, std::span<const Metric<Report>> metrics) {
  std::string values;
  for (const Metric<Report>& metric : metrics)
    values += bytes(1, bytes(1, metric.tag) + number(2, static_cast<float>(metric.value(report))));
  try {
    if (!failure_) file_.add(record(event(report.step, bytes(5, values))));
  } catch (const RunError&) {
    failure_ = std::current_exception();
  }
}

void EventFileObserver::on_step(const StepReport& report) {
  next_.on_step(report);
  add<StepReport>(report, train::kStepMetrics);
}

void EventFileObserver::on_eval(const EvalReport& report) {
  next_.on_eval(report);
  add<EvalReport>(report, train::kEvalMetrics);
}

void EventFileObserver::finish() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace gradus::tensorboard
