// Communicator: the processes that train one model together, and the messages between them. Trainer takes
// one; mpi::connect() makes that of MPI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::train {

/// A message that was sent, or a call of wait(), with times of std::chrono::steady_clock in nanoseconds.
struct Communication {
  int to = -1;        ///< rank; -1: a call of wait()
  int64_t bytes = 0;  ///< of the message
  int64_t start = 0;  ///< of send() or wait()
  int64_t end = 0;    ///< when the message had left, or wait() returned
};

/// One of `size()` processes, its rank. Messages from one rank to another with one tag arrive in order. One
/// thread at a time may call it.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;  ///< from 0; rank 0 leads: it alone writes files
  virtual int size() const = 0;  ///< number of ranks, at least 1

  /// Starts to send `bytes` bytes, which must stay as they are until wait(). Tags are from 0 to 2^20.
  virtual void send(int to, int tag, const void* data, int64_t bytes) = 0;
  /// Starts to receive `bytes` bytes, which must not be read before wait().
  virtual void receive(int from, int tag, void* data, int64_t bytes) = 0;
  /// Waits until all messages of this rank have been sent and received. Throws RunError, naming the rank, if
  /// one does not answer.
  virtual void wait() = 0;
  /// Adds what is sent and waited for from now on to `into`, which is borrowed until the next call; null
  /// stops it. Without an effect in a class that cannot tell.
  virtual void record(std::vector<Communication>* /*into*/) {}
  /// Ends all ranks at once after the message, which names the cause, was written to the standard error
  /// stream. Does not return.
  [[noreturn]] virtual void abort(const std::string& message) = 0;
};

/// Adds the numbers of all ranks, element by element. `ranks` may be null.
void add_ranks(Communicator* ranks, std::vector<double>& numbers);
/// The numbers of all ranks, by rank. `ranks` may be null.
std::vector<double> all_ranks(Communicator* ranks, double own);

}  // namespace gradus::train
