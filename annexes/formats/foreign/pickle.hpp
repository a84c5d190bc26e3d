// Pickles as torch.save writes them (protocol 2), from any source; also plain dictionaries of protocol 4,
// such as nanoGPT's meta.pkl. The reader runs no code: it knows the opcodes of plain values and a closed list
// of callables, those of dictionaries and of PyTorch's tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::foreign {

/// A tensor of PyTorch. Another file has its values.
struct PickledTensor {
  std::string dtype;                    ///< as safetensors names it: F32, BF16, ...
  std::string storage;                  ///< the key of its storage
  int64_t numel = 0;                    ///< of the storage
  int64_t offset = 0;                   ///< of the first element in the storage
  std::vector<int64_t> shape, strides;  ///< in elements, of equal length
};

/// The content of nested dictionaries and lists. Names are the keys on the way, joined by points.
struct Pickle {
  std::map<std::string, PickledTensor> tensors;
  /// Other values, as in JSON; texts without quotes.
  std::map<std::string, std::string> values;
  /// The beginning of the names of a model's tensors: "model.", "model_state_dict." or "state_dict." if the
  /// outermost dictionary has a dictionary of that name with tensors in it, else "".
  std::string state;
};

/// Throws Error, naming `file`, for other opcodes, for other callables by their names, and for a pickle that
/// is damaged, nested deeper than 64 levels or larger than 16 MB, or whose result is many times its size.
/// Takes at most 20 bytes of memory for each byte of the pickle, and a few megabytes.
Pickle read_pickle(std::string_view bytes, const std::string& file);

}  // namespace gradus::foreign
