#include "disk.hpp"

#include <fcntl.h>

#include "cli/program.hpp"

namespace gradus::testing {

namespace fs = std::filesystem;

Disk::Disk(fs::path root) : root_(std::move(root)) { add(root_); }

int Disk::add(const fs::path& path) {
  const int node = static_cast<int>(nodes_.size());
  nodes_.emplace_back();
  if (fs::is_directory(path)) {
    std::map<std::string, int> names;
    for (const auto& entry : fs::directory_iterator(path))
      names[entry.path().filename().string()] = add(entry.path());
    nodes_[node].is_folder = true;
    nodes_[node].names = nodes_[node].synced_names = std::move(names);
  } else {
    nodes_[node].bytes = nodes_[node].synced_bytes = cli::read(path);
  }
  return node;
}

bool Disk::is_ours(const std::string& path) const {
  return path == root_.string() || path.starts_with(root_.string() + "/");
}

int Disk::find(const fs::path& path) const {
  int node = 0;
  for (const fs::path& name : path.lexically_relative(root_)) {
    if (name == "." || name.empty()) continue;
    const auto found = nodes_[node].names.find(name.string());
    if (found == nodes_[node].names.end()) return -1;
    node = found->second;
  }
  return node;
}

void Disk::change(const fs::path& path, int node) {
  const int folder = find(path.parent_path());
  if (node < 0)
    nodes_[folder].names.erase(path.filename().string());
  else
    nodes_[folder].names[path.filename().string()] = node;
  changes_.push_back({folder, {{path.filename().string(), node}}});
}

void Disk::rename(const SystemCall& call) {
  const fs::path from = call.path, to = call.to;
  const int moved = find(from), replaced = find(to);
  change(from, call.name == "exchange" ? replaced : -1);
  change(to, moved);
  if (from.parent_path() != to.parent_path()) return;
  // One change of one folder: a file system does both or neither.
  const Change second = changes_.back();
  changes_.pop_back();
  changes_.back().names.insert(second.names.begin(), second.names.end());
}

void Disk::open(const SystemCall& call) {
  const uint64_t flags = call.arguments[2];
  int node = find(call.path);
  if (node < 0) {
    node = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
    change(call.path, node);
  }
  if (flags & O_TRUNC) nodes_[node].bytes.clear();
  descriptors_[static_cast<int>(call.result)] = node;
}

void Disk::follow(const SystemCall& call) {
  if (call.result < 0 || call.name.empty() || !is_ours(call.path)) return;
  const auto opened = descriptors_.find(static_cast<int>(call.arguments[0]));
  const int node = opened == descriptors_.end() ? -1 : opened->second;
  if (call.name == "open") {
    open(call);
  } else if (call.name == "close") {
    descriptors_.erase(static_cast<int>(call.arguments[0]));
  } else if (call.name == "write" && node >= 0) {
    nodes_[node].bytes += call.bytes;  // The program writes files from their beginning or adds to them.
  } else if (call.name == "pwrite" && node >= 0) {
    std::string& bytes = nodes_[node].bytes;
    bytes.resize(std::max<size_t>(bytes.size(), call.arguments[3] + call.bytes.size()));
    bytes.replace(call.arguments[3], call.bytes.size(), call.bytes);
  } else if (call.name == "ftruncate" && node >= 0) {
    nodes_[node].bytes.resize(call.arguments[1]);
  } else if (call.name == "fsync" && node >= 0) {
    nodes_[node].synced_bytes = nodes_[node].bytes;
    nodes_[node].synced_names = nodes_[node].names;
    std::erase_if(changes_, [&](const Change& change) { return change.folder == node; });
  } else if (call.name == "mkdir") {
    nodes_.emplace_back().is_folder = true;
    change(call.path, static_cast<int>(nodes_.size()) - 1);
  } else if (call.name == "link") {
    change(call.to, find(call.path));
  } else if (call.name == "unlink" || call.name == "rmdir") {
    change(call.path, -1);
  } else if (call.name == "rename" || call.name == "exchange") {
    rename(call);
  }
}

void Disk::write_to(const fs::path& folder, size_t changes, bool with_unsynced_bytes) const {
  std::map<int, std::map<std::string, int>> names;
  for (size_t node = 0; node < nodes_.size(); ++node)
    names[static_cast<int>(node)] = nodes_[node].synced_names;
  for (size_t i = 0; i < changes; ++i)
    for (const auto& [name, node] : changes_[i].names) {
      if (node < 0)
        names[changes_[i].folder].erase(name);
      else
        names[changes_[i].folder][name] = node;
    }
  write_node(folder, 0, names, with_unsynced_bytes);
}

void Disk::write_node(const fs::path& path, int node, const std::map<int, std::map<std::string, int>>& names,
                      bool with_unsynced_bytes) const {
  const Node& it = nodes_[node];
  if (!it.is_folder) {
    std::ofstream(path, std::ios::binary) << (with_unsynced_bytes ? it.bytes : it.synced_bytes);
    return;
  }
  fs::create_directories(path);
  for (const auto& [name, inside] : names.at(node))
    write_node(path / name, inside, names, with_unsynced_bytes);
}

}  // namespace gradus::testing
