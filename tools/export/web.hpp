// A trained decoder as a page that any browser opens, from a disk or a server, and that writes text by
// itself:
//
//   index.html     the page, with its style and its scripts (web/)
//   model-data.js  what the model is: config, tokenizer, names and shapes
//   weights-N.js   its numbers, float32 in base64, in files of some 32 MB
//
// Scripts, for a page on a disk may load those, but read no other file. Thread-safe: no state.
#pragma once

#include <filesystem>
#include <string>

#include "gradus/train/decoder.hpp"

namespace gradus::exports {

/// Writes the files into a folder that is there. `name` is the page's title. Throws RunError if the disk
/// refuses.
void write_web(const train::TrainedModel& trained, const std::string& name,
               const std::filesystem::path& folder);

}  // namespace gradus::exports
