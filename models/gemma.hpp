// Declarations that gemma.cpp and stored/gemma.cpp share. Private to models.
#pragma once

#include <cstdint>

#include "gradus/models/decoder_config.hpp"

namespace gradus::models {

inline constexpr double kLocalTheta = 10000.0;  ///< rope_theta of blocks with a window; no scaling changes it

/// Whether the queries of a block see a window only.
bool has_window(const DecoderConfig& config, int64_t block);

}  // namespace gradus::models
