// Conformance: compares operations and their gradients with PyTorch's answers, case by case.
//
// The cases come from files; README.md of this folder has their format, and the intended differences of
// gradus. Reports are plain values. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::cases {

/// A difference in the first run of a case that differs.
struct ConformDifference {
  std::string run;      ///< "contiguous", "transposed", "stepped", "expanded" or "float32"
  std::string what;     ///< "outputs", "output 1", "grad x", "grad2 x", "grad2 of cotangent 0", "error"
  std::string message;  ///< on one line
};

struct ConformCase {
  std::string id, op, file;
  int64_t line = 0;
  std::vector<ConformDifference> differences;  ///< none if the case passed
  std::string convention;  ///< the reason if it passed although it differs from PyTorch; else empty

  bool passed() const { return differences.empty(); }
};

struct ConformReport {
  std::vector<ConformCase> cases;  ///< in the order of the files, which is that of their names

  int64_t passed() const;
  int64_t failed() const { return static_cast<int64_t>(cases.size()) - passed(); }
};

/// Runs the cases of a file, or of all *.jsonl of a folder, or only those of one operation. Each runs in
/// float64 on packed inputs and on inputs in other layouts, and in float32 against float64; a case with an
/// error must throw. Throws Error with file and line if a file cannot be read or is malformed or names an
/// unknown operation, and if there is no case to run.
ConformReport conform(const std::filesystem::path& where, std::string_view only_op = {});
/// The same for the text of a file, which errors call `file`; it may have no case.
ConformReport conform_text(std::string_view text, const std::string& file, std::string_view only_op = {});

// -- the layouts of inputs

/// Stored with the dimensions in reverse order.
Tensor transposed(const Tensor& x);
/// Every other element of a larger tensor, from the second on. The rest is NaN, or a number that is no index,
/// because no operation may read it.
Tensor stepped(const Tensor& x);
/// The first slice of x along its first dimension that is longer than 1, repeated without a copy; x itself if
/// there is no such dimension. The values differ from x's.
Tensor expanded(const Tensor& x);

}  // namespace gradus::cases
