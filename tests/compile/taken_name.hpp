// Planted in own_names.cpp: the library takes a name that a program may have.
#pragma once

namespace gradus {
struct Block {};
}  // namespace gradus
