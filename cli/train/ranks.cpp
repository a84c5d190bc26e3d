#include "gradus/cli/train/ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/cli/program/process.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/mpi/mpi.hpp"
#include "gradus/train/train_json.hpp"

namespace gradus::cli {
namespace {

constexpr int kTag = 0;

template <class Isa>
void use_lowest(train::Communicator& ranks) {
  const std::vector<double> all = train::all_ranks(&ranks, static_cast<double>(kernels::isa_in_use<Isa>()));
  const auto lowest = static_cast<Isa>(*std::ranges::max_element(all));  // the best is the first
  if (lowest != kernels::isa_in_use<Isa>()) kernels::set_isa<Isa>(kernels::isa_name(lowest));
}

constexpr const char* kStarted = "GRADUS_RANKS_STARTED";  // by this program, whose --ranks they read again

int64_t number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::strtoll(text, nullptr, 10) : 0;
}

[[noreturn]] void start_ranks(int64_t count) {
  std::vector<std::string> words{"mpirun", "-n", std::to_string(count)};
  if (const char* const name = std::getenv("GRADUS_MPIRUN")) words[0] = name;
  // The mpirun of MPICH has none of these flags, and needs none.
  if (words[0].find("mpich") == std::string::npos)
    for (const char* word :
         {"--oversubscribe", "--bind-to", "none", "--mca", "odls_base_sigkill_timeout", "5"})
      words.emplace_back(word);
  if (::geteuid() == 0) {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  words.push_back(this_program());
  std::ifstream line("/proc/self/cmdline");
  std::string word;
  std::getline(line, word, '\0');
  while (std::getline(line, word, '\0')) words.push_back(word);
  ::setenv(kStarted, "1", 1);
  become(words);
  fail("ranks", "--ranks needs the program ", words[0],
       ", which cannot be started here. Hint: install the package openmpi-bin, or mpich.");
}

}  // namespace

std::unique_ptr<train::Communicator> join_ranks(int64_t count, int64_t threads) {
  if (std::getenv(kStarted)) count = 0;
  if (count > 0 && mpi::is_launched())
    fail("ranks", "--ranks must be left out under mpirun or another launcher, got ", count,
         ". Hint: the launcher's own flag, as in mpirun -n 4, is the number of ranks.");
  if (count > 0) start_ranks(count);
  std::unique_ptr<train::Communicator> ranks = mpi::connect();
  if (!ranks) return ranks;
  const int64_t here = std::max(number_of("OMPI_COMM_WORLD_LOCAL_SIZE"), number_of("MPI_LOCALNRANKS"));
  if (threads == 0 && here > 1) set_num_threads(static_cast<int>(std::max<int64_t>(1, num_threads() / here)));
  use_lowest<kernels::Level>(*ranks);
  use_lowest<kernels::Bf16Unit>(*ranks);
  return ranks;
}

std::string on_leader(train::Communicator* ranks, const std::function<std::string()>& f) {
  if (!ranks) return f();
  std::string text;
  std::exception_ptr error;
  if (ranks->rank() == 0) try {
      text = f();
    } catch (const std::exception& e) {
      error = std::current_exception();
      text = e.what();
    }
  const bool has_failed = train::all_ranks(ranks, error ? 1 : 0)[0] != 0;
  text.resize(static_cast<size_t>(train::all_ranks(ranks, static_cast<double>(text.size()))[0]));
  for (int other = 1; ranks->rank() == 0 && other < ranks->size(); ++other)
    ranks->send(other, kTag, text.data(), std::ssize(text));
  if (ranks->rank() > 0) ranks->receive(0, kTag, text.data(), std::ssize(text));
  ranks->wait();
  if (error) std::rethrow_exception(error);
  if (has_failed) throw Error(text);
  return text;
}

void compare_ranks(train::Communicator* ranks, const train::TrainConfig& config,
                   const std::string& text_sha256) {
  const std::pair<const char*, std::string> all[] = {{"version of gradus", GRADUS_VERSION},
                                                     {"BLAS kernels", kernels::blas_kernels()},
                                                     {"text", text_sha256},
                                                     {"settings", train::to_json(config)}};
  for (const auto& [what, own] : all) {
    const std::string leaders = on_leader(ranks, [&own = own] { return own; });
    if (leaders == own) continue;
    ranks->abort(
        concat("[ranks] all ranks must have the same ", what, ", got ",
               leaders.size() + own.size() > 200 ? "others" : concat(own, ", and on rank 0 ", leaders),
               ". Hint: start the same program with the same flags and texts on each machine; "
               "OPENBLAS_CORETYPE chooses BLAS kernels."));
  }
}

}  // namespace gradus::cli
