// gradcheck of an operation of another program, which answers questions as lines of JSON: see
// docs/operations-and-gradient-checks.md. join_remote_full() gives it to `gradcheck --command`.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/cli/program/annexes.hpp"
#include "gradus/cli/program/process.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

using nlohmann::json;
using Tensors = std::vector<Tensor>;

/// A shell command that runs with its standard input and output connected to this object, for whose lifetime.
class Child {
 public:
  Child(const std::string& command, int64_t timeout_seconds) : seconds_(timeout_seconds) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw RunError("[gradcheck] the system must grant a socket, got: ", std::strerror(errno), ".");
    socket_ = ends[0];
    process_.emplace("gradcheck", std::vector<std::string>{"/bin/sh", "-c", command},
                     Process::Options{.in = ends[1], .out = ends[1]});
    ::close(ends[1]);
  }
  ~Child() { ::close(socket_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Writes the line, and returns the next line that the command writes.
  std::string ask(std::string line) {
    line += '\n';
    const auto deadline = Clock::now() + std::chrono::seconds(std::min<int64_t>(seconds_, 1'000'000'000));
    for (size_t sent = 0; sent < line.size();) {
      await(POLLOUT, deadline, "a command that does not read");
      const ssize_t n = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EINTR && errno != EAGAIN) break;  // it has ended: read what it has said
      sent += static_cast<size_t>(std::max<ssize_t>(n, 0));
    }
    size_t length;
    while ((length = unread_.find('\n')) == std::string::npos) {
      await(POLLIN, deadline, unread_.empty() ? "no answer" : "an answer without a line end");
      char buffer[1 << 16];
      const ssize_t n = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n > 0) unread_.append(buffer, static_cast<size_t>(n));
      if (unread_.size() > kLongestLine) refuse("a line of more than ", kLongestLine, " bytes");
      if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) continue;
      process_->send(SIGKILL);  // a process may close its output and run on
      refuse("a command that ended ", process_->wait().text());
    }
    std::string answer = unread_.substr(0, length);
    unread_.erase(0, length + 1);
    return answer;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kLongestLine = size_t{1} << 28;

  /// Waits until the command reads or writes; refuses what it did if that is not before the deadline.
  void await(short event, Clock::time_point deadline, const char* got) const {
    const int64_t left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd one{socket_, event, 0};
    if (left <= 0 ||
        ::poll(&one, 1, static_cast<int>(std::min<int64_t>(left, std::numeric_limits<int>::max()))) == 0)
      refuse(got);
  }

  [[noreturn]] void refuse(const auto&... got) const {
    throw RunError("[gradcheck] --command must answer each line within --timeout = ", seconds_, " s, got ",
                   got..., ".");
  }

  int64_t seconds_;
  int socket_ = -1;
  std::optional<Process> process_;
  std::string unread_;
};

/// Appends the numbers of a list, which may be nested, in their order. Returns whether there are only numbers
/// and nulls, which are NaN.
bool append_numbers(const json& list, std::vector<double>& numbers, int depth = 0) {
  if (list.is_array() && depth <= kMaxDims)
    return std::ranges::all_of(list,
                               [&](const json& item) { return append_numbers(item, numbers, depth + 1); });
  if (!list.is_number() && !list.is_null()) return false;
  numbers.push_back(list.is_null() ? std::numeric_limits<double>::quiet_NaN() : list.get<double>());
  return true;
}

json lists_of(const Tensors& tensors) {
  json lists = json::array();
  for (const Tensor& t : tensors) lists.push_back(t.to_vector<double>());
  return lists;
}

/// The operation of a command. Graphs of it must not outlive it.
class RemoteOp {
 public:
  RemoteOp(const std::string& command, int64_t timeout_seconds) : child_(command, timeout_seconds) {
    const json answer = ask({{"ask", "description"}});
    bool valid = true;
    const auto shape = [&](const json& sizes) {
      for (const json& size : sizes) valid = valid && size.is_number_integer();
      const Shape s(sizes.get<std::vector<int64_t>>());
      int64_t elements = 1;
      for (const int64_t n : s) {
        valid = valid && n >= 1 && n <= 1'000'000 / elements;
        if (valid) elements *= n;
      }
      return s;
    };
    try {
      name = answer.at("name").get<std::string>();
      valid = valid && answer.value("order", json(1)).is_number_integer();
      order = answer.value("order", 1);
      output_ = shape(answer.at("output"));
      for (const json& input : answer.at("inputs")) {
        const double low = input.value("low", -kInfinity), high = input.value("high", kInfinity);
        inputs_.push_back({shape(input.at("shape")), low, high});
        valid = valid && low < high && std::isfinite(low) == std::isfinite(high) &&
                std::isfinite(high - low) == std::isfinite(low);
        for (const auto& [key, of] : input.items())
          valid = valid && (key == "shape" || key == "low" || key == "high");
      }
    } catch (const std::exception&) {  // of the parser, or of Shape
      valid = false;
    }
    if (!valid || inputs_.empty() || (order != 1 && order != 2))
      refuse("an object with name, inputs with their shapes and bounds, output and order 1 or 2",
             answer.dump());
  }

  std::string name;
  int order = 1;

  /// A random point of the domain.
  Tensors point(Generator generator) const {
    Tensors x;
    for (const auto& [shape, low, high] : inputs_)
      x.push_back(std::isfinite(low) ? rand(shape, generator, DType::float64) * (high - low) + low
                                     : randn(shape, generator, DType::float64));
    return x;
  }

  Tensor operator()(const Tensors& x) {
    const Tensor y = tensors("value", {{"inputs", lists_of(x)}}, {output_})[0];
    return record(OpName::custom("command"), y, x,
                  JointRule([this, x](const Tensor& gy, Needs) { return gradient(x, gy); }));
  }

  /// The first failure of the command: gradcheck() takes one in a rule for a wrong gradient.
  std::exception_ptr failure;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr int kDeepest = 2 + kMaxDims;

  Tensors gradient(const Tensors& x, const Tensor& gy) {
    std::vector<Shape> shapes;
    for (const Tensor& t : x) shapes.push_back(t.shape());
    json question{{"inputs", lists_of(x)}, {"cotangent", gy.to_vector<double>()}};
    const Tensors gx = tensors("gradient", question, shapes);
    Tensors arguments = x;
    arguments.push_back(gy);
    shapes.push_back(gy.shape());
    return record_many(OpName::custom("command_gradient"), gx, arguments,
                       [=, this](const Tensors& directions, const Tensors&, Needs) mutable {
                         question["directions"] = lists_of(directions);
                         return tensors("second_gradient", question, shapes);
                       });
  }

  /// The tensors of these shapes that the command answers.
  Tensors tensors(const char* what, json question, const std::vector<Shape>& shapes) {
    question["ask"] = what;
    const json answer = ask(question);
    std::vector<double> numbers;
    const bool valid = append_numbers(answer.value(what, json(false)), numbers);
    auto begin = numbers.begin();
    Tensors found;
    for (const Shape& shape : shapes) {
      if (!valid || numbers.end() - begin < shape.numel()) break;
      found.push_back(tensor(std::vector<double>(begin, begin + shape.numel()), shape));
      begin += shape.numel();
    }
    if (found.size() < shapes.size() || begin != numbers.end())
      refuse(concat("an object with the key ", what, " and the numbers of ", joined(shapes)), answer.dump());
    return found;
  }

  json ask(const json& question) {
    if (failure) std::rethrow_exception(failure);
    try {
      const std::string line = child_.ask(question.dump());
      // Deeper values, which no answer has, are left out: copying and printing them recurses.
      const auto is_shallow = [](int depth, json::parse_event_t, const json&) { return depth <= kDeepest; };
      json answer = json::parse(line, is_shallow, /*allow_exceptions=*/false);
      if (!answer.is_object()) refuse("a JSON object, with null for NaN", line);
      return answer;
    } catch (const RunError&) {
      failure = std::current_exception();
      throw;
    }
  }

  [[noreturn]] void refuse(const std::string& must, const std::string& got) {
    const RunError error("[gradcheck] --command must answer ", must, ", got ", files::in_quotes(got, 100),
                         ".");
    failure = std::make_exception_ptr(error);
    throw error;
  }

  struct Input {
    Shape shape;
    double low, high;  ///< infinite: standard normal values
  };

  Child child_;
  std::vector<Input> inputs_;
  Shape output_;
};

RemoteReport check_command(const std::string& command, int64_t timeout_seconds, GradcheckOptions options) {
  RemoteOp op(command, timeout_seconds);
  options.order = std::min(options.order, op.order);
  const GradcheckFunction f = [&op](const Tensors& x) { return op(x); };
  GradcheckReport report = gradcheck(f, op.point(Generator(options.seed).stream("input")), options);
  if (op.failure) std::rethrow_exception(op.failure);
  return {op.name, options.order, std::move(report)};
}

}  // namespace

void join_remote_full(Annexes& annexes) { annexes.check_command = check_command; }

}  // namespace gradus::cli
