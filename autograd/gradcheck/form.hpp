// What holds for every right rule, whatever its numbers: gradients of the right form, the same each time, in
// each layout and in proportion to the upstream gradient. Internal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/findings.hpp"
#include "gradus/autograd/gradcheck/function.hpp"

namespace gradus::gradchecking {

inline constexpr size_t kMostSingle = 8;  ///< more inputs are checked together, not one by one

/// A tensor in another layout, and a packed one of the same values.
struct Layout {
  std::string name;
  Tensor view, packed;
};

/// x with gaps between its elements along each dim, with dims exchanged in memory, at an offset; and its
/// first slices expanded along each dim, and along all.
std::vector<Layout> layouts(const Tensor& x);

/// Shapes, storage, repetition, a zero cotangent; at order 2 of the options, also that the formula recorded
/// under create_graph is the one used without it. Returns whether two calls gave the same values.
bool check_form(const Subject& subject, const GradcheckOptions& options, Generator& generator,
                Findings& findings);

/// The gradients g for a cotangent v of a function with checked input k, at order 2 all, in another layout.
using AtLayout = std::function<void(const Subject& there, size_t k, const std::string& layout,
                                    const Numbers& v, const std::vector<Tensor>& g)>;

/// The same numbers in another layout, of an input or of the upstream gradient, must give the same. `each` is
/// called for each layout of an input with its own numbers.
void check_layouts(const Subject& subject, const GradcheckOptions& options, Generator& generator,
                   Findings& findings, const AtLayout& each);

/// A gradient is linear in the upstream one, however large or small that is.
void check_upstream_sizes(const Subject& subject, Generator& generator, Findings& findings);

}  // namespace gradus::gradchecking
