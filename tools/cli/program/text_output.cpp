#include "gradus/tools/cli/program/text_output.hpp"

#include <iostream>

#include "gradus/data/stop_strings.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

/// The token before the beginning of a text.
int64_t first_token(const data::Tokenizer& tokenizer) {
  try {
    return tokenizer.encode("\n").front();
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

void Messages::line(const std::string& text) const {
  if (!quiet_) std::cerr << files::plain_lines(text) << std::endl;
}

void write_sample(const models::Decoder& model, const data::Tokenizer& tokenizer, const std::string& prompt,
                  const models::SampleOptions& options, Generator& generator, std::ostream& out,
                  const TextEnd& end) {
  const std::vector<int32_t> prefix = tokenizer.prefix(), encoded = tokenizer.encode(prompt);
  std::vector<int64_t> tokens(prefix.begin(), prefix.end());
  tokens.insert(tokens.end(), encoded.begin(), encoded.end());
  if (tokens.empty()) tokens.push_back(first_token(tokenizer));
  data::DecodeStream text(tokenizer);
  data::StopStrings wanted(end.stop);
  out << prompt << std::flush;
  models::generate(model, tokens, options, generator, [&](int64_t token) {
    out << wanted.step(text.step(static_cast<int32_t>(token))) << std::flush;
    return out.good() && !wanted.found() && !(end.interrupted && end.interrupted());
  });
  out << wanted.step(text.finish()) << wanted.finish() << std::flush;
}

}  // namespace gradus::cli
