// StoredLayout: under which names and in which shapes a file keeps the parameters of a decoder. Private to
// models. Thread-safe: no state.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/models/decoder_config.hpp"

namespace gradus::models {

inline constexpr const char* kHead = "lm_head.weight";  ///< the output projection, in every architecture

/// A tensor of a file, and the parameter of which it is all or some rows.
struct StoredParameter {
  std::string name;            ///< in the file, without prefixes
  Shape shape;                 ///< in the file
  std::string parameter;       ///< of the decoder
  bool is_transposed = false;  ///< stored (in, out), where the parameter is (out, in)
  int64_t first_row = 0;       ///< of the parameter's rows
  bool is_vocab = false;       ///< whether rows stand for tokens
};

struct StoredLayout {
  std::vector<StoredParameter> parameters;
  std::string head = kHead;  ///< the name of the output projection, which a file may have though it is tied
};

/// Shapes of a file's tensors by such names.
using StoredShapes = std::map<std::string, Shape>;

}  // namespace gradus::models
