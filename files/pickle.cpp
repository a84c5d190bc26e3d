#include "gradus/files/pickle.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <iterator>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::files {
namespace {

constexpr size_t kMostBytes = 16'000'000, kMostText = 1 << 26, kDeepest = 64, kShownItems = 8;

/// A value on the stack.
struct PickleValue {
  enum class Kind : uint8_t { mark, plain, text, list, dict, callable, storage, tensor };
  Kind kind = Kind::mark;
  std::string text = {};  // plain: as in JSON; callable: its name; storage: its key
  std::vector<size_t> items =
      {};  // list; dict: keys and values by turns; tensor: arguments; storage: type, size
};
using Kind = PickleValue::Kind;

/// PyTorch's storages and what safetensors calls their dtypes.
constexpr std::pair<std::string_view, std::string_view> kStorages[] = {
    {"torch.FloatStorage", "F32"}, {"torch.DoubleStorage", "F64"},    {"torch.HalfStorage", "F16"},
    {"torch.LongStorage", "I64"},  {"torch.BFloat16Storage", "BF16"}, {"torch.IntStorage", "I32"},
    {"torch.ShortStorage", "I16"}, {"torch.CharStorage", "I8"},       {"torch.ByteStorage", "U8"},
    {"torch.BoolStorage", "BOOL"}};

constexpr std::string_view kDict = "collections.OrderedDict", kTensor = "torch._utils._rebuild_tensor_v2",
                           kParameter = "torch._utils._rebuild_parameter", kSize = "torch.Size";

class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& file) : rest_(bytes), file_(file) {
    if (bytes.size() > kMostBytes)
      refuse("must have at most ", kMostBytes, " bytes beside its tensors, got ", bytes.size(), ".");
  }

  Pickle read() {
    for (uint8_t opcode = 0; (opcode = number<uint8_t>()) != '.';) step(opcode);  // STOP
    const size_t root = pop();
    Pickle pickle;
    add("", root, 0, pickle);
    for (const char* name : {"model", "model_state_dict", "state_dict"})
      for (size_t i = 0; values_[root].kind == Kind::dict && i < values_[root].items.size(); i += 2)
        if (values_[values_[root].items[i]].text == name &&
            values_[values_[root].items[i + 1]].kind == Kind::dict && pickle.state.empty())
          pickle.state = concat(name, ".");
    return pickle;
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("pickle", plain(file_), ": ", parts...);
  }

  // -- the bytes

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) refuse("must end with its STOP, got the end. Hint: the file was cut short.");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const std::string_view text = take(std::min(rest_.find('\n'), rest_.size()));
    take(1);
    return text;
  }

  // -- the stack

  size_t push(PickleValue value) {
    values_.push_back(std::move(value));
    stack_.push_back(values_.size() - 1);
    return stack_.back();
  }
  size_t pop() {
    if (stack_.empty()) refuse("must take values from its stack that it put there, got an empty stack.");
    const size_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  /// Takes the values above the last mark.
  std::vector<size_t> pop_marked() {
    const auto mark =
        std::find_if(stack_.rbegin(), stack_.rend(), [&](size_t i) { return values_[i].kind == Kind::mark; });
    if (mark == stack_.rend()) refuse("must have a mark on its stack, got none.");
    std::vector<size_t> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }
  std::vector<size_t> pop_items(size_t count) {
    std::vector<size_t> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  void put_in(std::vector<size_t> items, Kind kind) {
    const size_t to = pop();
    if (values_[to].kind != kind || (kind == Kind::dict && items.size() % 2 != 0))
      refuse("must put items into lists and dictionaries, got another value.");
    stack_.push_back(to);
    values_[to].items.insert(values_[to].items.end(), items.begin(), items.end());
  }
  void recall(uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) refuse("must recall a value that it has kept, got number ", number, ".");
    stack_.push_back(found->second);
  }
  void keep(uint64_t number) { stack_.push_back(memo_[number] = pop()); }

  const PickleValue& item(const PickleValue& value, size_t i, Kind kind) const {
    if (i >= value.items.size() || values_[value.items[i]].kind != kind)
      refuse("must give tensors the arguments that PyTorch gives them, got others.");
    return values_[value.items[i]];
  }

  // -- the opcodes

  void push_callable(std::string_view module, std::string_view function) {
    const std::string name = concat(module, ".", function);
    if (name != kDict && name != kTensor && name != kParameter && name != kSize && dtype_of(name).empty())
      refuse("must call nothing but what makes dictionaries and tensors, got ", in_quotes(name),
             ". Hint: nothing was called; do not open this file with a program that runs pickles.");
    push({Kind::callable, name});
  }
  void push_global() {
    const std::string_view module = line();
    push_callable(module, line());
  }
  void push_stacked_callable() {
    const std::vector<size_t> names = pop_items(2);
    push_callable(values_[names[0]].text, values_[names[1]].text);
  }
  void reduce() {
    const PickleValue arguments = values_[pop()];
    const PickleValue callable = values_[pop()];
    if (arguments.kind != Kind::list || callable.kind != Kind::callable)
      refuse("must call a name with a tuple, got other values.");
    if (callable.text == kTensor) {
      push({Kind::tensor, {}, arguments.items});
    } else if (callable.text == kDict && arguments.items.empty()) {
      push({Kind::dict});
    } else if ((callable.text == kParameter || callable.text == kSize) && !arguments.items.empty()) {
      stack_.push_back(arguments.items[0]);
    } else {
      refuse("must call ", in_quotes(callable.text), " as PyTorch does, got ", arguments.items.size(),
             " arguments.");
    }
  }
  /// ('storage', type, key, device, size)
  void refer() {
    const PickleValue id = values_[pop()];
    if (id.kind != Kind::list || item(id, 0, Kind::text).text != "storage")
      refuse("must refer to storages only, got another reference.");
    item(id, 1, Kind::callable);
    item(id, 4, Kind::plain);
    push({Kind::storage, item(id, 2, Kind::text).text, {id.items[1], id.items[4]}});
  }

  void push_list(std::vector<size_t> items) { push({Kind::list, {}, std::move(items)}); }
  void push_text(uint64_t bytes) { push({Kind::text, std::string(take(bytes))}); }
  void push_plain(std::string text) { push({Kind::plain, std::move(text)}); }
  void push_long(size_t bytes) {
    int64_t value = 0;
    const std::string_view digits = take(bytes);
    if (bytes > sizeof value) refuse("must have whole numbers of at most 64 bits, got ", 8 * bytes, ".");
    std::memcpy(&value, digits.data(), bytes);
    const auto unused = static_cast<int>(64 - 8 * bytes);
    push_plain(std::to_string(bytes == 0 ? 0 : value << unused >> unused));
  }
  void push_float() {
    const uint64_t bits = __builtin_bswap64(number<uint64_t>());
    char text[32];
    const char* const end = std::to_chars(text, std::end(text), std::bit_cast<double>(bits)).ptr;
    push_plain({text, static_cast<size_t>(end - text)});
  }

  /// Executes an opcode other than STOP.
  void step(uint8_t opcode) {
    using R = PickleReader;
    struct Row {
      uint8_t code;
      void (*run)(R&);
    };
    static constexpr Row kRows[] = {
        {0x80, [](R& r) { r.take(1); }},                                          // PROTO
        {0x95, [](R& r) { r.take(8); }},                                          // FRAME
        {'(', [](R& r) { r.push({}); }},                                          // MARK
        {'N', [](R& r) { r.push_plain("null"); }},                                // NONE
        {0x88, [](R& r) { r.push_plain("true"); }},                               // NEWTRUE
        {0x89, [](R& r) { r.push_plain("false"); }},                              // NEWFALSE
        {'K', [](R& r) { r.push_plain(std::to_string(r.number<uint8_t>())); }},   // BININT1
        {'M', [](R& r) { r.push_plain(std::to_string(r.number<uint16_t>())); }},  // BININT2
        {'J', [](R& r) { r.push_plain(std::to_string(r.number<int32_t>())); }},   // BININT
        {0x8a, [](R& r) { r.push_long(r.number<uint8_t>()); }},                   // LONG1
        {'G', [](R& r) { r.push_float(); }},                                      // BINFLOAT
        {'X', [](R& r) { r.push_text(r.number<uint32_t>()); }},                   // BINUNICODE
        {0x8c, [](R& r) { r.push_text(r.number<uint8_t>()); }},                   // SHORT_BINUNICODE
        {')', [](R& r) { r.push({Kind::list}); }},                                // EMPTY_TUPLE
        {']', [](R& r) { r.push({Kind::list}); }},                                // EMPTY_LIST
        {'}', [](R& r) { r.push({Kind::dict}); }},                                // EMPTY_DICT
        {'t', [](R& r) { r.push_list(r.pop_marked()); }},                         // TUPLE
        {0x85, [](R& r) { r.push_list(r.pop_items(1)); }},                        // TUPLE1
        {0x86, [](R& r) { r.push_list(r.pop_items(2)); }},                        // TUPLE2
        {0x87, [](R& r) { r.push_list(r.pop_items(3)); }},                        // TUPLE3
        {'a', [](R& r) { r.put_in(r.pop_items(1), Kind::list); }},                // APPEND
        {'e', [](R& r) { r.put_in(r.pop_marked(), Kind::list); }},                // APPENDS
        {'s', [](R& r) { r.put_in(r.pop_items(2), Kind::dict); }},                // SETITEM
        {'u', [](R& r) { r.put_in(r.pop_marked(), Kind::dict); }},                // SETITEMS
        {'b', [](R& r) { r.pop(); }},                                             // BUILD: attributes
        {'q', [](R& r) { r.keep(r.number<uint8_t>()); }},                         // BINPUT
        {'r', [](R& r) { r.keep(r.number<uint32_t>()); }},                        // LONG_BINPUT
        {0x94, [](R& r) { r.keep(r.memo_.size()); }},                             // MEMOIZE
        {'h', [](R& r) { r.recall(r.number<uint8_t>()); }},                       // BINGET
        {'j', [](R& r) { r.recall(r.number<uint32_t>()); }},                      // LONG_BINGET
        {'c', [](R& r) { r.push_global(); }},                                     // GLOBAL
        {0x93, [](R& r) { r.push_stacked_callable(); }},                          // STACK_GLOBAL
        {'R', [](R& r) { r.reduce(); }},                                          // REDUCE
        {'Q', [](R& r) { r.refer(); }},                                           // BINPERSID
    };
    for (const Row& row : kRows)
      if (row.code == opcode) return row.run(*this);
    refuse("must have opcodes of plain values, dictionaries and tensors, got ", int{opcode}, ".");
  }

  // -- the result

  static std::string_view dtype_of(std::string_view storage) {
    for (const auto& [name, dtype] : kStorages)
      if (name == storage) return dtype;
    return {};
  }
  int64_t integer(const PickleValue& list, size_t i) const {
    const std::string& text = item(list, i, Kind::plain).text;
    int64_t value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0)
      refuse("must have sizes of tensors from 0 on, got ", text, ".");
    return value;
  }
  /// Arguments: storage, offset, shape, strides, and others that do not affect the values.
  PickledTensor tensor(const PickleValue& value) const {
    const PickleValue& storage = item(value, 0, Kind::storage);
    PickledTensor tensor{.dtype = std::string(dtype_of(item(storage, 0, Kind::callable).text)),
                         .storage = storage.text,
                         .numel = integer(storage, 1),
                         .offset = integer(value, 1),
                         .shape = {},
                         .strides = {}};
    for (const auto& [to, at] : {std::pair(&tensor.shape, 2), std::pair(&tensor.strides, 3)}) {
      const PickleValue& list = item(value, static_cast<size_t>(at), Kind::list);
      for (size_t i = 0; i < list.items.size(); ++i) to->push_back(integer(list, i));
    }
    return tensor;
  }

  bool is_scalar(size_t at) const {
    return values_[at].kind == Kind::plain || values_[at].kind == Kind::text;
  }

  void add(const std::string& name, size_t at, size_t depth, Pickle& to) {
    const PickleValue& value = values_[at];
    text_ += name.size() + value.text.size() + sizeof name;  // A value may be in many lists.
    if (depth > kDeepest || text_ > kMostText)
      refuse("must be nested in at most ", kDeepest, " levels, and its names have at most ", kMostText,
             " bytes, got more.");
    const auto inside = [&](const auto& key) { return name.empty() ? concat(key) : concat(name, ".", key); };
    if (value.kind == Kind::tensor) {
      if (!to.tensors.emplace(name, tensor(value)).second)
        refuse("tensors must have different names, got two called ", in_quotes(name), ".");
    } else if (value.kind == Kind::dict) {
      for (size_t i = 0; i < value.items.size(); i += 2) {
        if (!is_scalar(value.items[i]))
          refuse("must have keys that are texts or numbers, got another value.");
        add(inside(values_[value.items[i]].text), value.items[i + 1], depth + 1, to);
      }
    } else if (value.kind != Kind::list) {
      to.values.emplace(name, value.text);
    } else if (!std::all_of(value.items.begin(), value.items.end(), [&](size_t i) { return is_scalar(i); })) {
      for (size_t i = 0; i < value.items.size(); ++i) add(inside(i), value.items[i], depth + 1, to);
    } else if (value.items.size() > kShownItems) {
      to.values.emplace(name, concat("a list of ", value.items.size()));
    } else {
      const std::string items = joined(value.items, ", ", [&](size_t i) { return values_[i].text; });
      text_ += items.size();
      to.values.emplace(name, concat("[", items, "]"));
    }
  }

  std::string_view rest_;
  const std::string& file_;
  std::vector<PickleValue> values_;
  std::vector<size_t> stack_;
  std::map<uint64_t, size_t> memo_;
  size_t text_ = 0;  // bytes of the names and values of the result
};

}  // namespace

Pickle read_pickle(std::string_view bytes, const std::string& file) {
  return PickleReader(bytes, file).read();
}

}  // namespace gradus::files
