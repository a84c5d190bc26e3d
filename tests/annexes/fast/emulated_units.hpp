// The instructions of AMX and AVX512_BF16 on a processor that lacks them, so that the kernels in bf16/isa/
// run on it as they are compiled: what the processor refuses is computed as the manual states it, and the
// program goes on behind it. A few microseconds an instruction.
//
// Operations and encodings as in Intel's Software Developer's Manual, volume 2.
#pragma once

#include <cstdint>

namespace emulated_units {

/// Whether the processor may be helped out: x86-64 under Linux.
bool can_emulate();

/// While it lives, LDTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILESTORED, TDPBF16PS and VDPBF16PS of 512
/// bits do what they say where the processor refuses them, on any thread, which has tiles of its own. Any
/// other refused instruction, a tile not configured, rows other than 16 of 64 bytes, end it. One at a time.
class Emulation {
 public:
  Emulation();
  ~Emulation();
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  /// Instructions so far.
  int64_t executed() const;
  /// Whether this thread's tiles are released.
  bool is_released() const;
};

}  // namespace emulated_units
