// The ranks of MPI, as a Communicator.
//
// The library does not depend on MPI. connect() loads a plug-in for the MPI that started the process:
// libgradus_mpi.so for Open MPI, libgradus_mpich.so for MPICH. Set the environment variable
// GRADUS_MPI_PLUGINS to the folder of the plug-ins, if they are neither beside the program, nor in
// ../lib/gradus, nor where the system's loader looks.
#pragma once

#include <memory>

#include "gradus/train/trainer/communicator.hpp"

namespace gradus::mpi {

/// Whether a launcher of MPI started this process, by its environment variables.
bool is_launched();
/// The rank that the launcher gave to this process; 0 without a launcher.
int launched_rank();

/// All processes that the launcher started; null without a launcher. Call it once, and destroy the result on
/// all ranks before the processes end. A rank that does not answer for GRADUS_MPI_TIMEOUT seconds (an
/// environment variable; at least 1, 30 by default) ends all ranks, with one line that names it. Throws Error
/// if the plug-in is missing, or the launcher belongs to another MPI.
std::unique_ptr<train::Communicator> connect();

}  // namespace gradus::mpi
