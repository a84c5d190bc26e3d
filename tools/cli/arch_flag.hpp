// --arch, of the verbs that are given the shape of a model.
#pragma once

#include "gradus/models/gpt_config.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gradus::cli {

/// Adds the flag, which sets `arch`, and must outlive the parse. Other names are refused with those that
/// there are.
CLI::Option* add_arch_flag(CLI::App& verb, models::Arch& arch);

}  // namespace gradus::cli
