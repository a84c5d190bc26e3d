// The plug-in: a Communicator on MPI. It is built once for each MPI, and depends on nothing else of gradus.
//
// One thread makes all calls of MPI (MPI_THREAD_FUNNELED). It waits politely: it tests its requests, then
// sleeps for 1 ms, or 20 to 200 us while another thread waits, because MPI's own waiting would take a core
// from the computation. Each half second it exchanges a beat with rank 0, or as rank 0 with all, so that a
// rank that was stopped or has lost its machine is found while others wait for it. Its last beat goes to all.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gradus/train/mpi/plugin_interface.hpp"

namespace gradus::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int64_t kMostBytes = int64_t{1} << 30;  // of one message of MPI
constexpr microseconds kShortest{20}, kLongest{200}, kRelaxed{1000}, kIdle{5000};
constexpr auto kBeat = std::chrono::milliseconds(500), kLook = std::chrono::milliseconds(5);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

double silence_allowed() {
  const char* const text = std::getenv("GRADUS_MPI_TIMEOUT");  // connect() has checked it
  return text ? std::atof(text) : 30;
}

void print(const std::string& message) {
  const std::string line = "gradus: " + message + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

/// Prints `message` and ends this process, unless the object ends within the seconds: a collective call of
/// MPI waits for ever for a rank that has stopped. The launcher then ends the others.
class Deadline {
 public:
  Deadline(double seconds, std::string message)
      : thread_([seconds, message = std::move(message)](const std::stop_token& done) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any stopped;
          stopped.wait_for(lock, done, std::chrono::duration<double>(seconds), [] { return false; });
          if (done.stop_requested()) return;
          print(message);
          ::_exit(1);
        }) {}

 private:
  std::jthread thread_;
};

/// Another rank, as the beats show it.
struct Peer {
  int rank = 0;
  bool beats = false;  // else it sends the last beat only
  std::string host;
  Clock::time_point heard = Clock::now();
  char in = 0, out = 0;
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  bool has_left = false;
};

class MpiCommunicator final : public train::Communicator {
 public:
  MpiCommunicator() : thread_([this] { serve(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return size_ > 0; });
  }
  ~MpiCommunicator() override {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
      // After an error others may still wait for this rank: the launcher ends them when this process ends.
      is_orderly_ = std::uncaught_exceptions() == 0;
    }
    work_.notify_all();
    thread_.join();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, int tag, const void* data, int64_t bytes) override {
    post({true, to, tag, static_cast<char*>(const_cast<void*>(data)), bytes});
  }
  void receive(int from, int tag, void* data, int64_t bytes) override {
    post({false, from, tag, static_cast<char*>(data), bytes});
  }
  void wait() override {
    const int64_t start = now();
    std::unique_lock lock(mutex_);
    is_waiting_ = true;
    work_.notify_all();
    changed_.wait(lock, [&] { return pending_ == 0; });
    is_waiting_ = false;
    if (recorded_) recorded_->push_back({.start = start, .end = now()});
  }
  void record(std::vector<train::Communication>* into) override {
    const std::lock_guard lock(mutex_);
    recorded_ = into;
  }
  [[noreturn]] void abort(const std::string& message) override {
    {
      const std::lock_guard lock(mutex_);
      last_words_ = "rank " + std::to_string(rank_) + ": " + message;
    }
    work_.notify_all();
    std::this_thread::sleep_for(std::chrono::seconds(5));
    ::_exit(1);  // The thread did not come back from MPI.
  }

 private:
  struct Message {
    bool is_sent;
    int other, tag;
    char* data;
    int64_t bytes;
    int64_t start = now();
  };

  void post(const Message& message) {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(message);
      ++pending_;
    }
    work_.notify_all();
  }

  [[noreturn]] static void end_all(const std::string& message) {
    print(message);
    // MPI_Abort may end the launcher before it has passed the line on.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    // The mpirun of Open MPI does not answer while it ends the others.
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      ::_exit(1);
    }).detach();
    MPI_Abort(MPI_COMM_WORLD, 1);
    ::_exit(1);
  }

  void check(int code, int other) const {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    end_all("[mpi] messages with rank " + std::to_string(other) + " must arrive, got '" + text +
            "'. The last checkpoint is whole, and can be resumed.");
  }

  void serve() {
    start();
    microseconds pause = kShortest;
    while (!is_over()) {
      bool moved = start_messages();
      moved |= finish_messages();
      beat();
      std::unique_lock lock(mutex_);
      pause = requests_.empty() ? kIdle
              : !is_waiting_    ? kRelaxed
              : moved           ? kShortest
                                : std::min(2 * pause, kLongest);
      if (!moved || !is_waiting_)
        work_.wait_for(lock, pause, [&] {
          return !posted_.empty() || leaving_ || !last_words_.empty() || (is_waiting_ && pause > kLongest);
        });
    }
    if (is_orderly_) leave();
  }

  void start() {
    int provided = 0, rank = 0, size = 0;
    const Deadline deadline(silence_allowed_, "[mpi] all ranks must start, got no answer of some for " +
                                                  seconds_allowed() +
                                                  ". Hint: GRADUS_MPI_TIMEOUT=SECONDS waits longer.");
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED)
      end_all(
          "[mpi] MPI must allow calls from a thread (MPI_THREAD_FUNNELED), got a library without threads.");
    MPI_Comm_dup(MPI_COMM_WORLD, &beats_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(beats_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    constexpr int kName = 256;
    std::vector<char> hosts(static_cast<size_t>(kName) * static_cast<size_t>(size));
    char own[kName] = {};
    ::gethostname(own, sizeof own - 1);
    MPI_Allgather(own, kName, MPI_CHAR, hosts.data(), kName, MPI_CHAR, MPI_COMM_WORLD);
    for (int other = 0; other < size; ++other)
      if (other != rank)
        peers_.push_back({.rank = other,
                          .beats = rank == 0 || other == 0,
                          .host = &hosts[static_cast<size_t>(other) * kName]});
    for (Peer& peer : peers_) MPI_Irecv(&peer.in, 1, MPI_CHAR, peer.rank, 0, beats_, &peer.receive);
    {
      const std::lock_guard lock(mutex_);
      rank_ = rank;
      size_ = size;
    }
    changed_.notify_all();
  }

  std::string seconds_allowed() const { return std::to_string(static_cast<int>(silence_allowed_)) + " s"; }

  bool is_over() {
    const std::lock_guard lock(mutex_);
    if (!last_words_.empty()) end_all(last_words_);
    return leaving_ && (pending_ == 0 || !is_orderly_);
  }

  bool start_messages() {
    std::deque<Message> messages;
    {
      const std::lock_guard lock(mutex_);
      messages.swap(posted_);
    }
    for (const Message& message : messages) {
      int64_t at = 0;
      int parts = 0;
      do {
        const int bytes = static_cast<int>(std::min(kMostBytes, message.bytes - at));
        MPI_Request request = MPI_REQUEST_NULL;
        check(message.is_sent ? MPI_Isend(message.data + at, bytes, MPI_BYTE, message.other, message.tag,
                                          MPI_COMM_WORLD, &request)
                              : MPI_Irecv(message.data + at, bytes, MPI_BYTE, message.other, message.tag,
                                          MPI_COMM_WORLD, &request),
              message.other);
        requests_.push_back(request);
        open_.push_back({message.is_sent, message.other, message.tag, nullptr, bytes, message.start});
        at += bytes;
        ++parts;
      } while (at < message.bytes);
      const std::lock_guard lock(mutex_);
      pending_ += parts - 1;
    }
    return !messages.empty();
  }

  bool finish_messages() {
    if (requests_.empty()) return false;
    const int count = static_cast<int>(requests_.size());
    std::vector<int> done(requests_.size());
    std::vector<MPI_Status> statuses(requests_.size());
    int number = 0;
    const int code = MPI_Testsome(count, requests_.data(), &number, done.data(), statuses.data());
    if (number == MPI_UNDEFINED || number <= 0) {
      if (code != MPI_ERR_IN_STATUS) check(code, open_.front().other);
      return false;
    }
    for (int i = 0; i < number; ++i)
      if (code == MPI_ERR_IN_STATUS)
        check(statuses[static_cast<size_t>(i)].MPI_ERROR,
              open_[static_cast<size_t>(done[static_cast<size_t>(i)])].other);
    const std::lock_guard lock(mutex_);
    for (int i = 0; recorded_ && i < number; ++i) {
      const Message& one = open_[static_cast<size_t>(done[static_cast<size_t>(i)])];
      if (one.is_sent) recorded_->push_back({one.other, one.bytes, one.start, now()});
    }
    size_t kept = 0;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      open_[kept] = open_[i];
      requests_[kept++] = requests_[i];
    }
    requests_.resize(kept);
    open_.resize(kept, Message{});
    pending_ -= number;
    if (pending_ == 0) changed_.notify_all();
    return true;
  }

  void beat(bool is_last = false) {
    const Clock::time_point time = Clock::now();
    if (!is_last && time - looked_ < kLook) return;
    if (time - looked_ > std::chrono::seconds(1))  // This rank was stopped; beats may lie there unread.
      for (Peer& peer : peers_) peer.heard = time;
    looked_ = time;
    const bool is_time = is_last || time - beat_ >= kBeat;
    if (is_time) beat_ = time;
    for (Peer& peer : peers_) {
      int done = 0;
      if (!peer.has_left) {
        check(MPI_Test(&peer.receive, &done, MPI_STATUS_IGNORE), peer.rank);
        if (done) {
          peer.heard = Clock::now();
          peer.has_left = peer.in != 0;
          if (!peer.has_left)
            check(MPI_Irecv(&peer.in, 1, MPI_CHAR, peer.rank, 0, beats_, &peer.receive), peer.rank);
        }
      }
      // A rank that has left while this one waits for it will never answer.
      const bool is_waited_for =
          std::any_of(open_.begin(), open_.end(), [&](const Message& one) { return one.other == peer.rank; });
      if ((peer.has_left ? is_waited_for : peer.beats) && seconds_since(peer.heard) > silence_allowed_)
        end_all("[mpi] rank " + std::to_string(peer.rank) + " on " + peer.host +
                " must answer, got nothing for " + seconds_allowed() +
                ". The last checkpoint is whole, and can be resumed.");
      if (!is_last && !(is_time && peer.beats)) continue;
      check(MPI_Test(&peer.send, &done, MPI_STATUS_IGNORE), peer.rank);
      if (!done) continue;  // the last beat is still on its way
      peer.out = is_last ? 1 : 0;
      check(MPI_Isend(&peer.out, 1, MPI_CHAR, peer.rank, 0, beats_, &peer.send), peer.rank);
    }
  }

  /// Waits for the last beats of the others, so that nobody misses a rank that has left.
  void leave() {
    const auto wait_until_all = [&](auto&& is_done) {
      while (!std::all_of(peers_.begin(), peers_.end(), is_done)) {
        beat_ = Clock::now();  // sends no more
        beat();
        std::this_thread::sleep_for(kLongest);
      }
    };
    const auto is_sent = [&](Peer& peer) {
      int done = 0;
      check(MPI_Test(&peer.send, &done, MPI_STATUS_IGNORE), peer.rank);
      return done != 0;
    };
    wait_until_all(is_sent);
    beat(/*is_last=*/true);
    wait_until_all([](const Peer& peer) { return peer.has_left; });
    wait_until_all(is_sent);
    const Deadline deadline(silence_allowed_,
                            "[mpi] the launcher must answer at the end of the run, got nothing for " +
                                seconds_allowed() + ". What the run saved is whole.");
    MPI_Comm_free(&beats_);
    MPI_Finalize();
  }

  std::mutex mutex_;
  std::condition_variable changed_, work_;
  int rank_ = 0, size_ = 0;     // size_ is 0 until the thread has asked MPI
  std::deque<Message> posted_;  // not yet given to MPI
  int64_t pending_ = 0;         // messages that are not done
  bool is_waiting_ = false, leaving_ = false, is_orderly_ = true;
  std::string last_words_;
  std::vector<train::Communication>* recorded_ = nullptr;

  // The thread's own.
  std::vector<MPI_Request> requests_;
  std::vector<Message> open_;  // of each request
  std::vector<Peer> peers_;
  MPI_Comm beats_ = MPI_COMM_NULL;
  Clock::time_point beat_ = Clock::now(), looked_ = beat_;
  const double silence_allowed_ = silence_allowed();
  std::thread thread_;  // last: it uses all of these
};

}  // namespace
}  // namespace gradus::mpi

extern "C" [[gnu::visibility("default")]] gradus::train::Communicator* gradus_make_communicator(int version) {
  return version == gradus::mpi::kPluginVersion ? new gradus::mpi::MpiCommunicator : nullptr;
}
