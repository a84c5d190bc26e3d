#include "emulated_units.hpp"

#include "bf16_model.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

namespace emulated_units {
namespace {

using gradus::bfloat16;

constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;
constexpr int64_t kLanes = 16;

struct Tile {
  alignas(64) uint8_t rows[kRows][kRowBytes] = {};
};

struct Tiles {
  bool configured = false;
  Tile tiles[kTiles];
};
thread_local Tiles tiles;
std::atomic<int64_t> instructions{0};
struct sigaction before;

/// The registers of the thread that was stopped, and a reader of its instructions.
class Machine {
 public:
  explicit Machine(ucontext_t& context)
      : context_(context), at_(reinterpret_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP])) {}

  uint8_t next() { return *at_++; }
  /// The program goes on behind what was read.
  void go_on() { context_.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(at_); }

  int64_t general(int number) const {
    static constexpr int kNames[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return context_.uc_mcontext.gregs[kNames[number]];
  }

  struct Address {
    uint8_t* base;
    int64_t index;  ///< times its scale; 0 if there is none
  };
  /// What a ModRM byte of memory means, with the bytes behind it. A displacement of one byte counts so many.
  Address address(uint8_t modrm, bool base_high, bool index_high, int64_t unit) {
    const int mod = modrm >> 6;
    int base = modrm & 7;
    bool has_base = true;
    int64_t index = 0;
    if (base == 4) {
      const uint8_t sib = next();
      const int number = (sib >> 3 & 7) | (index_high ? 8 : 0);
      if (number != 4) index = general(number) << (sib >> 6);
      base = sib & 7;
      has_base = mod != 0 || base != 5;
    } else if (mod == 0 && base == 5) {  // relative to the next instruction, which begins behind this number
      const int32_t offset = number_of<int32_t>();
      return {const_cast<uint8_t*>(at_) + offset, 0};
    }
    int64_t address = has_base ? general(base | (base_high ? 8 : 0)) : 0;
    if (mod == 1) address += static_cast<int8_t>(next()) * unit;
    if (mod == 2 || !has_base) address += number_of<int32_t>();
    return {reinterpret_cast<uint8_t*>(address), index};
  }

  void read_vector(int number, void* out) {
    auto* to = static_cast<uint8_t*>(out);
    for (const auto& [part, size] : vector_parts(number)) {
      std::memcpy(to, part, size);
      to += size;
    }
  }

  void write_vector(int number, const void* in) {
    const auto* from = static_cast<const uint8_t*>(in);
    for (const auto& [part, size] : vector_parts(number)) {
      std::memcpy(part, from, size);
      from += size;
    }
  }

 private:
  template <class T>
  T number_of() {
    T number;
    std::memcpy(&number, at_, sizeof number);
    at_ += sizeof number;
    return number;
  }

  /// A component of the saved registers (XSAVE, standard form); all 0 if it was not in use.
  uint8_t* component(int state) {
    constexpr int kSse = 1, kHeader = 512;
    auto* const area = reinterpret_cast<uint8_t*>(context_.uc_mcontext.fpregs);
    unsigned size = 256, begin = 160, c = 0, d = 0;  // of the registers of 128 bits
    if (state != kSse) __get_cpuid_count(0xD, static_cast<unsigned>(state), &size, &begin, &c, &d);
    uint64_t in_use;
    std::memcpy(&in_use, area + kHeader, sizeof in_use);
    if ((in_use >> state & 1) == 0) std::memset(area + begin, 0, size);
    in_use |= uint64_t{1} << state;
    std::memcpy(area + kHeader, &in_use, sizeof in_use);
    return area + begin;
  }

  /// Where the bytes of a register of 512 bits are, its first ones first.
  std::vector<std::pair<uint8_t*, size_t>> vector_parts(int number) {
    constexpr int kSse = 1, kAvx = 2, kHigh256 = 6, kHigh16 = 7;
    if (number >= 16) return {{component(kHigh16) + (number - 16) * 64, 64}};
    return {{component(kSse) + number * 16, 16},
            {component(kAvx) + number * 16, 16},
            {component(kHigh256) + number * 32, 32}};
  }

  ucontext_t& context_;
  const uint8_t* at_;
};

bool configure(const uint8_t* from) {
  if (from[0] != 1) return false;  // the palette
  for (int tile = 0; tile < kTiles; ++tile) {
    uint16_t row_bytes;
    std::memcpy(&row_bytes, from + 16 + 2 * tile, 2);
    if (row_bytes != kRowBytes || from[48 + tile] != kRows) return false;
  }
  tiles = {};
  tiles.configured = true;
  return true;
}

void add_products(Tile& sums, const Tile& left, const Tile& right) {
  for (int m = 0; m < kRows; ++m)
    for (int n = 0; n < kLanes; ++n) {
      bfloat16 a[bf16_model::kDepth], b[bf16_model::kDepth];
      std::memcpy(a, left.rows[m], sizeof a);
      for (int k = 0; k < kRows; ++k) std::memcpy(b + 2 * k, right.rows[k] + 4 * n, 4);
      float sum;
      std::memcpy(&sum, sums.rows[m] + 4 * n, 4);
      sum = bf16_model::dot_amx(sum, a, b);
      std::memcpy(sums.rows[m] + 4 * n, &sum, 4);
    }
}

// VEX of three bytes, map 0F38, no W, 128 bits; the prefix that it stands for tells instructions apart.
bool execute_tile(Machine& machine) {
  const uint8_t first = machine.next(), second = machine.next(), opcode = machine.next();
  const uint8_t modrm = machine.next();
  const bool in_register = modrm >> 6 == 3, no_high = (first & 0x80) != 0;
  const int prefix = second & 3, reg = modrm >> 3 & 7, rm = modrm & 7, third = (~second >> 3) & 15;
  if ((first & 0x1F) != 2 || (second & 0x84) != 0 || !no_high) return false;
  const auto memory = [&] { return machine.address(modrm, (first & 0x20) == 0, (first & 0x40) == 0, 1); };

  if (opcode == 0x49 && prefix == 0 && reg == 0) {
    if (!in_register) return configure(memory().base);  // LDTILECFG
    tiles.configured = false;                           // TILERELEASE
    return rm == 0;
  }
  if (!tiles.configured) return false;
  if (opcode == 0x49 && prefix == 3 && in_register && rm == 0) {  // TILEZERO
    tiles.tiles[reg] = {};
  } else if (opcode == 0x4B && !in_register && rm == 4 && prefix != 0) {
    const Machine::Address at = memory();
    for (int row = 0; row < kRows; ++row) {
      uint8_t *const there = at.base + row * at.index, *const here = tiles.tiles[reg].rows[row];
      if (prefix == 2)
        std::memcpy(there, here, kRowBytes);  // TILESTORED
      else
        std::memcpy(here, there, kRowBytes);  // TILELOADD, TILELOADDT1
    }
  } else if (opcode == 0x5C && prefix == 2 && in_register && third < kTiles) {  // TDPBF16PS
    if (reg == rm || reg == third || rm == third) return false;                 // must be three tiles
    add_products(tiles.tiles[reg], tiles.tiles[rm], tiles.tiles[third]);
  } else {
    return false;
  }
  return true;
}

// EVEX, map 0F38, prefix F3, no W, 512 bits, no mask: VDPBF16PS only.
bool execute_vector(Machine& machine) {
  const uint8_t first = machine.next(), second = machine.next(), last = machine.next();
  const uint8_t opcode = machine.next(), modrm = machine.next();
  if ((first & 7) != 2 || (second & 0x83) != 2 || (last & 0xE7) != 0x40 || opcode != 0x52) return false;
  const auto bit = [](uint8_t byte, int place, int value) { return (byte >> place & 1) == 0 ? value : 0; };
  const int out = (modrm >> 3 & 7) | bit(first, 7, 8) | bit(first, 4, 16);
  const int left = ((~second >> 3) & 15) | bit(last, 3, 16);
  uint32_t a[kLanes], b[kLanes];
  float sums[kLanes];
  machine.read_vector(out, sums);
  machine.read_vector(left, a);
  if (modrm >> 6 == 3) {
    machine.read_vector((modrm & 7) | bit(first, 5, 8) | bit(first, 6, 16), b);
  } else {
    const bool is_one = (last & 0x10) != 0;  // for all lanes
    const Machine::Address at =
        machine.address(modrm, bit(first, 5, 1) != 0, bit(first, 6, 1) != 0, is_one ? 4 : 64);
    for (int lane = 0; lane < kLanes; ++lane)
      std::memcpy(&b[lane], at.base + at.index + (is_one ? 0 : 4 * lane), 4);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto half = [lane](const uint32_t* pairs, int i) {
      return bf16_model::value(bfloat16{static_cast<uint16_t>(pairs[lane] >> (16 * i))});
    };
    for (const int i : {1, 0}) sums[lane] = bf16_model::fused_flushed(half(a, i), half(b, i), sums[lane]);
  }
  machine.write_vector(out, sums);
  return true;
}

void on_refusal(int /*signal*/, siginfo_t* /*info*/, void* context) {
  Machine machine(*static_cast<ucontext_t*>(context));
  constexpr uint8_t kVex = 0xC4, kEvex = 0x62;
  const uint8_t first = machine.next();
  const bool done = first == kVex ? execute_tile(machine) : first == kEvex && execute_vector(machine);
  if (!done) {
    ::sigaction(SIGILL, &before, nullptr);  // It is refused again, as it would have been.
    return;
  }
  machine.go_on();
  ++instructions;
}

}  // namespace

bool can_emulate() { return true; }

Emulation::Emulation() {
  instructions = 0;
  struct sigaction action = {};
  action.sa_sigaction = on_refusal;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGILL, &action, &before);
}

Emulation::~Emulation() { ::sigaction(SIGILL, &before, nullptr); }

int64_t Emulation::executed() const { return instructions; }
bool Emulation::is_released() const { return !tiles.configured; }

}  // namespace emulated_units

#else

namespace emulated_units {

bool can_emulate() { return false; }
Emulation::Emulation() = default;
Emulation::~Emulation() = default;
int64_t Emulation::executed() const { return 0; }
bool Emulation::is_released() const { return true; }

}  // namespace emulated_units

#endif
