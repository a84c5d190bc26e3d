#include "gradus/annexes/teach/lessons.hpp"

#include <algorithm>
#include <cctype>

namespace gradus::teach {

// Each is in the file of its name.
extern const Lesson kCausalSelfAttention, kTwoMasks, kMaskedSelfAttention, kUnscaledAttention,
    kAttentionChapter, kStackedHeads;

namespace {

constexpr std::string_view kHeading = "== ";

/// Removes the first line from `text`, and returns it without its line break.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// -- every variant of causal attention, on the same input and weights

constexpr double kRounding = 1e-6;

SelfAttention layer(const nn::SelfAttentionOptions& options) {
  Generator generator = Generator::torch(789);
  return {3, 2, generator, options};
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor apart = abs(a.detach() - b.detach());
  return apart.numel() == 0 ? 0.0 : amax(apart).item();
}

// The kernel that MultiHeadAttention trains with, on this layer's queries, keys and values.
Tensor fused(const SelfAttention& m, const Tensor& x) {
  const auto one_head = [](const Tensor& t) { return t.reshape({1, 1, t.size(0), t.size(1)}); };
  return scaled_dot_product_attention(one_head(m.W_query(x)), one_head(m.W_key(x)), one_head(m.W_value(x)),
                                      {.causal = true})
      .reshape({x.size(0), 2});
}

// The context of each token, as the last token of a shorter sequence.
Tensor one_by_one(const SelfAttention& m, const Tensor& x) {
  std::vector<Tensor> rows;
  for (int64_t t = 0; t < x.size(0); ++t)
    rows.push_back(nn::context_vector(x.select(0, t), x.slice(0, 0, t + 1), m.W_query.weight.mT(),
                                      m.W_key.weight.mT(), m.W_value.weight.mT()));
  return stack(rows, 0);
}

}  // namespace

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> all = {kCausalSelfAttention, kTwoMasks,         kMaskedSelfAttention,
                                          kUnscaledAttention,   kAttentionChapter, kStackedHeads};
  return all;
}

const Lesson& find_lesson(std::string_view name) {
  for (const Lesson& lesson : lessons())
    if (lesson.name == name || lesson.notebook == name) return lesson;
  fail("lesson", "the name must be one of ", joined(lessons(), ", ", &Lesson::name),
       ", or the number of a notebook, got '", name, "'.");
}

std::string Lesson::file() const {
  std::string file(name);
  std::replace(file.begin(), file.end(), '-', '_');
  return file;
}

std::vector<LessonStep> Lesson::steps() const {
  LessonPage page(embedded_file(file() + ".txt"));
  cells(page);
  return page.steps();
}

std::vector<Question> Lesson::questions() const {
  std::string_view text = embedded_file("questions.txt");
  std::vector<Question> own;
  while (!text.empty()) {
    const std::string_view heading = take_line(text).substr(kHeading.size());
    const size_t end = std::min(heading.find(' '), heading.size());
    const std::string_view question = take_line(text), answer = take_line(text);
    if (heading.substr(0, end) == name)
      own.push_back({question, answer, heading.substr(std::min(end + 1, heading.size()))});
  }
  return own;
}

LessonPage::LessonPage(std::string_view printouts) {
  size_t first = 0;  // of the cells that share the next text
  while (!printouts.empty()) {
    printouts_.emplace_back(take_line(printouts).substr(kHeading.size()), "");
    if (printouts.starts_with(kHeading)) continue;
    const size_t end = std::min(printouts.find(concat("\n", kHeading)), printouts.size() - 1);
    for (; first < printouts_.size(); ++first) printouts_[first].second = printouts.substr(0, end);
    printouts.remove_prefix(end + 1);
  }
}

void LessonPage::add_cell(std::string_view cell, std::vector<Printed> parts) {
  LessonStep& step = steps_.emplace_back(
      LessonStep{"", std::string(cell), joined(parts, "", &Printed::text), "", std::move(parts)});
  const auto printout = std::find_if(printouts_.begin(), printouts_.end(),
                                     [&](const auto& known) { return known.first == cell; });
  if (printout == printouts_.end()) return;
  step.notebook = printout->second;
  printouts_.erase(printout);  // the next cell of this name has another text
}

Tensor journey() {
  return matrix({{0.43F, 0.15F, 0.89F},    // Your
                 {0.55F, 0.87F, 0.66F},    // journey
                 {0.57F, 0.85F, 0.64F},    // starts
                 {0.22F, 0.58F, 0.33F},    // with
                 {0.77F, 0.25F, 0.10F},    // one
                 {0.05F, 0.80F, 0.55F}});  // step
}

std::vector<std::string> journey_words() { return {"Your", "journey", "starts", "with", "one", "step"}; }

Laboratory::Laboratory(const SelfAttention& layer, std::vector<std::string> names, const Tensor& input)
    : tokens(std::move(names)),
      x(input),
      W_query(layer.W_query.weight.mT().detach()),
      W_key(layer.W_key.weight.mT().detach()),
      W_value(layer.W_value.weight.mT().detach()),
      options(layer.options()) {}

std::string torch_size(const Tensor& x) { return concat("torch.Size([", joined(x.shape()), "])"); }

PrintedComparison compare_printed(std::string_view ours, std::string_view notebook) {
  PrintedComparison result;
  result.same = ours == notebook;
  do {
    const std::string_view expected = take_line(notebook), got = take_line(ours);
    std::string marks;
    for (size_t c = 0; c < std::max(expected.size(), got.size()); ++c) {
      const bool equal = c < expected.size() && c < got.size() && expected[c] == got[c];
      const bool digit = c < expected.size() && std::isdigit(static_cast<unsigned char>(expected[c])) != 0;
      result.digits += digit ? 1 : 0;
      result.equal += digit && equal ? 1 : 0;
      marks += equal ? ' ' : '^';
    }
    result.lines.push_back({std::string(expected), std::string(got), marks});
  } while (!notebook.empty() || !ours.empty());
  return result;
}

std::vector<Agreement> compare_variants() {
  const Tensor x = journey();
  const SelfAttention reference = layer({});
  const Tensor context = reference(x);

  std::vector<Agreement> table;
  const auto add = [&](const std::string& variant, const nn::SelfAttentionOptions& options, const Tensor& y,
                       const std::string& why) {
    const double difference = largest_difference(y, context);
    table.push_back({variant, options, y, difference, difference <= kRounding, why});
  };
  const auto add_layer = [&](const std::string& variant, const nn::SelfAttentionOptions& options,
                             const std::string& why) { add(variant, options, layer(options)(x), why); };
  add_layer("-inf on the scores", {}, "the reference of this table");
  add_layer("-1e9 on the scores", {.fill = -1e9}, "e^-1e9 is 0, as e^-inf is");
  add_layer("0 on the weights, rows renormalised", {.mask_on = MaskOn::weights},
            "the softmax's sum cancels; rounds at other steps");
  add_layer("safe softmax", {.safe = true}, "differs only for a token that may see none");
  add("mask handed in, dims named", {}, layer({.row_dim = 0, .col_dim = 1})(x, nn::causal_mask(6)),
      "the same steps");
  add("in a batch", {}, reference(stack({x, x}, 0)).select(0, 1), "sequences of a batch are independent");
  add("one query at a time", {}, one_by_one(reference, x), "a token needs only the tokens before it");
  add("fused kernel", {}, fused(reference, x), "sums in blocks, never holds the scores");
  add_layer("two heads", {.num_heads = 2}, "each head scores with half of the features");
  add_layer("not scaled", {.scaled = false}, "larger scores, sharper weights");
  add_layer("0 on the scores", {.fill = 0.0}, "e^0 is 1: the future still counts");
  add("0 on the weights, not renormalised", {.mask_on = MaskOn::weights},
      matmul(softmax(nn::attention_scores(reference.W_query(x), reference.W_key(x)), -1) * tril(ones({6, 6})),
             reference.W_value(x)),
      "rows add up to less than 1");
  add_layer("no mask", {.mask_on = MaskOn::nothing}, "every token but the last sees its future");
  return table;
}

Laboratory variants_laboratory() { return {layer({}), journey_words(), journey()}; }

}  // namespace gradus::teach
