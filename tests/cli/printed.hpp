// Prints of float32 numbers, ours beside a notebook's.
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::testing {

/// Whether a multiply-add rounds once, as where the notebooks were printed; else the last digit may differ.
inline bool has_fma() {
#ifdef __ARM_FEATURE_FMA
  return true;
#else
  const char* chosen = std::getenv("GRADUS_LEVEL");
  const std::string_view level =
      chosen ? std::string_view(chosen) : kernels::isa_name(kernels::available_isas().front());
  return level == "v3" || level == "v4";
#endif
}

/// A text taken apart: its numbers, and what stands around them but blanks.
struct Printed {
  explicit Printed(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
      if (digit || (text[i] == '-' && i + 1 < text.size() && text[i + 1] != 'i')) {
        size_t length = 0;
        try {
          numbers.push_back(std::stod(std::string(text.substr(i)), &length));
        } catch (const std::invalid_argument&) {
        }
        if (length > 0) {
          i += length;
          words += '#';
          continue;
        }
      }
      if (text[i] != ' ') words += text[i];
      ++i;
    }
  }
  std::vector<double> numbers;
  std::string words;
};

/// Whether a machine may print `ours` where another printed `theirs`: the same to the last character; where
/// multiply-adds round twice, each number within the four roundings of a sum; a softmax of them has more.
inline bool same_print(std::string_view ours, std::string_view theirs) {
  if (ours == theirs) return true;
  if (has_fma()) return false;
  const Printed a(ours), b(theirs);
  if (a.words != b.words || a.numbers.size() != b.numbers.size()) return false;
  for (size_t i = 0; i < a.numbers.size(); ++i) {
    const double rounding = std::ldexp(std::max(std::abs(b.numbers[i]), 0.125), -24);
    if (!(std::abs(a.numbers[i] - b.numbers[i]) <= 4 * rounding + 1e-8)) return false;
  }
  return true;
}

}  // namespace gradus::testing
