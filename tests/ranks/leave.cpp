// leave CASE: of three ranks one leaves or stops before it joins; the launcher must end all of them.
#include <signal.h>

#include <iostream>
#include <stdexcept>
#include <string_view>

#include "gradus/train/mpi/mpi.hpp"

namespace {

void run(std::string_view which) {
  if (which == "start" && gradus::mpi::launched_rank() == 1) ::raise(SIGSTOP);
  const auto ranks = gradus::mpi::connect();
  const int rank = ranks->rank();
  char byte = 0;
  const auto await = [&](int other) {
    ranks->receive(other, 0, &byte, 1);
    ranks->wait();
  };
  if (which == "leader" && rank > 0) await(0);
  if (which == "follower" && rank < 2) await(rank + 1);  // 2 leaves, 1 waits for it, and 0 for 1
  if (which == "failure") {
    if (rank != 1) await(1);
    ranks->receive(0, 0, &byte, 1);
    throw std::runtime_error("a failure with a message open");
  }
}

}  // namespace

int main(int, char** arguments) {
  try {
    run(arguments[1]);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
