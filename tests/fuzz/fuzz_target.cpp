// One reader as libFuzzer drives it; see tests/fuzz/CMakeLists.txt.
#include <cstddef>
#include <cstdint>

#include "readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const gradus::fuzz::Reader& reader = gradus::fuzz::reader(GRADUS_FUZZ_READER);
  gradus::fuzz::try_to_read(reader, {reinterpret_cast<const char*>(bytes), size});
  return 0;
}
