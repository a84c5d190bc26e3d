// Errors. Every message reads `[op] what must hold, got <values>. Hint: <what to do>.` on one line.
// Thread-safe.
#pragma once

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gradus {

/// The concatenated parts, formatted by an output stream.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// The name of an option in a message. what() shows it in `backquotes`; the command line shows its flag.
struct Option {
  std::string_view name;  ///< its C++ name: min_lr
};

/// An invalid request: wrong shapes, dtypes, values or files. The command line exits with 2.
class Error : public std::runtime_error {
 public:
  /// The message consists of the parts, which may be Options; another Error may come first.
  template <class... Parts>
  explicit Error(const Parts&... parts) : Error(Message().add(parts...)) {}

  /// what(), with shown(name) instead of `name` for each Option.
  std::string message(const std::function<std::string(std::string_view)>& shown) const {
    const std::string_view text = what();
    std::string result;
    size_t end = 0;
    for (const auto& [begin, size] : options_) {
      result.append(text, end, begin - end).append(shown(text.substr(begin + 1, size - 2)));
      end = begin + size;
    }
    return result.append(text, end);
  }

 private:
  /// Place and size of each option in the text, backquotes included.
  using Places = std::vector<std::pair<size_t, size_t>>;

  /// The parts so far. Its functions are not inlined: there are a thousand messages.
  struct Message {
    std::ostringstream text;
    Places options;

    [[gnu::noinline]] Message() {}
    [[gnu::noinline]] ~Message() {}
    [[gnu::noinline]] void write(const Option& option) {
      options.emplace_back(static_cast<size_t>(text.tellp()), option.name.size() + 2);
      text << '`' << option.name << '`';
    }
    [[gnu::noinline]] void write_error(const Error& error) {
      options = error.options_;
      text << error.what();
    }
    template <class Part>
    void write(const Part& part) {
      if constexpr (std::is_base_of_v<Error, Part>)
        write_error(part);
      else
        text << part;
    }
    template <class... Parts>
    const Message& add(const Parts&... parts) {
      (write(parts), ...);
      return *this;
    }
  };
  [[gnu::noinline]] explicit Error(const Message& message)
      : std::runtime_error(message.text.str()), options_(message.options) {}

  Places options_;
};

/// A valid request that failed: a loss that is not finite, a full disk. The command line exits with 1.
struct RunError : Error {
  using Error::Error;
};

/// An index or a dimension that a tensor does not have.
struct PlaceError : Error {
  using Error::Error;
};

/// An argument whose value is not allowed; PyTorch raises a ValueError for it.
struct InputError : Error {
  using Error::Error;
};

/// Throws E with the text "[op] " followed by the parts.
template <class E = Error, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(std::string_view op, const Parts&... parts) {
  throw E("[", op, "] ", parts...);
}

/// text(part) of all parts, separated by `between`.
template <class Parts, class Text = std::identity>
std::string joined(const Parts& parts, std::string_view between = ", ", const Text& text = {}) {
  std::string all;
  for (const auto& part : parts) all += concat(all.empty() ? "" : between, std::invoke(text, part));
  return all;
}

/// The result of `name` for each row of a table.
template <class Rows, class Name>
std::vector<std::string> column(const Rows& rows, Name name) {
  std::vector<std::string> texts;
  for (const auto& row : rows) texts.emplace_back(std::invoke(name, row));
  return texts;
}

/// "a, b or c".
template <class Words>
std::string listed(const Words& words) {
  std::string all;
  for (size_t i = 0; i < words.size(); ++i)
    all += concat(i == 0 ? "" : i + 1 < words.size() ? ", " : " or ", words[i]);
  return all;
}

}  // namespace gradus
