// Reads event files of TensorBoard as TFRecord's and Protocol Buffers' documents describe them. It shares no
// code with the writer.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::train {

/// CRC-32C by polynomial division, highest bit first.
inline uint32_t crc32c(std::string_view bytes) {
  const auto reversed = [](uint32_t word) {
    uint32_t result = 0;
    for (int bit = 0; bit < 32; ++bit) result |= (word >> bit & 1) << (31 - bit);
    return result;
  };
  uint32_t rest = 0xFFFFFFFF;
  for (const char byte : bytes) {
    rest ^= reversed(static_cast<unsigned char>(byte));
    for (int bit = 0; bit < 8; ++bit) rest = rest & 0x80000000 ? rest << 1 ^ 0x1EDC6F41 : rest << 1;
  }
  return reversed(rest) ^ 0xFFFFFFFF;
}

struct ReadEvent {
  double wall_time = 0;
  int64_t step = 0;
  std::string file_version;
  int64_t session_status = 0;
  std::map<std::string, float> scalars;
};

class EventReader {
 public:
  explicit EventReader(std::string_view bytes) : bytes_(bytes) {}

  /// All events of a file of TFRecords. Throws std::runtime_error for a wrong checksum.
  static std::vector<ReadEvent> read(std::string_view file) {
    std::vector<ReadEvent> events;
    for (EventReader records(file); !records.bytes_.empty();) {
      const std::string_view size = records.take(8);
      records.check(size);
      const std::string_view data = records.take(EventReader(size).fixed(8));
      records.check(data);
      events.push_back(EventReader(data).event());
    }
    return events;
  }

 private:
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) throw std::runtime_error("the file ends within a record");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  uint64_t fixed(int size) {
    uint64_t value = 0;
    for (int i = 0; const char byte : take(static_cast<uint64_t>(size)))
      value |= uint64_t{static_cast<unsigned char>(byte)} << 8 * i++;
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  }
  void check(std::string_view data) {
    const uint32_t crc = crc32c(data);
    if (fixed(4) != static_cast<uint32_t>((crc >> 15 | crc << 17) + 0xA282EAD8))
      throw std::runtime_error("a checksum is wrong");
  }
  /// Calls use(field, wire type) for each field; it takes the value.
  template <class Use>
  void fields(Use&& use) {
    while (!bytes_.empty()) {
      const uint64_t key = varint();
      use(static_cast<int>(key >> 3), static_cast<int>(key & 7));
    }
  }
  static void expect(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
  }

  ReadEvent event() {
    ReadEvent event;
    fields([&](int field, int type) {
      if (field == 1 && type == 1)
        event.wall_time = std::bit_cast<double>(fixed(8));
      else if (field == 2 && type == 0)
        event.step = static_cast<int64_t>(varint());
      else if (field == 3 && type == 2)
        event.file_version = take(varint());
      else if (field == 5 && type == 2)
        EventReader(take(varint())).summary(event.scalars);
      else if (field == 7 && type == 2)
        event.session_status = EventReader(take(varint())).session_log();
      else
        expect(false, "an event has an unknown field");
    });
    return event;
  }
  void summary(std::map<std::string, float>& scalars) {
    fields([&](int field, int type) {
      expect(field == 1 && type == 2, "a summary has values");
      EventReader value(take(varint()));
      std::string tag;
      float number = 0;
      value.fields([&](int inner, int inner_type) {
        expect((inner == 1 && inner_type == 2) || (inner == 2 && inner_type == 5),
               "a value has tag and simple_value");
        if (inner == 1)
          tag = value.take(value.varint());
        else
          number = std::bit_cast<float>(static_cast<uint32_t>(value.fixed(4)));
      });
      scalars[tag] = number;
    });
  }
  int64_t session_log() {
    int64_t status = 0;
    fields([&](int field, int type) {
      expect(field == 1 && type == 0, "a session log has a status");
      status = static_cast<int64_t>(varint());
    });
    return status;
  }

  std::string_view bytes_;
};

}  // namespace gradus::train
