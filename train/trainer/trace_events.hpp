// Events of a rank in Chrome's JSON trace format. Thread-safe: no state.
#pragma once

#include <string>
#include <vector>

#include "gradus/autograd/graph/profile.hpp"
#include "gradus/train/trainer/communicator.hpp"

namespace gradus::train {

/// The events of a profile, and the messages of its steps, separated by ",\n": a process for each rank, with
/// a row for ops and waits and a row for messages.
std::string trace_events(const Profile& profile, const std::vector<Communication>& recorded, int rank);

}  // namespace gradus::train
