// Where gradus differs from PyTorch on purpose.
#pragma once

#include <string_view>

#include "gradus/tools/cases/read.hpp"

namespace gradus::cases {

struct Convention {
  std::string_view op, reason;
  bool (*applies)(const CallCase& c);
  bool (*pardons)(const CallCase& c, double got, double expected);
};

/// The convention that applies to this case; null if none does.
const Convention* convention_of(const CallCase& c);

}  // namespace gradus::cases
