#include "gradus/nn/containers.hpp"

#include <algorithm>

namespace gradus::nn {

const AnyModule& ModuleList::operator[](int64_t i) const {
  if (i < -size() || i >= size())
    fail("module_list", "the index must be in [", -size(), ", ", size(), "), got ", i, ".");
  return modules_[static_cast<size_t>(i < 0 ? i + size() : i)];
}

void ModuleList::visit(Visitor& v) {
  for (int64_t i = 0; i < size(); ++i) v(std::to_string(i), (*this)[i].module());
}

ModuleDict::ModuleDict(std::initializer_list<Entry> entries) {
  for (const auto& [key, module] : entries) insert_or_assign(key, module);
}

void ModuleDict::insert_or_assign(const std::string& key, AnyModule module) {
  if (key.empty() || key.find('.') != std::string::npos)
    fail("module_dict", "a name must have letters and no dot, got '", key, "'.");
  const auto at = static_cast<size_t>(find(key) - begin());
  if (at == entries_.size()) entries_.emplace_back(key, module);
  entries_[at].second = std::move(module);
}

std::vector<std::string> ModuleDict::keys() const { return column(entries_, &Entry::first); }

std::vector<ModuleDict::Entry>::const_iterator ModuleDict::find(std::string_view key) const {
  return std::ranges::find(entries_, key, &Entry::first);
}

const AnyModule& ModuleDict::operator[](std::string_view key) const {
  if (!contains(key)) fail("module_dict", "the name must be one of: ", joined(keys()), "; got '", key, "'.");
  return find(key)->second;
}

void ModuleDict::visit(Visitor& v) {
  for (auto& [key, module] : entries_) v(key, module.module());
}

}  // namespace gradus::nn
