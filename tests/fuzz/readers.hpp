// The readers of files that anybody may have written, each as a function of any bytes. What is refused is an
// Error; anything else that is thrown, and what does not come back as it was read, is a fault of ours.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::fuzz {

/// What a reader may not do, whatever the bytes.
class Fault : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

struct Reader {
  std::string_view name;  ///< also that of its folder in corpus/
  void (*read)(std::string_view bytes);
};

const std::vector<Reader>& readers();
/// The reader of that name. Throws std::out_of_range if there is none.
const Reader& reader(std::string_view name);

/// Reads the bytes and is content with an Error. Throws Fault, or what the reader threw.
void try_to_read(const Reader& reader, std::string_view bytes);

}  // namespace gradus::fuzz
