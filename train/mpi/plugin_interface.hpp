// The function that each plug-in of MPI exports. Private to train/mpi.
#pragma once

#include "gradus/train/trainer/communicator.hpp"

namespace gradus::mpi {

inline constexpr int kPluginVersion = 2;
inline constexpr const char* kMakeCommunicator = "gradus_make_communicator";

/// Connects to the other ranks. Returns null for another version.
using MakeCommunicator = train::Communicator*(int version);

}  // namespace gradus::mpi
