#include "gradus/annexes/formats/foreign/readers.hpp"

namespace gradus::foreign {
namespace {

constexpr files::ForeignFormats kReaders{.open_checkpoint = open_checkpoint,
                                         .tokenizer_json = tokenizer_json,
                                         .tokenizer_pickle = tokenizer_pickle,
                                         .read_config = read_config,
                                         .config_of = config_of,
                                         .layout = layout};
[[maybe_unused]] const bool is_set = (files::set_foreign_formats(kReaders), true);

}  // namespace
}  // namespace gradus::foreign

// The linker takes this object, and with it the line above, into each program that links the library: CMake
// names this function to it.
extern "C" void gradus_foreign_formats() {}
