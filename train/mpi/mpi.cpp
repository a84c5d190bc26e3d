#include "gradus/train/mpi/mpi.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/train/mpi/plugin_interface.hpp"

namespace gradus::mpi {
namespace {

namespace fs = std::filesystem;

/// A launcher, known by its environment variables.
struct Launcher {
  const char *name, *plugin, *package;
  const char *size, *rank;  // environment variables
};

constexpr Launcher kLaunchers[] = {
    {"Open MPI", "libgradus_mpi.so", "libopenmpi-dev", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"MPICH", "libgradus_mpich.so", "libmpich-dev", "PMI_SIZE", "PMI_RANK"},
    {"Open MPI", "libgradus_mpi.so", "libopenmpi-dev", "SLURM_NTASKS", "PMIX_RANK"},  // srun --mpi=pmix
};

const Launcher* launcher() {
  for (const Launcher& one : kLaunchers)
    if (std::getenv(one.rank)) return &one;
  return nullptr;
}

void* load(const Launcher& by) {
  std::vector<fs::path> paths;
  if (const char* const folder = std::getenv("GRADUS_MPI_PLUGINS"))
    paths.push_back(fs::path(folder) / by.plugin);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (program.is_absolute()) {  // else a folder below the current one would be asked
    paths.push_back(program / by.plugin);
    paths.push_back(program / ".." / "lib" / "gradus" / by.plugin);
  }
  paths.emplace_back(by.plugin);
  std::string why;
  for (const fs::path& path : paths) {
    if (path.has_parent_path() && !fs::exists(path, ignored)) continue;
    // Open MPI's own plug-ins expect its names to be global.
    if (void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
    why = ::dlerror();
  }
  fail("mpi", "the launcher of ", by.name, " needs the plug-in ", by.plugin,
       ", which could not be loaded: ", why, ". Hint: install the package gradus-mpi, or build gradus with ",
       by.package, ".");
}

}  // namespace

bool is_launched() { return launcher() != nullptr; }

int launched_rank() {
  const Launcher* const by = launcher();
  const char* const rank = by ? std::getenv(by->rank) : nullptr;
  return rank ? std::atoi(rank) : 0;
}

std::unique_ptr<train::Communicator> connect() {
  const Launcher* const by = launcher();
  if (!by) return nullptr;
  if (const char* const text = std::getenv("GRADUS_MPI_TIMEOUT")) {
    char* end = nullptr;
    if (!(std::strtod(text, &end) >= 1) || *end != '\0')
      fail("mpi", "GRADUS_MPI_TIMEOUT must be seconds, at least 1, got '", text, "'.");
  }
  const auto make = reinterpret_cast<MakeCommunicator*>(::dlsym(load(*by), kMakeCommunicator));
  if (!make) fail("mpi", by->plugin, " must be a plug-in of gradus, got another library.");
  std::unique_ptr<train::Communicator> ranks(make(kPluginVersion));
  if (!ranks)
    fail("mpi", by->plugin,
         " must be of this version of gradus. Hint: install both packages in one version.");
  if (const char* const started = std::getenv(by->size); started && ranks->size() != std::atoi(started))
    fail("mpi", "the launcher must be that of ", by->name, ", which has ", ranks->size(),
         " ranks here, got one ", "that started ", started,
         ". Hint: `mpirun.openmpi` and `mpirun.mpich` are the launchers.");
  return ranks;
}

}  // namespace gradus::mpi
