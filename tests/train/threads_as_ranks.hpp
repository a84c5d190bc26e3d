// Ranks that are threads of one process, with messages in memory.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "gradus/autograd/graph/profile.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/trainer/communicator.hpp"

namespace gradus::train {

class ThreadsAsRanks {
 public:
  explicit ThreadsAsRanks(int size) : size_(size) {}

  /// Calls f(communicator) on a thread for each rank; rethrows what one threw.
  void run(const std::function<void(Communicator&)>& f) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> errors(static_cast<size_t>(size_));
    for (int r = 0; r < size_; ++r)
      threads.emplace_back([&, r] {
        try {
          Rank rank(*this, r);
          f(rank);
        } catch (...) {
          errors[static_cast<size_t>(r)] = std::current_exception();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }

  int64_t bytes() const { return bytes_; }  ///< sent in all

 private:
  using Key = std::tuple<int, int, int>;  // from, to, tag

  class Rank : public Communicator {
   public:
    Rank(ThreadsAsRanks& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return all_.size_; }
    void send(int to, int tag, const void* data, int64_t bytes) override {
      if (recorded_) recorded_->push_back({to, bytes, steady_nanoseconds(), steady_nanoseconds()});
      std::string copy(static_cast<const char*>(data), static_cast<size_t>(bytes));
      const std::lock_guard lock(all_.mutex_);
      all_.bytes_ += bytes;
      all_.messages_[{rank_, to, tag}].push(std::move(copy));
      all_.changed_.notify_all();
    }
    void receive(int from, int tag, void* data, int64_t bytes) override {
      wanted_.push_back({{from, rank_, tag}, data, bytes});
    }
    void record(std::vector<Communication>* into) override { recorded_ = into; }
    void wait() override {
      const int64_t start = steady_nanoseconds();
      std::unique_lock lock(all_.mutex_);
      for (const auto& [key, data, bytes] : wanted_) {
        std::queue<std::string>& queue = all_.messages_[key];
        if (!all_.changed_.wait_for(lock, std::chrono::seconds(60), [&] { return !queue.empty(); }))
          throw RunError("[ranks] rank ", std::get<0>(key), " must send, got nothing.");
        if (static_cast<int64_t>(queue.front().size()) != bytes)
          throw RunError("[ranks] a message must have ", bytes, " bytes, got ", queue.front().size(), ".");
        std::memcpy(data, queue.front().data(), queue.front().size());
        queue.pop();
      }
      wanted_.clear();
      if (recorded_) recorded_->push_back({.start = start, .end = steady_nanoseconds()});
    }
    [[noreturn]] void abort(const std::string& message) override { throw RunError(message); }

   private:
    struct Wanted {
      Key key;
      void* data;
      int64_t bytes;
    };
    ThreadsAsRanks& all_;
    int rank_;
    std::vector<Wanted> wanted_;
    std::vector<Communication>* recorded_ = nullptr;
  };

  int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::queue<std::string>> messages_;
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace gradus::train
