// gradus watch: serves the page of runs on the loopback address.
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <signal.h>
#include <sys/socket.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/pages/report/report.hpp"

namespace gradus::cli {
namespace {

constexpr timeval kSecond{.tv_sec = 1, .tv_usec = 0};
constexpr int64_t kHeartbeat = 15;        // seconds
constexpr size_t kMostUnread = 64 << 10;  // bytes that a browser may leave unread
constexpr int kMostSeconds = 60;          // without progress of a connection
constexpr size_t kMostListeners = 1000;

void send(evhttp_request* request, int code, const std::string& type, const std::string& text) {
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", type.c_str());
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  evbuffer* const body = evbuffer_new();
  evbuffer_add(body, text.data(), text.size());
  evhttp_send_reply(request, code, nullptr, body);
  evbuffer_free(body);
}

void refuse(evhttp_request* request, int code, const std::string& why) {
  send(request, code, "text/plain; charset=utf-8", why + "\n");
}

/// A text in the quotes of a label.
std::string label(const std::string& text) {
  std::string quoted;
  for (const char c : text)
    quoted += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted;
}

/// The newest values of runs, as text in the format of OpenMetrics.
std::string open_metrics(const std::vector<pages::LoggedRun>& runs) {
  struct Row {
    const char *name, *help, *column;
    const pages::Columns& (pages::LoggedRun::*of)() const;
  };
  using pages::LoggedRun;
  constexpr Row kRows[] = {
      {"gradus_step", "Steps done", "step", &LoggedRun::steps},
      {"gradus_loss", "Training loss of the last step, nats a token", "loss", &LoggedRun::steps},
      {"gradus_learning_rate", "Learning rate of the last step", "lr", &LoggedRun::steps},
      {"gradus_gradient_norm", "Norm of the gradient before clipping", "grad_norm", &LoggedRun::steps},
      {"gradus_tokens_per_second", "Speed of the last step", "tokens_per_s", &LoggedRun::steps},
      {"gradus_elapsed_seconds", "Time since the first step", "elapsed_s", &LoggedRun::steps},
      {"gradus_validation_loss", "Last validation loss, nats a token", "val_loss", &LoggedRun::evaluations},
      {"gradus_peak_bytes", "Most memory used so far", "peak_bytes", &LoggedRun::evaluations},
  };
  std::string text;
  for (const Row& row : kRows) {
    text += concat("# TYPE ", row.name, " gauge\n# HELP ", row.name, " ", row.help, "\n");
    for (const LoggedRun& run : runs) {
      const pages::Columns& columns = (run.*row.of)();
      const auto column = columns.find(row.column);
      if (column == columns.end() || !std::isfinite(column->second.back())) continue;
      text += concat(row.name, "{run=\"", label(run.folder().string()), "\"} ", column->second.back(), "\n");
    }
  }
  return text + "# EOF\n";
}

/// The page of runs on the loopback address, which follows them while they go on. It only reads their files.
/// One thread.
class Server {
 public:
  /// Binds 127.0.0.1 to the port; 0: a free one. Throws Error if it is taken.
  Server(std::vector<pages::LoggedRun> runs, int64_t port)
      : runs_(std::move(runs)),
        base_(event_base_new(), event_base_free),
        http_(evhttp_new(base_.get()), evhttp_free) {
    evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET);
    evhttp_set_max_headers_size(http_.get(), 16 << 10);
    evhttp_set_max_body_size(http_.get(), 0);
    evhttp_set_timeout(http_.get(), kMostSeconds);
    evhttp_set_gencb(
        http_.get(), [](evhttp_request* request, void* self) { static_cast<Server*>(self)->answer(request); },
        this);
    evhttp_bound_socket* const socket =
        evhttp_bind_socket_with_handle(http_.get(), "127.0.0.1", static_cast<uint16_t>(port));
    if (!socket)
      fail("watch", "--port must be a free port, got ", port, ". Hint: --port 0 takes a free one.");
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(evhttp_bound_socket_get_fd(socket), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);

    const auto add = [&](int what, short kind, const timeval* when, event_callback_fn call) {
      events_.emplace_back(event_new(base_.get(), what, static_cast<short>(kind | EV_PERSIST), call, this),
                           event_free);
      event_add(events_.back().get(), when);
    };
    add(-1, 0, &kSecond, [](evutil_socket_t, short, void* self) { static_cast<Server*>(self)->look(); });
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      add(signal, EV_SIGNAL, nullptr, [](evutil_socket_t, short, void* self) {
        event_base_loopbreak(static_cast<Server*>(self)->base_.get());
      });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string url() const { return concat("http://127.0.0.1:", port_, "/"); }
  /// Answers requests until a signal ends it (SIGINT, SIGTERM or SIGHUP).
  void serve() { event_base_dispatch(base_.get()); }

 private:
  /// A browser that is told of changes.
  struct Listener {
    evhttp_request* request;
    int64_t silent_seconds = 0;
  };
  template <class T>
  using Freed = std::unique_ptr<T, std::function<void(T*)>>;

  void answer(evhttp_request* request) {
    // A page of another name that resolves to this machine may not read the answers (DNS rebinding).
    const char* const host = evhttp_find_header(evhttp_request_get_input_headers(request), "Host");
    const std::string own = concat(":", port_);
    if (!host || (host != "127.0.0.1" + own && host != "localhost" + own))
      return refuse(request, 403, concat("the host must be 127.0.0.1", own, " or localhost", own));
    const char* const path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
    const std::string where = path ? path : "";
    try {
      if (where == "/events") return listen(request);
      if (where == "/metrics")
        return send(request, 200, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                    open_metrics(runs_));
      if (where != "/" && where != "/data.json")
        return refuse(request, 404, "there is /, /data.json, /events and /metrics");
      if (json_.empty()) json_ = pages::report_json(runs_, /*is_live=*/true);
      if (where == "/data.json") return send(request, 200, "application/json", json_);
      send(request, 200, "text/html; charset=utf-8", pages::report_html(pages::report_title(runs_), json_));
    } catch (const std::exception& e) {
      refuse(request, 500, e.what());
    }
  }

  void listen(evhttp_request* request) {
    if (listeners_.size() >= kMostListeners) return refuse(request, 503, "too many browsers listen");
    evkeyvalq* const headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Content-Type", "text/event-stream");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_send_reply_start(request, 200, "OK");
    listeners_.push_back({request});
    evhttp_connection_set_closecb(
        evhttp_request_get_connection(request),
        [](evhttp_connection* connection, void* self) {
          static_cast<Server*>(self)->listeners_.remove_if(
              [&](const Listener& l) { return evhttp_request_get_connection(l.request) == connection; });
        },
        this);
  }

  /// Reads what the runs have written, and tells the listeners.
  void look() {
    bool changed = false;
    for (pages::LoggedRun& run : runs_) {
      try {
        changed = run.update() || changed;
      } catch (const std::exception& e) {
        std::cerr << "note: " << e.what() << std::endl;
      }
    }
    if (changed) json_.clear();
    for (auto next = listeners_.begin(); next != listeners_.end();) {
      Listener& listener = *next++;
      if (!changed && ++listener.silent_seconds < kHeartbeat) continue;
      if (!tell(listener, changed ? "event: changed\ndata:\n\n" : ":\n\n"))
        evhttp_connection_free(
            evhttp_request_get_connection(listener.request));  // removes it from listeners_
    }
  }

  bool tell(Listener& listener, const std::string& text) const {
    evhttp_connection* const connection = evhttp_request_get_connection(listener.request);
    evbuffer* const unread = bufferevent_get_output(evhttp_connection_get_bufferevent(connection));
    if (evbuffer_get_length(unread) > kMostUnread) return false;
    evbuffer* const body = evbuffer_new();
    evbuffer_add(body, text.data(), text.size());
    evhttp_send_reply_chunk(listener.request, body);
    evbuffer_free(body);
    listener.silent_seconds = 0;
    return true;
  }

  std::vector<pages::LoggedRun> runs_;
  std::list<Listener> listeners_;  // outlives http_, which removes those that are left
  Freed<event_base> base_;
  Freed<evhttp> http_;
  std::vector<Freed<event>> events_;  // the clock and the signals
  std::string json_;                  // of the last look(); empty: not made yet
  uint16_t port_ = 0;
};

struct WatchFlags {
  std::vector<std::string> runs;
  int64_t port = 6180;
};

int watch(const WatchFlags& flags) {
  Server server(pages::runs_of({flags.runs.begin(), flags.runs.end()}), flags.port);
  std::cout << server.url() << "  (Ctrl-C ends)" << std::endl;
  server.serve();
  return kDone;
}

}  // namespace

Action add_watch(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<WatchFlags>();
  add_argument(verb, "run", flags->runs, "FROM", "Run folders, or folders of sweeps or ensembles");
  add_value(verb, "--port", flags->port, "N", "Port of 127.0.0.1; 0 takes a free one", {0, 65535})
      ->capture_default_str();
  verb.footer(with_program(
      R"(Prints the address of the page of `report`, which then follows the runs: it changes within two
seconds. Only programs on this machine reach it. From another one: ssh -L 6180:127.0.0.1:6180.
/metrics has the newest values for Prometheus (OpenMetrics), /data.json what the page shows.

Examples:
  $ watch out/kjv-mini
  $ watch out/sweep --port 8000)",
      program));
  return {[flags] { return watch(*flags); }};
}

}  // namespace gradus::cli
