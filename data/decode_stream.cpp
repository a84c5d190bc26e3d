#include "gradus/data/decode_stream.hpp"

#include <utility>

#include "gradus/files/utf8.hpp"

namespace gradus::data {

std::string DecodeStream::step(int32_t token) {
  const int32_t one[] = {token};
  std::string text = tokenizer_->decode(one);
  text.insert(0, waiting_);
  waiting_ = text.substr(text.size() - files::unfinished(text));
  text.resize(text.size() - waiting_.size());
  return text;
}

std::string DecodeStream::finish() { return std::exchange(waiting_, ""); }

}  // namespace gradus::data
