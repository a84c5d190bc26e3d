// Reads event files of TensorBoard by the documents of TFRecord and Protocol Buffers, without the writer.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::train {

/// CRC-32C by polynomial division, lowest bit first.
inline uint32_t crc32c(std::string_view bytes) {
  uint32_t rest = 0xFFFFFFFF;
  for (const char byte : bytes) {
    rest ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) rest = rest & 1 ? rest >> 1 ^ 0x82F63B78 : rest >> 1;
  }
  return rest ^ 0xFFFFFFFF;
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
  /// All events of a file of TFRecords. Throws std::runtime_error for a wrong checksum or an unknown field.
  static std::vector<ReadEvent> read(std::string_view file) {
    std::vector<ReadEvent> events;
    while (!file.empty()) {
      std::string_view size = checked(file, 8);
      events.push_back(event(checked(file, fixed(size, 8))));
    }
    return events;
  }

 private:
  /// A field of a message: 8 times its number and its wire type, and a number or a text.
  struct Field {
    uint64_t key = 0, number = 0;
    std::string_view text;
  };

  static std::string_view take(std::string_view& from, uint64_t count) {
    if (count > from.size()) throw std::runtime_error("the file ends within a record");
    const std::string_view taken = from.substr(0, count);
    from.remove_prefix(count);
    return taken;
  }
  static uint64_t fixed(std::string_view& from, uint64_t size) {
    uint64_t value = 0;
    for (int i = 0; const char byte : take(from, size))
      value |= uint64_t{static_cast<unsigned char>(byte)} << 8 * i++;
    return value;
  }
  static uint64_t varint(std::string_view& from) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint64_t byte = fixed(from, 1);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  }
  /// Bytes and the masked checksum behind them.
  static std::string_view checked(std::string_view& from, uint64_t count) {
    const std::string_view data = take(from, count);
    const uint32_t crc = crc32c(data);
    if (fixed(from, 4) != static_cast<uint32_t>((crc >> 15 | crc << 17) + 0xA282EAD8))
      throw std::runtime_error("a checksum is wrong");
    return data;
  }
  static std::vector<Field> fields(std::string_view message) {
    std::vector<Field> all;
    while (!message.empty()) {
      Field field;
      field.key = varint(message);
      const uint64_t type = field.key & 7;
      if (type == 2)
        field.text = take(message, varint(message));
      else
        field.number = type == 0 ? varint(message) : fixed(message, type == 1 ? 8 : 4);
      all.push_back(field);
    }
    return all;
  }
  static const Field& expect(const Field& field, uint64_t key) {
    if (field.key != key) throw std::runtime_error("a message has an unknown field");
    return field;
  }

  static ReadEvent event(std::string_view message) {
    ReadEvent event;
    for (const Field& f : fields(message)) {
      if (f.key == 0x09)  // 1, of 64 bits
        event.wall_time = std::bit_cast<double>(f.number);
      else if (f.key == 0x10)
        event.step = static_cast<int64_t>(f.number);
      else if (f.key == 0x1A)
        event.file_version = f.text;
      else if (f.key == 0x3A)
        for (const Field& status : fields(f.text))
          event.session_status = static_cast<int64_t>(expect(status, 0x08).number);
      else  // a summary: values of a tag and a float
        for (const Field& value : fields(expect(f, 0x2A).text)) {
          const std::vector<Field> parts = fields(expect(value, 0x0A).text);
          event.scalars[std::string(expect(parts.at(0), 0x0A).text)] =
              std::bit_cast<float>(static_cast<uint32_t>(expect(parts.at(1), 0x15).number));
        }
    }
    return event;
  }
};

}  // namespace gradus::train
