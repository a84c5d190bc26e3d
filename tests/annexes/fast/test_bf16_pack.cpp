// Packing of operands in bfloat16 beside a naive loop, for each unit and at each level.
#include "gradus/annexes/fast/bf16/bf16_pack.hpp"

#include <cstring>

#include "bf16_model.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels::test_bf16_pack {

using namespace vectors;

/// VCVTNE2PS2BF16 takes subnormal numbers as 0; other units multiply them as they are.
uint16_t bits(float x) {
  if (isa_in_use<Bf16Unit>() != Bf16Unit::widened) x = bf16_model::flushed(x);
  bfloat16 rounded{};
  to_bfloat16(1, &rounded, &x);
  return rounded.bits;
}

/// What stands at (row, column) of a matrix that is packed.
uint16_t packed_bits(const PackedBf16& packed, int64_t row, int64_t column) {
  const bool left = packed.side == Side::left;
  const int64_t i = left ? row : column, k = left ? column : row;
  const bfloat16* const tile = packed.tile(i / 16, k / 32);
  return left ? tile[i % 16 * 32 + k % 32].bits : tile[k % 32 / 2 * 32 + i % 16 * 2 + k % 2].bits;
}

void check_packing(Side side, Trans trans, int64_t rows, int64_t columns, const std::vector<float>& x,
                   int64_t ldx) {
  INFO((side == Side::left ? "left" : "right")
       << (trans == Trans::yes ? ", transposed (" : " (") << rows << ", " << columns << ")");
  const AlignedBuffer memory = allocate_aligned(std::max<int64_t>(1, packed_bytes(side, rows, columns)));
  PackedBf16 packed = packed_matrix(side, rows, columns, memory.get());
  CHECK(!packed.owned);
  std::memset(static_cast<void*>(packed.tiles), 0xEE, static_cast<size_t>(packed_bytes(side, rows, columns)));
  pack(trans, x.data(), ldx, packed);
  int64_t wrong = 0;
  const bool left = side == Side::left;
  const int64_t all_rows = left ? packed.strips() * 16 : packed.depth() * 32;
  const int64_t all_columns = left ? packed.depth() * 32 : packed.strips() * 16;
  for (int64_t i = 0; i < all_rows; ++i)
    for (int64_t j = 0; j < all_columns; ++j) {
      const bool inside = i < rows && j < columns;
      const auto at = static_cast<size_t>(trans == Trans::yes ? j * ldx + i : i * ldx + j);
      wrong += packed_bits(packed, i, j) != (inside ? bits(x[at]) : 0);
    }
  CHECK(wrong == 0);
}

constexpr int64_t kEdges[] = {1, 15, 16, 17, 31, 32, 33, 100};

/// From matrices of which every row ends where memory that may be read ends, or other rows go on.
void check_all() {
  for (const int64_t rows : kEdges)
    for (const int64_t columns : kEdges)
      for (const Trans trans : {Trans::no, Trans::yes})
        for (const Side side : {Side::left, Side::right})
          for (const int64_t beyond : {0, 5}) {
            const int64_t of_x = trans == Trans::yes ? columns : rows;
            const int64_t wide = trans == Trans::yes ? rows : columns, ldx = wide + beyond;
            const std::vector<float> x = values<float>((of_x - 1) * ldx + wide);
            check_packing(side, trans, rows, columns, x, ldx);
          }
}

TEST_CASE("float32 is rounded into tiles of either side, transposed or not") {
  bf16_model::at_each_unit([](Bf16Unit) { check_all(); });
}

TEST_CASE("numbers of all kinds are rounded into tiles as bfloat16 is everywhere, on any number of threads") {
  // Each pattern of the upper half, with lower halves at, below and above the middle.
  std::vector<float> x;
  for (uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const uint32_t lower : {0x0U, 0x1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU})
      x.push_back(std::bit_cast<float>(upper << 16 | lower));
  const int64_t columns = 96, rows = static_cast<int64_t>(x.size()) / columns;
  REQUIRE(rows * columns == static_cast<int64_t>(x.size()));
  bf16_model::at_each_unit([&](Bf16Unit) {
    for (const int count : {1, 3}) {
      const Threads threads(count);
      for (const Side side : {Side::left, Side::right})
        for (const Trans trans : {Trans::no, Trans::yes})
          check_packing(side, trans, trans == Trans::yes ? columns : rows,
                        trans == Trans::yes ? rows : columns, x, columns);
    }
  });
}

/// The forms of a matrix (rows, columns), filled with what no packing leaves there.
struct Forms {
  PackedBf16 left, right, transposed;
  std::vector<float> sums;

  Forms(int64_t rows, int64_t columns)
      : left(packed_matrix(Side::left, rows, columns)),
        right(packed_matrix(Side::right, rows, columns)),
        transposed(packed_matrix(Side::left, columns, rows)),
        sums(static_cast<size_t>(columns), 1234.5F) {
    for (PackedBf16* const form : {&left, &right, &transposed})
      std::memset(static_cast<void*>(form->tiles), 0xEE, bytes(*form));
  }

  static size_t bytes(const PackedBf16& form) {
    return static_cast<size_t>(packed_bytes(form.side, form.rows, form.columns));
  }
  PackedRows wanted() { return {&left, &right, &transposed, sums.data()}; }

  bool operator==(const Forms& other) const {
    const auto same = [](const PackedBf16& a, const PackedBf16& b) {
      return std::memcmp(a.tiles, b.tiles, bytes(a)) == 0;
    };
    return same(left, other.left) && same(right, other.right) && same(transposed, other.transposed) &&
           same_bits(sums, other.sums);
  }
};

void check_rows(int64_t rows, int64_t columns, int64_t beyond) {
  INFO(rows << " x " << columns << ", " << beyond << " between rows");
  const int64_t ldx = columns + beyond;
  const std::vector<float> x = values<float>(std::max<int64_t>(0, rows * ldx - beyond));
  Forms one(rows, columns), all(rows, columns);
  pack(Trans::no, x.data(), ldx, one.left);
  pack(Trans::no, x.data(), ldx, one.right);
  pack(Trans::yes, x.data(), ldx, one.transposed);
  pack_rows({.rows = rows, .columns = columns, .x = x.data(), .ldx = ldx}, all.wanted());
  for (int64_t j = 0; j < columns; ++j) {
    double sum = 0, size = 0;
    for (int64_t i = 0; i < rows; ++i) sum += x[static_cast<size_t>(i * ldx + j)];
    for (int64_t i = 0; i < rows; ++i) size += std::abs(x[static_cast<size_t>(i * ldx + j)]);
    const float got = all.sums[static_cast<size_t>(j)];
    if (!(std::abs(got - sum) <= 64 * 0x1p-24 * size)) FAIL("sum of column " << j << ": " << got);
  }
  one.sums = all.sums;
  CHECK(all == one);
  if (beyond > 0) return;
  std::vector<int> counts(x.size());  // how often each element is computed
  const auto make = [&](int64_t row, int64_t high, int64_t column, int64_t wide, float* out,
                        int64_t out_stride) {
    for (int64_t i = 0; i < high; ++i)
      for (int64_t j = 0; j < wide; ++j) {
        const auto at = static_cast<size_t>((row + i) * columns + column + j);
        ++counts[at];
        out[i * out_stride + j] = x[at];
      }
  };
  Forms made(rows, columns);
  pack_rows({.rows = rows, .columns = columns, .make = make}, made.wanted());
  CHECK(counts == std::vector<int>(x.size(), 1));
  CHECK(made == one);
}

TEST_CASE("rows are packed in all forms at once as in each, where they lie and as they are made") {
  bf16_model::at_each_unit([](Bf16Unit) {
    const Threads threads(3);
    for (const int64_t rows : kEdges)
      for (const int64_t columns : {1, 31, 32, 33, 255, 256, 257, 300})
        for (const int64_t beyond : {0, 5}) check_rows(rows, columns, beyond);
    check_rows(40, 4100, 0);
    check_rows(1100, 40, 5);
    check_rows(0, 7, 0);
  });
}

TEST_CASE("rows are packed to the same bits for any number of threads, in memory past the caches too") {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{333, 100}, {1100, 1000}}) {
    const std::vector<float> x = values<float>(rows * columns);
    std::vector<Forms> all;
    for (const int count : {1, 2, 3}) {
      const Threads threads(count);
      pack_rows({.rows = rows, .columns = columns, .x = x.data(), .ldx = columns},
                all.emplace_back(rows, columns).wanted());
      CHECK(all.back() == all.front());
    }
    int64_t wrong = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const uint16_t want = bits(x[static_cast<size_t>(i * columns + j)]);
        const Forms& forms = all.front();
        wrong += packed_bits(forms.left, i, j) != want || packed_bits(forms.right, i, j) != want ||
                 packed_bits(forms.transposed, j, i) != want;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("forms that are not of the rows are refused") {
  const std::vector<float> x(12);
  PackedBf16 left = packed_matrix(Side::left, 3, 4), right = packed_matrix(Side::right, 4, 3);
  const RowSource rows{.rows = 3, .columns = 4, .x = x.data(), .ldx = 4};
  CHECK_THROWS_WITH(pack_rows(rows, {.right = &right}),
                    Catch::Matchers::Equals("[pack] needs a right form (3, 4), got (4, 3)."));
  CHECK_THROWS_WITH(pack_rows(rows, {.transposed = &left}),
                    Catch::Matchers::Equals("[pack] needs a transposed form (4, 3), got (3, 4)."));
  CHECK_THROWS_WITH(
      pack_rows(rows, {.right = &left}),
      Catch::Matchers::Equals("[pack] needs a right form (3, 4), got (3, 4) of the other side."));
}

TEST_CASE("a packed matrix begins at a cache line and may be empty") {
  for (const int64_t rows : {0, 1, 40})
    for (const int64_t columns : {0, 1, 40}) {
      PackedBf16 packed = packed_matrix(Side::left, rows, columns);
      CHECK(reinterpret_cast<uintptr_t>(packed.tiles) % 64 == 0);
      pack(Trans::no, values<float>(rows * columns).data(), columns, packed);
    }
  CHECK(packed_bytes(Side::left, 17, 33) == 4 * 1024);
  CHECK(packed_bytes(Side::right, 17, 33) == 3 * 1024);
  CHECK_THROWS_WITH(packed_matrix(Side::left, -1, 2),
                    Catch::Matchers::Equals("[pack] needs sizes that are not negative, got (-1, 2)."));
}

}  // namespace gradus::kernels::test_bf16_pack
