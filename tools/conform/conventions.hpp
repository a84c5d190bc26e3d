// Where we differ from PyTorch on purpose. Private to conform.
#pragma once

#include <string_view>

#include "gradus/tools/conform/case.hpp"
#include "gradus/tools/conform/compare.hpp"

namespace gradus::tools::conformance {

struct Convention {
  std::string_view reason;
  bool (*applies)(const Case& c);
  bool (*pardons)(const Case& c, double got, double expected);
};

/// The one that applies to this case; null if none does.
const Convention* convention_of(const Case& c);

}  // namespace gradus::tools::conformance
