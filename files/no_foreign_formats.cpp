// Defines empty tables for programs without the annex `formats` (annexes/formats/CMakeLists.txt).
#include "gradus/files/foreign_formats.hpp"

namespace gradus::files {
namespace {

constexpr ForeignTensors kTensors;
constexpr ForeignTokenizers kTokenizers;
constexpr ForeignModels kModels;

}  // namespace

const ForeignTensors& foreign_tensors() { return kTensors; }
const ForeignTokenizers& foreign_tokenizers() { return kTokenizers; }
const ForeignModels& foreign_models() { return kModels; }

}  // namespace gradus::files
