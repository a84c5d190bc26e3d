// An ensemble: decoders of one config, whose probabilities of the next token are averaged. Private to models.
#pragma once

#include <memory>

#include "gradus/models/decoder.hpp"

namespace gradus::models {

/// config.n_member decoders, named members.0 and so on. Logits are logarithms of mean probabilities.
std::unique_ptr<Backbone> make_ensemble(const DecoderConfig& config, Generator& init);

}  // namespace gradus::models
