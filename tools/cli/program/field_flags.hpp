// Flags for fields: the libraries' errors name fields, `min_lr` say, and know nothing of a command line,
// which has given them names of its own. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus::cli {

/// `message`, of any library, with the flag in the place of each field of a run that stands in `backquotes`.
std::string with_flags(std::string message);

/// {field, flag}: {"top_p", "--top-p"}.
using FieldFlags = std::vector<std::pair<std::string_view, std::string_view>>;

/// Those of the verbs that are given the shape of a model.
const FieldFlags& model_flags();

/// `message`, an Error's, with the verb as its "[op]" and every field, where it stands as a whole word, as
/// the flag it was typed as.
std::string with_flags(std::string message, std::string_view verb, const FieldFlags& flags);

/// Whether a field of type T takes several values at once.
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

/// Calls `work`; the Errors that it throws name flags.
template <class F>
auto naming_flags(std::string_view verb, const FieldFlags& flags, F&& work) {
  try {
    return work();
  } catch (const RunError&) {
    throw;
  } catch (const Error& e) {
    throw Error(with_flags(e.what(), verb, flags));
  }
}

}  // namespace gradus::cli
