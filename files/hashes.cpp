#include "gradus/files/hashes.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>

namespace gradus::files {
namespace {

constexpr size_t kStride = 16;

/// kTables[k][b]: the contribution of byte b followed by k zero bytes (IEEE 802.3, lowest bit first). Sixteen
/// bytes take sixteen independent look-ups. zlib has the same function, but only archives need zlib.
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, kStride> tables{};
  for (size_t k = 0; k < kStride; ++k)
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = k == 0 ? byte : tables[k - 1][byte];
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
      tables[k][byte] = crc;
    }
  return tables;
}();

// Names are those of FIPS 180-4, sections 4 to 6.
constexpr std::array<uint32_t, 64> kK = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr size_t kChunk = 64;  // bytes
using State = std::array<uint32_t, 8>;

void absorb(State& state, const char* chunk) {
  std::array<uint32_t, 64> w;
  for (int t = 0; t < 16; ++t) {
    w[t] = 0;
    for (int i = 0; i < 4; ++i) w[t] = w[t] << 8 | static_cast<unsigned char>(chunk[4 * t + i]);
  }
  for (int t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int t = 0; t < 64; ++t) {
    const uint32_t choose = (e & f) ^ (~e & g);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choose + kK[t] + w[t];
    const uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const State add = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += add[i];
}

}  // namespace

uint32_t crc32(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (; bytes.size() >= kStride; bytes.remove_prefix(kStride)) {
    uint32_t next = 0;
    for (size_t i = 0; i < kStride; ++i)
      next ^= kTables[kStride - 1 - i]
                     [(static_cast<unsigned char>(bytes[i]) ^ (i < 4 ? crc >> 8 * i : 0)) & 0xFF];
    crc = next;
  }
  for (const char c : bytes) crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::string hex32(uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(value));
  return text;
}

void Sha256::add(std::string_view bytes) {
  size_ += bytes.size();
  if (!rest_.empty()) {
    const size_t wanted = std::min(kChunk - rest_.size(), bytes.size());
    rest_ += bytes.substr(0, wanted);
    bytes.remove_prefix(wanted);
    if (rest_.size() < kChunk) return;
    absorb(state_, rest_.data());
    rest_.clear();
  }
  for (; bytes.size() >= kChunk; bytes.remove_prefix(kChunk)) absorb(state_, bytes.data());
  rest_ = bytes;
}

std::string Sha256::digest() const {
  State state = state_;
  std::string tail = rest_ + '\x80';
  tail.resize((tail.size() + 8 + kChunk - 1) / kChunk * kChunk - 8, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(size_ * 8 >> shift);
  for (size_t at = 0; at < tail.size(); at += kChunk) absorb(state, tail.data() + at);

  std::string digest;
  for (const uint32_t word : state) digest += hex32(word);
  return digest;
}

std::string sha256(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.digest();
}

}  // namespace gradus::files
