// Identity, Flatten, and lists and dictionaries of modules whose types a program chooses while it runs.
//
//   nn::ModuleList layers;
//   for (int i = 0; i < depth; ++i) layers.append(nn::Linear(width, width, g));
//   if (p > 0) layers.append(nn::Dropout(p));
//   for (const nn::AnyModule& layer : layers) x = layer(x, dropout);
//
// Ownership and thread-safety as in module.hpp.
#pragma once

#include <any>
#include <concepts>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/files/error.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// A layer that returns its input.
class Identity : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return output(x); }  ///< x itself
  void visit(Visitor&) override {}
};

/// A layer that makes one dimension of several: by default (N, d1, d2, ...) -> (N, d1 d2 ...).
class Flatten : public Module {
 public:
  /// The first and the last of the dimensions.
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1) : start_dim_(start_dim), end_dim_(end_dim) {}

  /// See Tensor::flatten().
  Tensor operator()(const Tensor& x) const { return output(x.flatten(start_dim_, end_dim_)); }
  void visit(Visitor&) override {}

 private:
  int64_t start_dim_, end_dim_;
};

/// A module of any type. A copy has a copy of the module, which shares its parameters.
class AnyModule {
 public:
  /// Moves or copies the module in. Any module converts implicitly.
  template <std::derived_from<Module> M>
  AnyModule(M module)  // NOLINT
      : held_(std::move(module)),
        module_([](std::any& held) -> Module& { return *std::any_cast<M>(&held); }),
        call_([](const std::any& held, const Tensor& x, Generator* dropout) -> Tensor {
          if constexpr (std::is_invocable_r_v<Tensor, const M&, const Tensor&, Generator*>)
            return std::any_cast<const M&>(held)(x, dropout);
          else if constexpr (std::is_invocable_r_v<Tensor, const M&, const Tensor&>)
            return std::any_cast<const M&>(held)(x);
          else
            fail("any_module", "a module must take one tensor and return one, got another. Hint: ",
                 "get<nn::LSTM>() returns a module as its own type.");
        }) {}

  /// Calls the module, with the generator if it takes one. Throws Error if the module does not take one
  /// tensor and return one; an LSTM does not. Call such a module through get().
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const { return call_(held_, x, dropout); }
  /// The module as its own type, or as a base class of it. Throws Error if it is of another type.
  template <std::derived_from<Module> M>
  M& get() const {
    if (M* const found = dynamic_cast<M*>(&module())) return *found;
    fail("any_module", "must be of the type that get() asks for, got another one.");
  }
  Module& module() const { return module_(held_); }  ///< for all that modules have in common

 private:
  mutable std::any held_;
  Module& (*module_)(std::any&);
  Tensor (*call_)(const std::any&, const Tensor&, Generator*);
};

/// A list of modules, named 0, 1, ... The list cannot be called; its owner calls the modules.
class ModuleList : public Module {
 public:
  ModuleList() = default;
  /// Copies of the given modules.
  ModuleList(std::initializer_list<AnyModule> modules) : modules_(modules) {}

  void append(AnyModule module) { modules_.push_back(std::move(module)); }  ///< adds one at the end
  int64_t size() const { return std::ssize(modules_); }                     ///< how many there are
  /// The module at i; negative i count from the end. Throws Error outside [-size(), size()).
  const AnyModule& operator[](int64_t i) const;
  AnyModule& operator[](int64_t i) { return const_cast<AnyModule&>(std::as_const(*this)[i]); }  ///< the same
  auto begin() const { return modules_.begin(); }  ///< for loops over all
  auto end() const { return modules_.end(); }      ///< after the last one
  void visit(Visitor& v) override;

 private:
  std::vector<AnyModule> modules_;
};

/// Modules by name, in the order in which they were added. The dictionary cannot be called.
class ModuleDict : public Module {
 public:
  using Entry = std::pair<std::string, AnyModule>;  ///< a name and its module

  ModuleDict() = default;
  /// ModuleDict{{"act", Identity()}, {"drop", Dropout(0.1)}}. Throws as insert_or_assign().
  ModuleDict(std::initializer_list<Entry> entries);

  /// Adds a module, or replaces the module of this name. Throws Error if the name is empty or has a dot.
  void insert_or_assign(const std::string& key, AnyModule module);
  bool contains(std::string_view key) const {
    return find(key) != entries_.end();
  }                                                      ///< whether there is that name
  std::vector<std::string> keys() const;                 ///< all names
  int64_t size() const { return std::ssize(entries_); }  ///< how many there are
  /// The module of this name. Throws Error, naming all, if there is none.
  const AnyModule& operator[](std::string_view key) const;
  auto begin() const { return entries_.begin(); }  ///< for loops over all entries
  auto end() const { return entries_.end(); }      ///< after the last one
  void visit(Visitor& v) override;

 private:
  std::vector<Entry>::const_iterator find(std::string_view key) const;
  std::vector<Entry> entries_;
};

}  // namespace gradus::nn
