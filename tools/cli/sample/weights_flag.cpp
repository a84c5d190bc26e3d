#include "gradus/tools/cli/sample/weights_flag.hpp"

#include "gradus/tools/cli/program/choices.hpp"
#include "gradus/tools/cli/program/nearest.hpp"

namespace gradus::cli {
namespace {

const std::vector<std::pair<std::string, DType>> kKept = {
    {"float32", DType::float32}, {"bfloat16", DType::bfloat16}, {"int8", DType::q8_0}, {"int4", DType::q4_0}};

std::vector<std::string> kept_names() {
  std::vector<std::string> names;
  for (const auto& [name, dtype] : kKept) names.push_back(name);
  return names;
}

}  // namespace

void add_weights_flag(CLI::App& verb, std::string& weights) {
  choices(verb.add_option("--weights", weights, "float32, bfloat16, int8 or int4: less memory, more speed"),
          kept_names)
      ->type_name("NAME")
      ->take_last()
      ->capture_default_str();
}

void check_weights(std::string_view verb, const std::string& weights) {
  check_choice(verb, "--weights", weights, kept_names());
}

void keep_weights(models::Decoder& model, const std::string& weights) {
  for (const auto& [name, dtype] : kKept)
    if (name == weights && dtype != DType::float32) model.to(dtype);
}

}  // namespace gradus::cli
