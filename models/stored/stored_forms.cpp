#include <algorithm>

#include "gradus/models/stored/stored_form.hpp"

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

}  // namespace gradus::models
