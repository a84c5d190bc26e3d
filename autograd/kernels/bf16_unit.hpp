// Which part of the processor makes products in bfloat16, chosen as the level is (level.hpp) and apart from
// it.
//
// Thread-safe once the unit is chosen.
#pragma once

#include <string_view>
#include <vector>

#include "gradus/autograd/kernels/bf16_kernel.hpp"

namespace gradus::kernels {

enum class Unit {
  widened,      ///< float32 multiply-adds, at the level in use: every machine has it
  avx512_bf16,  ///< VDPBF16PS
  amx           ///< TDPBF16PS
};

std::string_view unit_name(Unit unit);

/// The units that this machine has and this program was built for, best first. Asks Linux for leave to use
/// AMX, once.
std::vector<Unit> available_units();

/// At the start the best one, or the one that the environment variable GRADUS_UNIT names.
Unit unit_in_use();

/// For tests: use the unit of that name. Throws Error if it is not available.
void set_unit(std::string_view name);

/// The kernel of an available unit.
const Bf16Kernel& unit_kernel(Unit unit);

}  // namespace gradus::kernels
