// The command line of the program: its help, its version and the verbs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gradus/cli/program/verbs.hpp"

namespace gradus::cli {

struct AddedVerb {
  CLI::App* app;
  Action action;
};

/// Adds the verbs with their flags to `app`, which owns them.
std::vector<AddedVerb> add_verbs(CLI::App& app, std::span<const Verb> verbs, const std::string& program);
/// The verb that was on the parsed command line, or null.
const AddedVerb* parsed_verb(const std::vector<AddedVerb>& added);

/// Makes `app` the command line of the program. `program` is the name by which the user calls it.
std::vector<AddedVerb> set_up(CLI::App& app, const std::string& program);

}  // namespace gradus::cli
