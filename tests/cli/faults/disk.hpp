// A disk as a power cut may leave it. It follows the calls of a traced program and knows of each file and
// folder what has reached the disk for certain: the bytes of a file when it was fsynced, and the names in a
// folder when the folder was. All else may be there or not.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tracer.hpp"

namespace gradus::testing {

class Disk {
 public:
  /// Of what lies below `root` now, all of it on disk.
  explicit Disk(std::filesystem::path root);

  /// Follows a call that has been made.
  void follow(const SystemCall& call);

  /// How many changes of names are not certain to be on disk.
  size_t unsynced_changes() const { return changes_.size(); }
  /// Writes the disk to a folder: with the first `changes`, and with or without what was not fsynced.
  void write_to(const std::filesystem::path& folder, size_t changes, bool with_unsynced_bytes) const;

 private:
  struct Node {
    bool is_folder = false;
    std::string bytes, synced_bytes;
    std::map<std::string, int> names, synced_names;  // to nodes
  };
  /// What one call did to the names of one folder; -1 took the name away.
  struct Change {
    int folder;
    std::map<std::string, int> names;
  };

  int add(const std::filesystem::path& path);
  int find(const std::filesystem::path& path) const;  // -1 if there is none
  bool is_ours(const std::string& path) const;
  void change(const std::filesystem::path& path, int node);
  void rename(const SystemCall& call);
  void open(const SystemCall& call);
  void write_node(const std::filesystem::path& path, int node,
                  const std::map<int, std::map<std::string, int>>& names, bool with_unsynced_bytes) const;

  std::filesystem::path root_;
  std::vector<Node> nodes_;
  std::map<int, int> descriptors_;  // to nodes
  std::vector<Change> changes_;     // in their order
};

}  // namespace gradus::testing
