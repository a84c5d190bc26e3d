// The lessons, each in the file of its name.
#pragma once

#include "gradus/tools/lessons/lessons.hpp"

namespace gradus::tools {

extern const Lesson kCausalSelfAttention;
extern const Lesson kTwoMasks;
extern const Lesson kMaskedSelfAttention;
extern const Lesson kUnscaledAttention;
extern const Lesson kAttentionChapter;
extern const Lesson kStackedHeads;

}  // namespace gradus::tools
