#include "catch.hpp"
#include "gradus/annexes/pages/report/paired_difference.hpp"

namespace test_paired_difference {

using namespace gradus::pages;
using Catch::Detail::Approx;

TEST_CASE("p of Student's t has the values of its tables") {
  struct Row {
    int64_t degrees;
    double t, p;
  };
  for (const Row& row : {Row{1, 12.706, 0.05},
                         {2, 4.303, 0.05},
                         {3, 3.182, 0.05},
                         {4, 2.776, 0.05},
                         {9, 2.262, 0.05},
                         {9, 3.250, 0.01},
                         {10, 2.228, 0.05},
                         {30, 2.042, 0.05},
                         {5, 0, 1}}) {
    INFO(row.degrees << " degrees, t " << row.t);
    CHECK(two_sided_p(row.t, row.degrees) == Approx(row.p).epsilon(1e-3));
    CHECK(two_sided_p(-row.t, row.degrees) == two_sided_p(row.t, row.degrees));
  }
}

TEST_CASE("pairs of runs have a difference, its error and its p") {
  const PairedDifference d = paired_difference({1.50, 1.52, 1.51}, {1.49, 1.50, 1.48});
  CHECK(d.mean == Approx(-0.02));
  CHECK(d.error == Approx(0.01 / std::sqrt(3.0)));
  CHECK(d.p == Approx(0.0742).epsilon(1e-2));  // t = 3.464 with 2 degrees
  CHECK(paired_difference({1, 2}, {1, 2}).p == 1);
  CHECK(paired_difference({1, 2}, {2, 3}).p == 0);
}

}  // namespace test_paired_difference
