#include "gradus/annexes/formats/foreign/pickle.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <deque>
#include <iterator>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::foreign {

using files::in_quotes, files::plain;

namespace {

constexpr size_t kMostBytes = 16'000'000, kDeepest = 64, kMostDims = 64, kShownItems = 8;
// The values take at most 13 bytes for each byte of the pickle. The result may take kBytesOfByte, and values
// may be visited once for each byte, besides a few: a value can be in many lists, which can be in many lists.
constexpr size_t kBytesOfByte = 6, kFewBytes = 4'000'000, kFewVisits = 65'536, kBytesOfEntry = 112;

enum class Kind : uint8_t { mark, plain, text, list, dict, callable, storage, tensor };

/// A value on the stack. `at` is, for plain and text, the offset of the opcode, from which the value is
/// decoded when it is needed; for a callable its number; for a list, tuple or dictionary its place in lists_;
/// for a storage or tensor the place of its arguments.
struct PickleValue {
  Kind kind : 8;
  uint32_t at : 24;

  PickleValue(Kind what = Kind::mark, size_t where = 0)  // NOLINT: values are written as lists
      : kind(what), at(where & 0xFFFFFF) {}
};
static_assert(sizeof(PickleValue) == 4 && kMostBytes < 1 << 24);

/// The functions that a pickle may call. The numbers of PyTorch's storages follow them.
enum : uint32_t { kDict, kTensor, kParameter, kSize, kFunctions };
constexpr std::string_view kFunctionNames[] = {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2",
                                               "torch._utils._rebuild_parameter", "torch.Size"};
/// PyTorch's storages and what safetensors calls their dtypes.
constexpr std::pair<std::string_view, std::string_view> kStorages[] = {
    {"torch.FloatStorage", "F32"}, {"torch.DoubleStorage", "F64"},    {"torch.HalfStorage", "F16"},
    {"torch.LongStorage", "I64"},  {"torch.BFloat16Storage", "BF16"}, {"torch.IntStorage", "I32"},
    {"torch.ShortStorage", "I16"}, {"torch.CharStorage", "I8"},       {"torch.ByteStorage", "U8"},
    {"torch.BoolStorage", "BOOL"}};
std::string_view name_of(uint32_t callable) {
  return callable < kFunctions ? kFunctionNames[callable] : kStorages[callable - kFunctions].first;
}

/// Opcodes of single values: the bytes after the opcode, or the bytes of a length that precedes the value.
struct PickleScalar {
  uint8_t code, bytes;
  bool has_length = false, is_text = false;
};
constexpr PickleScalar kScalars[] = {{'N', 0},
                                     {0x88, 0},
                                     {0x89, 0},  // NONE, NEWTRUE, NEWFALSE
                                     {'K', 1},
                                     {'M', 2},
                                     {'J', 4},  // BININT1, BININT2, BININT
                                     {'G', 8},
                                     {0x8a, 1, true},         // BINFLOAT, LONG1
                                     {'X', 4, true, true},    // BINUNICODE
                                     {0x8c, 1, true, true}};  // SHORT_BINUNICODE, of protocol 4

/// The opcode's row, or null.
const PickleScalar* scalar_of(uint8_t code) {
  for (const PickleScalar& one : kScalars)
    if (one.code == code) return &one;
  return nullptr;
}

/// The number in at most 8 bytes, with the sign of its highest bit if `is_signed`.
int64_t number_in(std::string_view bytes, bool is_signed) {
  int64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  const auto unused = static_cast<int>(64 - 8 * bytes.size());
  return !is_signed || unused == 64 ? value : value << unused >> unused;
}

class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {
    if (bytes.size() > kMostBytes)
      refuse("must have at most ", kMostBytes, " bytes beside its tensors, got ", bytes.size(), ".");
  }

  Pickle read() {
    for (uint8_t opcode = 0; (opcode = byte()) != '.';) step(opcode);  // STOP
    Pickle pickle;
    add("", pop(), 0, pickle);
    return pickle;
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("pickle", plain(file_), ": ", parts...);
  }

  // -- the bytes

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_)
      refuse("must end with its STOP, got the end. Hint: the file was cut short.");
    return bytes_.substr(std::exchange(at_, at_ + count), count);
  }
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }
  uint64_t number(size_t bytes) { return static_cast<uint64_t>(number_in(take(bytes), false)); }
  std::string_view line() {
    const std::string_view rest = bytes_.substr(at_), text = take(std::min(rest.find('\n'), rest.size()));
    take(1);
    return text;
  }

  // -- the stack

  /// The place in the stack of the last `count` values.
  size_t last(size_t count) const {
    if (count > stack_.size())
      refuse("must take values from its stack that it put there, got an empty stack.");
    return stack_.size() - count;
  }
  PickleValue pop() {
    const PickleValue top = stack_[last(1)];
    stack_.pop_back();
    return top;
  }
  /// The place in the stack above the last mark, which is left out of it.
  size_t unmarked() {
    size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1].kind != Kind::mark) --mark;
    if (mark == 0) refuse("must have a mark on its stack, got none.");
    stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(mark) - 1);
    return mark - 1;
  }
  /// Moves the values of the stack from `begin` on to the end of a list.
  void move_to(size_t list, size_t begin) {
    List& to = lists_[list];
    for (size_t i = begin; i < stack_.size(); ++i) {
      const auto item = static_cast<uint32_t>(items_.size());
      items_.push_back({stack_[i], 0});
      (to.last == 0 ? to.first : items_[to.last].next) = item;
      to.last = item;
    }
    stack_.resize(begin);
  }
  void push_list(size_t begin, Kind kind = Kind::list) {
    lists_.emplace_back();
    const size_t list = lists_.size() - 1;
    move_to(list, begin);
    stack_.push_back({kind, list});
  }
  void fill(size_t begin, Kind kind) {
    const PickleValue to = stack_[last(stack_.size() - begin + 1)];
    if (to.kind != kind || (kind == Kind::dict && (stack_.size() - begin) % 2 != 0))
      refuse("must put items into lists and dictionaries, got another value.");
    move_to(to.at, begin);
  }
  void recall(uint64_t number) {
    if (number >= memo_.size() || memo_[number].kind == Kind::mark)
      refuse("must recall a value that it has kept, got number ", number, ".");
    stack_.push_back(memo_[number]);
  }
  void keep(uint64_t number) {
    if (number >= bytes_.size()) refuse("must number the values that it keeps from 0 on, got ", number, ".");
    if (number >= memo_.size()) memo_.resize(number + 1);
    memo_[number] = stack_[last(1)];
  }
  PickleValue item(PickleValue list, size_t i, Kind kind) const {
    uint32_t at = lists_[list.at].first;
    for (; at != 0 && i > 0; --i) at = items_[at].next;
    if (at == 0 || items_[at].value.kind != kind)
      refuse("must give tensors the arguments that PyTorch gives them, got others.");
    return items_[at].value;
  }

  // -- the opcodes

  void push_callable(std::string_view module, std::string_view function) {
    const std::string name = concat(module, ".", function);
    uint32_t i = 0;
    while (i < kFunctions + std::size(kStorages) && name_of(i) != name) ++i;
    if (i == kFunctions + std::size(kStorages))
      refuse("must call nothing but what makes dictionaries and tensors, got ", in_quotes(name),
             ". Hint: nothing was called; do not open this file with a program that runs pickles.");
    stack_.push_back({Kind::callable, i});
  }
  void push_global() {
    const std::string_view module = line();
    push_callable(module, line());
  }
  void push_stack_global() {
    const PickleValue function = pop(), module = pop();
    if (function.kind != Kind::text || module.kind != Kind::text)
      refuse("must name a function by two texts, got other values.");
    push_callable(raw(module), raw(function));
  }
  void reduce() {
    const PickleValue arguments = pop(), callable = pop();
    if (arguments.kind != Kind::list || callable.kind != Kind::callable)
      refuse("must call a name with a tuple, got other values.");
    const uint32_t first = lists_[arguments.at].first;
    if (callable.at == kTensor) return stack_.push_back({Kind::tensor, arguments.at});
    if (callable.at == kDict && first == 0) return push_list(stack_.size(), Kind::dict);
    if ((callable.at == kParameter || callable.at == kSize) && first != 0)
      return stack_.push_back(items_[first].value);
    refuse("must call ", in_quotes(name_of(callable.at)), " as PyTorch does, got ", items_of(arguments).first,
           " arguments.");
  }
  /// ('storage', type, key, device, size)
  void refer() {
    const PickleValue id = pop();
    if (id.kind != Kind::list || raw(item(id, 0, Kind::text)) != "storage")
      refuse("must refer to storages only, got another reference.");
    item(id, 1, Kind::callable);
    item(id, 2, Kind::text);
    item(id, 4, Kind::plain);
    stack_.push_back({Kind::storage, id.at});
  }
  void push_scalar(const PickleScalar& scalar) {
    const size_t begin = at_ - 1;
    const uint64_t length = scalar.has_length ? number(scalar.bytes) : scalar.bytes;
    take(length);
    if (scalar.code == 0x8a && length > 8)
      refuse("must have whole numbers of at most 64 bits, got ", 8 * length, ".");
    stack_.push_back({scalar.is_text ? Kind::text : Kind::plain, begin});
  }

  /// Executes an opcode other than STOP.
  void step(uint8_t opcode) {
    using R = PickleReader;
    struct Row {
      uint8_t code;
      void (*run)(R&);
    };
    static constexpr Row kRows[] = {
        {0x80, [](R& r) { r.take(1); }},                          // PROTO
        {0x95, [](R& r) { r.take(8); }},                          // FRAME, of protocol 4
        {'(', [](R& r) { r.stack_.push_back({}); }},              // MARK
        {')', [](R& r) { r.push_list(r.last(0)); }},              // EMPTY_TUPLE
        {']', [](R& r) { r.push_list(r.last(0)); }},              // EMPTY_LIST
        {'}', [](R& r) { r.push_list(r.last(0), Kind::dict); }},  // EMPTY_DICT
        {'t', [](R& r) { r.push_list(r.unmarked()); }},           // TUPLE
        {0x85, [](R& r) { r.push_list(r.last(1)); }},             // TUPLE1
        {0x86, [](R& r) { r.push_list(r.last(2)); }},             // TUPLE2
        {0x87, [](R& r) { r.push_list(r.last(3)); }},             // TUPLE3
        {'a', [](R& r) { r.fill(r.last(1), Kind::list); }},       // APPEND
        {'e', [](R& r) { r.fill(r.unmarked(), Kind::list); }},    // APPENDS
        {'s', [](R& r) { r.fill(r.last(2), Kind::dict); }},       // SETITEM
        {'u', [](R& r) { r.fill(r.unmarked(), Kind::dict); }},    // SETITEMS
        {'b', [](R& r) { r.pop(); }},                             // BUILD: attributes
        {'q', [](R& r) { r.keep(r.number(1)); }},                 // BINPUT
        {'r', [](R& r) { r.keep(r.number(4)); }},                 // LONG_BINPUT
        {0x94, [](R& r) { r.keep(r.memo_.size()); }},             // MEMOIZE, of protocol 4
        {'h', [](R& r) { r.recall(r.number(1)); }},               // BINGET
        {'j', [](R& r) { r.recall(r.number(4)); }},               // LONG_BINGET
        {'c', [](R& r) { r.push_global(); }},                     // GLOBAL
        {0x93, [](R& r) { r.push_stack_global(); }},              // STACK_GLOBAL, of protocol 4
        {'R', [](R& r) { r.reduce(); }},                          // REDUCE
        {'Q', [](R& r) { r.refer(); }},                           // BINPERSID
    };
    if (const PickleScalar* scalar = scalar_of(opcode)) return push_scalar(*scalar);
    for (const Row& row : kRows)
      if (row.code == opcode) return row.run(*this);
    refuse("must have the opcodes with which PyTorch writes plain values, dictionaries and tensors, got ",
           int{opcode}, ".");
  }

  // -- the result

  static bool is_scalar(PickleValue value) { return value.kind == Kind::plain || value.kind == Kind::text; }
  /// The number of items of a list, and whether all are single values.
  std::pair<size_t, bool> items_of(PickleValue list) const {
    std::pair<size_t, bool> found{0, true};
    for (uint32_t at = lists_[list.at].first; at != 0; at = items_[at].next, ++found.first)
      found.second = found.second && is_scalar(items_[at].value);
    return found;
  }
  /// The bytes of a single value, without its opcode and length.
  std::string_view raw(PickleValue value) const {
    const std::string_view rest = bytes_.substr(value.at + 1);
    const PickleScalar& scalar = *scalar_of(static_cast<uint8_t>(bytes_[value.at]));
    if (!scalar.has_length) return rest.substr(0, scalar.bytes);
    return rest.substr(scalar.bytes, static_cast<size_t>(number_in(rest.substr(0, scalar.bytes), false)));
  }
  /// The text of a single value, as in JSON; texts without quotes.
  std::string text_of(PickleValue value) const {
    const std::string_view bytes = raw(value);
    if (value.kind == Kind::text) return std::string(bytes);
    const auto code = static_cast<uint8_t>(bytes_[value.at]);
    if (code == 'N') return "null";
    if (code == 0x88 || code == 0x89) return code == 0x88 ? "true" : "false";
    if (code != 'G') return std::to_string(number_in(bytes, code == 'J' || code == 0x8a));
    const auto bits = __builtin_bswap64(static_cast<uint64_t>(number_in(bytes, false)));
    char text[32];
    return {text, std::to_chars(text, std::end(text), std::bit_cast<double>(bits)).ptr};
  }

  int64_t integer(PickleValue value) const {
    const std::string text = is_scalar(value) ? text_of(value) : "";
    int64_t number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0)
      refuse("must have sizes of tensors from 0 on, got ", text, ".");
    return number;
  }
  /// Arguments: storage, offset, shape, strides, two without effect, and options, as a sign beside it.
  PickledTensor tensor(PickleValue arguments) const {
    if (items_of(arguments).first > 6 && lists_[item(arguments, 6, Kind::dict).at].first != 0)
      refuse("must have tensors whose values are those of their storages, got one with other options.");
    const PickleValue storage = item(arguments, 0, Kind::storage);
    const uint32_t type = item(storage, 1, Kind::callable).at;
    if (type < kFunctions) refuse("must have tensors of numbers, got another storage.");
    PickledTensor tensor{.dtype = std::string(kStorages[type - kFunctions].second),
                         .storage = text_of(item(storage, 2, Kind::text)),
                         .numel = integer(item(storage, 4, Kind::plain)),
                         .offset = integer(item(arguments, 1, Kind::plain)),
                         .shape = {},
                         .strides = {}};
    for (const auto& [to, place] : {std::pair(&tensor.shape, 2), std::pair(&tensor.strides, 3)})
      for (uint32_t i = lists_[item(arguments, place, Kind::list).at].first; i != 0; i = items_[i].next) {
        if (to->size() == kMostDims) refuse("must have tensors of at most ", kMostDims, " sizes, got more.");
        to->push_back(integer(items_[i].value));
      }
    return tensor;
  }

  void count(size_t depth, size_t visits, size_t bytes) {
    visits_ += visits;
    result_ += bytes;
    if (depth > kDeepest || visits_ > kFewVisits + bytes_.size() ||
        result_ > kFewBytes + kBytesOfByte * bytes_.size())
      refuse("must be nested in at most ", kDeepest,
             " levels and have no value in many places, got a result of many times its ", bytes_.size(),
             " bytes.");
  }

  void add(const std::string& name, PickleValue value, size_t depth, Pickle& to) {
    count(depth, 1, name.size());
    const auto inside = [&](const auto& key) { return name.empty() ? concat(key) : concat(name, ".", key); };
    const auto keep = [&](std::string text) {
      count(depth, 0, kBytesOfEntry + name.size() + text.size());
      to.values.emplace(name, std::move(text));
    };
    const size_t tensors = to.tensors.size();
    if (value.kind == Kind::tensor) {
      PickledTensor one = tensor(value);
      count(depth, 1, 2 * kBytesOfEntry + name.size() + one.storage.size() + 16 * one.shape.size());
      if (!to.tensors.emplace(name, std::move(one)).second)
        refuse("tensors must have different names, got two called ", in_quotes(name), ".");
    } else if (value.kind == Kind::dict) {
      for (uint32_t key = lists_[value.at].first; key != 0;) {
        const Item &its_key = items_[key], &its_value = items_[its_key.next];
        if (!is_scalar(its_key.value)) refuse("must have keys that are texts or numbers, got another value.");
        count(depth, 1, 0);
        add(inside(text_of(its_key.value)), its_value.value, depth + 1, to);
        key = its_value.next;
      }
      const bool is_state = name == "model" || name == "model_state_dict" || name == "state_dict";
      if (depth == 1 && is_state && to.tensors.size() > tensors) {
        if (!to.state.empty())
          refuse("must have one model, got ", in_quotes(to.state + "*"), " and ", in_quotes(name), ".");
        to.state = name + ".";
      }
    } else if (value.kind != Kind::list) {
      keep(is_scalar(value) ? text_of(value) : "");
    } else {
      const auto [items, is_plain] = items_of(value);
      count(depth, items, 0);
      if (is_plain && items > kShownItems) return keep(concat("a list of ", items));
      std::string text;
      uint32_t item = lists_[value.at].first;
      for (size_t i = 0; item != 0; item = items_[item].next, ++i) {
        if (is_plain)
          text += concat(i == 0 ? "" : ", ", text_of(items_[item].value));
        else
          add(inside(i), items_[item].value, depth + 1, to);
      }
      if (is_plain) keep(concat("[", text, "]"));
    }
  }

  struct List {
    uint32_t first = 0, last = 0;  // of its items: places in items_, or 0
  };
  struct Item {
    PickleValue value;
    uint32_t next;  // the place of the item after it, or 0
  };

  std::string_view bytes_;
  const std::string& file_;
  size_t at_ = 0;  // of the next opcode
  // Containers that grow without a copy of twice their size.
  std::deque<PickleValue> stack_, memo_;  // of memo_: a mark for none
  std::deque<List> lists_;                // a dictionary's items: keys and values by turns
  std::deque<Item> items_{{{}, 0}};
  size_t visits_ = 0, result_ = 0;  // of the values; bytes of the result
};

}  // namespace

Pickle read_pickle(std::string_view bytes, const std::string& file) {
  return PickleReader(bytes, file).read();
}

}  // namespace gradus::foreign
