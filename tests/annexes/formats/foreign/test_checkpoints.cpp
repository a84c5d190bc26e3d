// Files of PyTorch, which make_checkpoints.py wrote, and what is wrong with some.
#include "autograd/compare.hpp"
#include "gradus/annexes/formats/foreign/pickle.hpp"
#include "gradus/annexes/formats/foreign/zip.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/safetensors.hpp"
#include "temporary_folder.hpp"
#include "test_files.hpp"

namespace gradus::nn::test_checkpoints {

using namespace testing;

const std::filesystem::path kGolden = testing::test_files() / "nn/golden/checkpoints";

std::string opening(const std::string& bytes) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "x", std::ios::binary) << bytes;
  const std::string path = (folder / "x").string();
  std::string message = error_of([&] {
    const auto file = open_tensors(folder / "x");
    for (const TensorEntry& entry : file->header().entries)
      if (dtype_bits(entry.dtype) != 8) (void)file->read(entry, true);
  });
  if (const size_t at = message.find(path); at != message.npos) message.replace(at, path.size(), "x");
  return message;
}

std::string with(std::string bytes, const std::string& from, const std::string& to) {
  const size_t at = bytes.find(from);
  REQUIRE(at != bytes.npos);
  return bytes.replace(at, from.size(), to);
}

/// A pickle of protocol 2.
std::string pickled(const std::string& opcodes) { return "\x80\x02" + opcodes + "."; }

std::string unpickling(const std::string& bytes) {
  return error_of([&] { (void)foreign::read_pickle(bytes, "x"); });
}

TEST_CASE("tensors of a checkpoint have the values that PyTorch gave them") {
  const std::string name = GENERATE("views.pt", "deflated.pt", "protocol5.pt");
  const StateDict expected = load_safetensors(kGolden / "views.safetensors", /*keep_float64=*/true);
  const auto file = open_tensors(kGolden / name);
  CHECK(file->header().entries.size() == expected.size());
  for (const TensorEntry& entry : file->header().entries) {
    INFO(entry.name);
    Tensor read = file->read(entry, /*keep_float64=*/true);
    if (entry.name == "flags") {
      CHECK(read.dtype() == DType::boolean);
      read = read.to(DType::int64);
    }
    CHECK(difference(read, expected.at(entry.name), 0.0) == "");
  }
}

TEST_CASE("dtypes, shapes and plain values of a checkpoint") {
  const auto file = open_tensors(kGolden / "nano.pt");
  CHECK(file->header().state == "model.");
  const Metadata& values = file->header().metadata;
  CHECK(values.at("model_args.n_layer") == "2");
  CHECK(values.at("model_args.bias") == "true");
  CHECK(values.at("iter_num") == "2000");
  CHECK(values.at("config.dataset") == "shakespeare_char");
  CHECK(values.at("config.beta2") == "0.99");
  CHECK(values.at("optimizer.param_groups.0.betas") == "[0.9, 0.999]");
  std::map<std::string, std::string> shapes;
  for (const TensorEntry& entry : file->header().entries)
    shapes[entry.name] = concat(entry.dtype, " ", entry.shape);
  CHECK(shapes.at("model._orig_mod.transformer.wte.weight") == "F32 (11, 16)");
  CHECK(shapes.at("optimizer.state.0.exp_avg") == "F32 (4,)");
  CHECK(shapes.at("best_val_loss") == "F32 ()");

  const auto views = open_tensors(kGolden / "views.pt");
  CHECK(views->header().metadata.at("nested.list.2") == "x");
  const auto dtype = [&](const std::string& name) {
    for (const TensorEntry& entry : views->header().entries)
      if (entry.name == name) return entry.dtype;
    return std::string();
  };
  CHECK(dtype("bf16") == "BF16");
  CHECK(dtype("half") == "F16");
  CHECK(dtype("flags") == "BOOL");
  CHECK(open_tensors(kGolden / "meta.pkl")->header().metadata.at("itos.0") == "\n");
}

TEST_CASE("a pickle that calls anything is refused by its name, and nothing runs") {
  CHECK_ERROR(open_tensors(kGolden / "evil.pt"),
              "must call nothing but what makes dictionaries and tensors, got 'posix.system'.");
  CHECK_ERROR(open_tensors(kGolden / "evil.pkl"), "got 'posix.system'.");  // by STACK_GLOBAL, of protocol 4
  CHECK_FALSE(std::filesystem::exists("evil"));
  CHECK_ERROR(open_tensors(kGolden / "old.pt"), "must be a zip archive, as PyTorch writes since 1.6");
  CHECK_HAS(unpickling(pickled("cbuiltins\neval\n")), "got 'builtins.eval'.");
}

TEST_CASE("damaged pickles") {
  const std::string kTensor =
      "ctorch._utils\n_rebuild_tensor_v2\n((\x8c\7storagectorch\nFloatStorage\n\x8c\1z\x8c\3cpuK\1tQK\1))"
      "\x89}tR";
  struct Bad {
    std::string opcodes, reason;
  };
  const Bad bads[] = {
      {"", "must take values from its stack that it put there, got an empty stack."},
      {"0", "with which PyTorch writes plain values, dictionaries and tensors, got 48."},
      {"}t", "must have a mark on its stack, got none."},
      {"]K\1K\2s", "must put items into lists and dictionaries, got another value."},
      {"h\1", "must recall a value that it has kept, got number 1."},
      {"K\1)R", "must call a name with a tuple, got other values."},
      {"K\1K\1\x93", "must name a function by two texts, got other values."},
      {"ctorch._utils\n_rebuild_tensor_v2\n)R", "must give tensors the arguments that PyTorch gives them"},
      {"ctorch._utils\n_rebuild_tensor_v2\n((\x8c\7storagectorch\nFloatStorage\n\x8c\1z\x8c\3cpuK\1tQK\1))"
       "\x89}}\x8c\3neg\x88stR",
       "must have tensors whose values are those of their storages, got one with other options."},
      {"}(\x8c\5model}\x8c\1x" + kTensor + "s\x8c\nstate_dict}\x8c\1x" + kTensor + "su",
       "must have one model, got 'model.*' and 'state_dict'."},
      {"]q\1h\1a", "must be nested in at most 64 levels"},
      {"}]K\1s", "must have keys that are texts or numbers, got another value."}};
  for (const Bad& bad : bads) {
    INFO(bad.opcodes);
    CHECK_HAS(unpickling(pickled(bad.opcodes)), "[pickle] x: " + std::string(), bad.reason);
  }
  CHECK_HAS(unpickling("\x80\x02K"), "the file was cut short");
  // Lists of lists, each twice in the next: 2^40 values in a few bytes.
  std::string doubled = "]q";
  doubled += '\0';
  doubled += "K\1a";
  for (char i = 1; i < 41; ++i)
    doubled += std::string("]q") + i + "(h" + char(i - 1) + "h" + char(i - 1) + "e";
  CHECK_HAS(unpickling(pickled(doubled)), "nested in at most 64 levels");
}

TEST_CASE("what a small pickle or archive may make is bounded by its size") {
  const std::string refused = "have no value in many places, got a result of many times its";
  // 1,000 numbers in 200 lists in 200 lists.
  std::string wide = std::string("]q\0(", 4);
  for (int i = 0; i < 1000; ++i) wide += "K\1";
  wide += "e";
  for (char i = 1; i < 3; ++i) {
    wide += std::string("]q") + i + "(";
    for (int j = 0; j < 200; ++j) wide += std::string("h") + char(i - 1);
    wide += "e";
  }
  CHECK_HAS(unpickling(pickled(wide)), refused);
  // A name of 10,000 letters, twice in each of 2,000 names.
  std::string names = std::string("}(X\x10\x27\0\0", 7) + std::string(10'000, 'a') + std::string("q\0}(", 4);
  for (int i = 0; i < 2000; ++i) names += std::string("h\0}", 3);
  CHECK_HAS(unpickling(pickled(names + "uu")), refused);
  CHECK_HAS(unpickling(pickled(std::string("Nr\xFF\xFF\xFF\x7F", 6))),
            "must number the values that it keeps from 0 on");
  CHECK_HAS(unpickling(pickled("(" + std::string(1'000'000, ')') + "t")), refused);
  CHECK(unpickling(pickled("(" + std::string(1'000'000, 'N') + "t")) == "");
}

TEST_CASE("a checkpoint that was cut or changed at any byte is refused, or is the same") {
  const std::string bytes = files::read(kGolden / "views.pt");
  for (size_t end = 0; end < bytes.size(); end += 61) {
    INFO(end);
    CHECK(opening(bytes.substr(0, end)) != "");
  }
  CHECK_THAT(opening(bytes.substr(0, bytes.size() - 1)),
             Catch::Matchers::StartsWith("[zip] x: must end with"));
  const std::string value(reinterpret_cast<const char*>("\0\0\x98\x41"), 4);  // 19
  CHECK_HAS(opening(with(bytes, value, std::string("\0\0\x99\x41", 4))),
            "must have the bytes of its checksum");
}

TEST_CASE("archives that overlap, lie or are of another kind") {
  const std::string bytes = files::read(kGolden / "deflated.pt");
  const size_t directory = bytes.find("PK\1\2"), second = bytes.find("PK\1\2", directory + 4);
  REQUIRE(second != bytes.npos);
  const auto changed = [&](size_t at, const std::string& to) {
    return opening(std::string(bytes).replace(at, to.size(), to));
  };
  // The second file is where the first one is.
  CHECK_HAS(changed(second + 42, std::string(4, '\0')), "must not overlap");
  CHECK_HAS(changed(directory + 24, "\xFF\xFF\xFF\x7F"), "have a size that its");
  CHECK_HAS(changed(directory + 10, "\x0C"), "got compression method 12.");
  CHECK_HAS(changed(directory + 8, "\1"), "not be encrypted.");
  CHECK_HAS(changed(directory + 20, "\xFF\xFF\xFF\x7F"), "must lie before the directory");
  std::string other = files::read(kGolden / "views.pt");
  while (other.find("data.pkl") != other.npos) other = with(other, "data.pkl", "date.pkl");
  CHECK_HAS(opening(other), "must have one data.pkl, as a checkpoint of PyTorch has, got 0.");
  CHECK_HAS(opening("\x93NUMPY\1"), "must be safetensors");
}

}  // namespace gradus::nn::test_checkpoints
