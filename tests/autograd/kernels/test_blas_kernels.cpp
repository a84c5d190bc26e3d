// Choosing the kernels of OpenBLAS, which knows no processor that is newer than itself.
#include "gradus/autograd/kernels/blas/openblas.hpp"

#include "catch.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

extern "C" {
int openblas_get_num_threads(void) __attribute__((weak));
void openblas_set_num_threads(int threads) __attribute__((weak));
}

namespace gradus::kernels::test_blas_kernels {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

/// The variable, and the kernels, are as before when this goes.
class AsBefore {
 public:
  AsBefore() : kernels_(blas_kernels()) {
    if (const char* value = std::getenv(kVariable)) variable_ = value;
    ::unsetenv(kVariable);
  }
  ~AsBefore() {
    use_blas_kernels(kernels_);
    if (!variable_.empty()) ::setenv(kVariable, variable_.c_str(), 1);
  }
  AsBefore(const AsBefore&) = delete;
  AsBefore& operator=(const AsBefore&) = delete;

 private:
  std::string kernels_, variable_;
};

/// A product whose result is known, large enough for BLAS's kernels.
bool multiplies() {
  constexpr int64_t kN = 64;
  std::vector<float> a(kN * kN), b(kN * kN), c(kN * kN);
  for (int64_t i = 0; i < kN * kN; ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5);
  }
  gemm(Trans::no, Trans::no, kN, kN, kN, a.data(), kN, b.data(), kN, c.data(), kN);
  for (int64_t i = 0; i < kN; ++i)
    for (int64_t j = 0; j < kN; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kN; ++k) sum += a[i * kN + k] * b[k * kN + j];
      if (c[i * kN + j] != sum) return false;  // whole numbers, exact in any order
    }
  return true;
}

TEST_CASE("for every set of kernels and every level, the set that should multiply") {
  const std::vector<std::string> sse = {"Katmai",  "Coppermine",   "Northwood",  "Banias",    "Prescott",
                                        "Core2",   "Penryn",       "Dunnington", "Nehalem",   "Atom",
                                        "Nano",    "Athlon",       "Bobcat",     "Barcelona", "Opteron",
                                        "OPTERON", "Opteron_SSE3", "nehalem"};
  const std::vector<std::string> avx = {"Sandybridge", "Bulldozer", "Piledriver", "Steamroller", "Excavator"};
  const std::vector<std::string> avx2 = {"Haswell", "Zen"};
  const std::vector<std::string> best = {"SkylakeX", "Cooperlake", "SapphireRapids"};
  const std::vector<std::string> unknown = {"", "Unknown", "GraniteRapids", "armv8", "neoversev1"};
  const auto check = [](const std::vector<std::string>& sets, const std::array<std::string, 4>& wanted) {
    const std::array<std::string, 4> levels = {"base", "v2", "v3", "v4"};
    for (const std::string& set : sets)
      for (size_t i = 0; i < levels.size(); ++i) {
        CAPTURE(set, levels[i]);
        CHECK(better_blas_kernels(set, levels[i]) == wanted[i]);
      }
  };
  check(sse, {"", "", "Haswell", "SkylakeX"});
  check(avx, {"", "", "Haswell", "SkylakeX"});
  check(avx2, {"", "", "", "SkylakeX"});
  check(best, {"", "", "", ""});
  check(unknown, {"", "", "", ""});
}

TEST_CASE("an OpenBLAS that takes the machine for an old one is corrected, unless it was told so") {
  const AsBefore guard;
  CHECK(!use_blas_kernels("none such"));
  CHECK(multiplies());
  if (!use_blas_kernels("Prescott")) {  // BLAS has one set of kernels, or is another BLAS
    CHECK(choose_blas_kernels() == blas_kernels());
    return;
  }
  REQUIRE(blas_kernels() == "Prescott");
  CHECK(std::getenv(kVariable) == nullptr);
  CHECK(multiplies());

  ::setenv(kVariable, "Prescott", 1);
  CHECK(choose_blas_kernels() == "Prescott");
  CHECK(blas_kernels() == "Prescott");
  ::unsetenv(kVariable);

  const std::string_view better = better_blas_kernels("Prescott", isa_name(available_isas().front()));
  CHECK(choose_blas_kernels() == "Prescott");
  CHECK(blas_kernels() == (better.empty() ? "Prescott" : better));
  CHECK(std::getenv(kVariable) == nullptr);
  CHECK(multiplies());
}

TEST_CASE("nothing better is known than what multiplies") {
  if (std::getenv(kVariable)) {
    CHECK(blas_kernels() == blas_kernels_found());
  } else {
    CHECK(better_blas_kernels(blas_kernels(), isa_name(available_isas().front())).empty());
  }
}

TEST_CASE("products leave the number of BLAS's threads, and do not depend on it") {
  if (!openblas_get_num_threads || !openblas_set_num_threads) return;
  const int before = openblas_get_num_threads();
  constexpr int64_t kN = 256;
  std::vector<double> a(kN * kN);
  for (size_t i = 0; i < a.size(); ++i) a[i] = 1 / (1.0 + static_cast<double>(i % 97));
  std::vector<std::vector<double>> results;
  for (const int threads : {1, 2, 3}) {
    openblas_set_num_threads(threads);
    std::vector<double>& c = results.emplace_back(a.size());
    gemm(Trans::no, Trans::no, kN, kN, kN, a.data(), kN, a.data(), kN, c.data(), kN);
    CHECK(openblas_get_num_threads() == threads);
    CHECK(c == results[0]);
    const OneBlasThread one;
    const OneBlasThread nested;
    CHECK(openblas_get_num_threads() == 1);
  }
  openblas_set_num_threads(before);
}

}  // namespace gradus::kernels::test_blas_kernels
