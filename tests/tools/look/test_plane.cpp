// The plane of principal components, against NumPy's singular values: u * s of numpy.linalg.svd(x -
// x.mean(0)).
#include "gradus/tools/look/look.hpp"

#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::test_plane {

void check_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= tolerance);
}

TEST_CASE("the plane has the coordinates that NumPy computes") {
  const Tensor x =
      tensor(std::vector<double>{1,   2,   0.5,  -1,   0.3, -1.2, 2,    0.7, -2,   0.4, 1.5, 1,
                                 0.9, 1.1, -0.6, -1.8, 1.4, -0.5, -2.2, 0.2, -0.7, 2.3, 0.8, 1.6},
             {6, 4});
  const look::Plane plane = look::principal_plane(x);
  check_near(plane.x,
             {-0.9076612445633143, 1.289929715623019, 2.4276670863227254, -1.9719615989283088,
              -2.360261925693841, 1.5222879672397183},
             1e-12);
  check_near(plane.y,
             {-1.4400648149206037, 1.8664234636409234, 0.15898323848114598, -0.701897255635122,
              1.4583585300169848, -1.3418031615833295},
             1e-12);
  check_near({plane.variance.begin(), plane.variance.end()}, {0.5349121573271834, 0.26542401408772964},
             1e-12);
}

TEST_CASE("the plane of close singular values keeps the distances within it") {
  // Two directions, whose variances differ by a thousandth: rows (c, 0), (-c, 0), (0, d), (0, -d).
  const double c = 2, d = 2 * std::sqrt(0.999);
  const look::Plane plane =
      look::principal_plane(tensor(std::vector<double>{c, 0, -c, 0, 0, d, 0, -d}, {4, 2}));
  check_near(plane.x, {c, -c, 0, 0}, 1e-10);
  check_near(plane.y, {0, 0, d, -d}, 1e-10);
}

TEST_CASE("points that do not vary have the plane 0") {
  const look::Plane line = look::principal_plane(tensor(std::vector<double>{1, 1, 2, 2, 3, 3}, {3, 2}));
  check_near(line.x, {std::sqrt(2.0), 0, -std::sqrt(2.0)}, 1e-12);
  check_near(line.y, {0, 0, 0}, 0);
  const look::Plane one = look::principal_plane(tensor(std::vector<double>{5, 7}, {1, 2}));
  check_near(one.x, {0}, 0);
  check_near({one.variance.begin(), one.variance.end()}, {0, 0}, 0);
}

}  // namespace gradus::test_plane
