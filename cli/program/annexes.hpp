// Functions that annexes set and verbs of the main house call. The main house includes no annex.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"

namespace gradus::train {
class Observer;
}

namespace gradus::cli {

/// The tensors of a file, or of all shards of an index.
struct Listing {
  struct Entry {
    std::string name, dtype, shape, shard;  ///< shard: its file; empty for a single one
    uint64_t numbers, bytes;
  };
  std::vector<Entry> entries;
  struct Metadata {
    std::string key, type, value;  ///< type: empty for a text
  };
  std::vector<Metadata> metadata;
  size_t files = 0;
  uint64_t bytes = 0;  ///< of the files
};

/// An observer of a run that writes files.
struct FileWriter {
  std::shared_ptr<train::Observer> observer;
  std::function<void()> finish;  ///< throws the RunError of the write that failed, if one did
};

/// A checked operation of another program.
struct RemoteReport {
  std::string name;        ///< as the command gives it
  int order;               ///< the smaller one of options.order and what the command offers
  GradcheckReport report;  ///< of this order
};

/// A member is empty in a program without the annex that is named behind it.
struct Annexes {
  /// The page of the run in a folder (pages). The result returns its HTML again and again, as the run goes
  /// on; a page of a live run reloads itself.
  std::function<std::function<std::string(bool is_live)>(const std::filesystem::path& run)> run_page;
  /// The page of graphs (pages); `graphs` is an array of graph_json() in JSON.
  std::function<std::string(const std::string& title, const std::string& graphs)> graph_page;
  /// Whether a file that begins so is such a page (pages).
  std::function<bool(std::string_view beginning)> is_page;
  /// What `gradus info` prints of a file in another program's format (formats); nothing if it is in none of
  /// them. Throws Error if it is malformed.
  std::function<std::optional<Listing>(const std::filesystem::path& file)> list;
  /// Writes the event files of a run for TensorBoard into a folder (formats), and passes all events to
  /// `next`, which is borrowed: see EventFileObserver.
  std::function<FileWriter(const std::filesystem::path& folder, int64_t steps_done, train::Observer& next)>
      event_files;
  /// Cases of further operations for `gradus gradcheck` (layers).
  std::function<std::vector<GradcheckCase>()> gradcheck_cases;
  /// Checks the operation of a command (remote). Throws RunError if the command ends, takes longer for an
  /// answer, or gives one of another form.
  std::function<RemoteReport(const std::string& command, int64_t timeout_seconds, GradcheckOptions options)>
      check_command;
};

/// Those of this program.
const Annexes& annexes();

}  // namespace gradus::cli
