#include "gradus/train/trainer/precision.hpp"

#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::train {
namespace {

constexpr std::pair<std::string_view, DType> kPrecisions[] = {{"float32", DType::float32},
                                                              {"bf16", DType::bfloat16}};

}  // namespace

std::vector<std::string> precision_names() {
  return column(kPrecisions, [](const auto& row) { return row.first; });
}

DType precision_from(std::string_view wanted) {
  for (const auto& [name, dtype] : kPrecisions)
    if (name == wanted) return dtype;
  fail("train", Option{"precision"}, " must be float32 or bf16, got ", files::in_quotes(wanted), ".");
}

std::string word(DType dtype) {
  for (const auto& [name, known] : kPrecisions)
    if (known == dtype) return std::string(name);
  fail("train", Option{"precision"}, " must be float32 or bfloat16, got ", name(dtype), ".");
}

}  // namespace gradus::train
