// Server: the page of runs on the loopback address, which follows them while they go on. It only reads their
// files. One thread.
#pragma once

#include <event2/event.h>
#include <event2/http.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "gradus/tools/pages/report/logged_run.hpp"

namespace gradus::cli {

class Server {
 public:
  /// Binds 127.0.0.1 to the port; 0: a free one. Throws Error if it is taken.
  Server(std::vector<pages::LoggedRun> runs, int64_t port);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string url() const;
  /// Answers requests until a signal ends it (SIGINT, SIGTERM or SIGHUP).
  void serve();

 private:
  /// A browser that is told of changes.
  struct Listener {
    evhttp_request* request;
    int64_t silent_seconds = 0;
  };
  template <class T>
  using Freed = std::unique_ptr<T, std::function<void(T*)>>;

  void answer(evhttp_request* request);
  void listen(evhttp_request* request);
  /// Reads what the runs have written, and tells the listeners.
  void look();
  bool tell(Listener& listener, const std::string& text) const;

  std::vector<pages::LoggedRun> runs_;
  std::list<Listener> listeners_;  // outlives http_, which removes those that are left
  Freed<event_base> base_;
  Freed<evhttp> http_;
  std::vector<Freed<event>> events_;  // the clock and the signals
  std::string json_;                  // of the last look(); empty: not made yet
  uint16_t port_ = 0;
};

/// The newest values of runs, as text in the format of OpenMetrics.
std::string open_metrics(const std::vector<pages::LoggedRun>& runs);

}  // namespace gradus::cli
