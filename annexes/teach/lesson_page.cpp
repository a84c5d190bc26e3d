#include "gradus/annexes/teach/lesson_page.hpp"

#include <nlohmann/json.hpp>

#include "gradus/annexes/pages/frame.hpp"
#include "gradus/annexes/teach/lessons.hpp"

namespace gradus::teach {
namespace {

/// Numbers have the shortest digits that identify a float32.
using FloatJson =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t, float>;

constexpr std::string_view kVariants = "compare", kList = "";

FloatJson number_json(float x) { return std::isfinite(x) ? FloatJson(x) : FloatJson(concat(x)); }

/// Nested lists, as deep as the tensor has dimensions.
FloatJson nested_lists(const Tensor& x) {
  FloatJson list = FloatJson::array();
  for (int64_t i = 0; i < x.size(0); ++i) {
    const Tensor part = x.select(0, i);
    if (part.dim() > 0)
      list.push_back(nested_lists(part));
    else if (x.dtype() == DType::boolean)
      list.push_back(part.item() != 0);
    else
      list.push_back(number_json(static_cast<float>(part.item())));
  }
  return list;
}

FloatJson to_json(const nn::SelfAttentionOptions& options) {
  constexpr const char* kMaskOn[] = {"nothing", "scores", "weights"};
  return {{"mask_on", kMaskOn[static_cast<int>(options.mask_on)]},
          {"fill", number_json(static_cast<float>(options.fill))},
          {"scaled", options.scaled},
          {"safe", options.safe},
          {"num_heads", options.num_heads}};
}

FloatJson to_json(const Laboratory& laboratory) {
  return {{"tokens", laboratory.tokens},
          {"x", nested_lists(laboratory.x)},
          {"W_query", nested_lists(laboratory.W_query)},
          {"W_key", nested_lists(laboratory.W_key)},
          {"W_value", nested_lists(laboratory.W_value)},
          {"options", to_json(laboratory.options)},
          {"dropout", laboratory.dropout.defined() ? nested_lists(laboratory.dropout) : FloatJson()}};
}

FloatJson to_json(const LessonStep& step) {
  if (step.cell.empty()) return {{"sentence", step.sentence}};
  FloatJson parts = FloatJson::array();
  for (const Printed& part : step.parts)
    parts.push_back(part.tensor.defined() ? nested_lists(part.tensor) : FloatJson(part.text));
  return {{"cell", step.cell},
          {"printed", step.ours},
          {"notebook", step.notebook.empty() ? FloatJson() : FloatJson(step.notebook)},
          {"parts", std::move(parts)}};
}

FloatJson heading(const Lesson& lesson) {
  return {{"kind", "lesson"},
          {"name", lesson.name},
          {"title", lesson.title},
          {"notebook", lesson.notebook},
          {"source", concat("annexes/teach/", lesson.file(), ".cpp")}};
}

FloatJson json_of(const Lesson& lesson) {
  FloatJson json = heading(lesson);
  for (const LessonStep& step : lesson.steps()) json["steps"].push_back(to_json(step));
  json["laboratory"] = to_json(lesson.laboratory());
  for (const Question& question : lesson.questions())
    json["questions"].push_back(
        {{"question", question.question}, {"answer", question.answer}, {"setup", question.setup}});
  return json;
}

FloatJson variants_json() {
  FloatJson rows = FloatJson::array();
  for (const Agreement& row : compare_variants())
    rows.push_back({{"variant", row.variant},
                    {"options", to_json(row.options)},
                    {"context", nested_lists(row.context)},
                    {"difference", row.difference},
                    {"agrees", row.agrees},
                    {"why", row.why}});
  return {{"kind", "variants"},
          {"name", kVariants},
          {"title", "All variants on the same input and weights"},
          {"laboratory", to_json(variants_laboratory())},
          {"variants", std::move(rows)}};
}

FloatJson list_json() {
  FloatJson lessons = FloatJson::array();
  for (const Lesson& lesson : teach::lessons()) lessons.push_back(heading(lesson));
  return {{"kind", "list"},
          {"name", kList},
          {"title", "Lessons on causal attention"},
          {"lessons", std::move(lessons)}};
}

FloatJson json_of(std::string_view name) {
  return name == kList ? list_json() : name == kVariants ? variants_json() : json_of(find_lesson(name));
}

std::string page_of(const FloatJson& json) {
  const std::vector<std::string_view> scripts = {embedded_file("attention.js"),
                                                 embedded_file("laboratory.js"), embedded_file("lesson.js")};
  return pages::html({.verb = "lesson", .title = json["title"], .data = json.dump(), .scripts = scripts});
}

}  // namespace

std::string lesson_json(std::string_view name) { return json_of(name).dump(); }

std::string lesson_html(std::string_view name) { return page_of(json_of(name)); }

std::vector<std::pair<std::string, std::string>> lesson_site() {
  std::vector<std::string_view> names{kList};
  for (const Lesson& lesson : teach::lessons()) names.push_back(lesson.name);
  names.push_back(kVariants);

  FloatJson site = FloatJson::array();
  std::vector<FloatJson> pages;
  for (const std::string_view name : names) {
    pages.push_back(json_of(name));
    site.push_back(
        {{"file", concat(name == kList ? "index" : name, ".html")}, {"title", pages.back()["title"]}});
  }
  std::vector<std::pair<std::string, std::string>> files;
  for (size_t i = 0; i < names.size(); ++i) {
    pages[i]["site"] = site;
    files.emplace_back(site[i]["file"], page_of(pages[i]));
  }
  return files;
}

}  // namespace gradus::teach
