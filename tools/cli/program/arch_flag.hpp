// --arch, of the verbs that are given the shape of a model.
#pragma once

#include <functional>

#include "gradus/models/decoder_config.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gradus::cli {

/// Adds the flag; whoever gives it has `set_arch` called. Other names are refused with those that there are.
CLI::Option* add_arch_flag(CLI::App& verb, std::function<void(const std::string&)> set_arch);

}  // namespace gradus::cli
