#include "gradus/models/stored/stored_form.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace gradus::models {

// Each is in the file of its architecture's name.
const StoredForm& stored_gpt2();
const StoredForm& stored_llama();
const StoredForm& stored_gemma();
const StoredForm& stored_mingru();

const std::vector<const StoredForm*>& stored_forms() {
  static const std::vector<const StoredForm*> all{&stored_gpt2(), &stored_llama(), &stored_gemma(),
                                                  &stored_mingru()};
  return all;
}

const StoredForm& stored_form(std::string_view arch) {
  const auto& all = stored_forms();
  return **std::find_if(all.begin(), all.end(), [&](const StoredForm* one) { return one->arch == arch; });
}

std::string plain_name(std::string_view name) {
  static constexpr std::string_view kWrappers[] = {"_orig_mod.", "module.", "_fsdp_wrapped_module.",
                                                   "_checkpoint_wrapped_module."};
  std::string plain;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, std::min(name.find('.'), name.size() - 1) + 1);
    name.remove_prefix(part.size());
    if (std::find(std::begin(kWrappers), std::end(kWrappers), part) == std::end(kWrappers)) plain += part;
  }
  if (plain.starts_with(kPeftPrefix)) plain.erase(0, kPeftPrefix.size());
  for (const char* begin : {"model.model.", "model.transformer.", "model.lm_head."})  // of a wrapper's model
    if (plain.starts_with(begin)) plain.erase(0, std::string_view("model.").size());
  if (constexpr std::string_view kInner = "transformer."; plain.starts_with(kInner))
    plain.erase(0, kInner.size());
  return plain;
}

}  // namespace gradus::models
