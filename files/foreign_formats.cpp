#include "gradus/files/foreign_formats.hpp"

#include <type_traits>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::files {
namespace {

constinit std::add_pointer_t<void()> when_missing = nullptr;

}  // namespace

void on_missing_format(void (*act)()) { when_missing = act; }

void refuse_format(std::string_view op, const std::string& what) {
  if (when_missing) when_missing();
  fail(op, plain(what), " needs a build with GRADUS_FORMATS=ON, got one with GRADUS_FORMATS=OFF.");
}

}  // namespace gradus::files
