// `gradus info FILE`: what lies in safetensors files and shards.

#include "cli/program.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::cli::test_info_tensors {

using namespace gradus;
using Catch::Matchers::ContainsSubstring;

std::string with_header(const std::string& header, size_t data) {
  const uint64_t size = header.size();
  std::string file(sizeof size, '\0');
  std::memcpy(file.data(), &size, sizeof size);
  file += header;
  file.append(data, '\0');
  return file;
}

TEST_CASE("info lists the tensors of a file, of any dtype, with its metadata") {
  const Scratch scratch;
  const std::string file = scratch.file(
      "x.safetensors",
      with_header(
          R"({"__metadata__":{"format":"pt","note":"two\nlines"},)"
          R"("a":{"dtype":"F8_E4M3","shape":[2,3],"data_offsets":[0,6]},)"
          R"("c":{"dtype":"F4","shape":[3,2],"data_offsets":[6,9]},"d":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[9,12]},)"
          R"("e":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[12,14]},)"
          R"("\u001b[2Jb":{"dtype":"U64","shape":[],"data_offsets":[14,22]}})",
          22));
  const Outcome info = must("info", file);
  CHECK(info.out ==
        "tensor    dtype    shape   bytes\n"
        "a         F8_E4M3  (2, 3)      6\n"
        "c         F4       (3, 2)      3\n"
        "d         F6_E3M2  (4,)        3\n"
        "e         F8_E8M0  (2,)        2\n"
        "\\x1b[2Jb  U64      ()          8\n\n"
        "file        " +
            file + ", " + std::to_string(std::filesystem::file_size(file)) +
            " bytes\n"
            "tensors     5, 19 numbers: 1 of F4, 1 of F6_E3M2, 1 of F8_E4M3, 1 of F8_E8M0, 1 of U64\n"
            "metadata    format = pt\n"
            "metadata    note = two\\nlines\n");
}

TEST_CASE("info lists the shards of an index") {
  const Scratch scratch;
  nn::save_safetensors(scratch.path("a.safetensors"), {{"x", ones({2})}, {"z", ones({3})}});
  nn::save_safetensors(scratch.path("b.safetensors"), {{"y", ones({4}, DType::float64)}});
  const std::string whole =
      R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors", "z": "a.safetensors"}})";
  const std::string index = scratch.file("model.safetensors.index.json", whole);
  const Outcome info = must("info", index);
  CHECK_THAT(info.out, ContainsSubstring("tensor  dtype  shape  bytes  file\n"
                                         "x       F32    (2,)       8  a.safetensors\n"
                                         "z       F32    (3,)      12  a.safetensors\n"
                                         "y       F64    (4,)      32  b.safetensors\n") &&
                           ContainsSubstring(" bytes in 2 shards\n") &&
                           ContainsSubstring("3, 9 numbers: 2 of F32, 1 of F64\n") &&
                           ContainsSubstring("metadata    a.safetensors: format = pt\n"));
  std::ofstream(index) << R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})";
  check_refused(
      {"info", index},
      {"weight_map must list the tensors of its files, got 'z' of 'a.safetensors' listed nowhere."});
  std::ofstream(index) << whole;
  std::filesystem::remove(scratch.path("b.safetensors"));
  check_refused({"info", index}, {"weight_map must name files in the folder, got 'b.safetensors'"});
}

TEST_CASE("info of a file that is no safetensors says why") {
  const Scratch scratch;
  check_refused({"info", scratch.file("short", "abc")},
                {"must be safetensors (a length of 8 bytes, then {)", "begins with 'abc'."});
  check_refused({"info", scratch.file("text.txt", "In the beginning")},
                {"an archive of PyTorch (PK), or a pickle of protocol 2 to 5, got a "
                 "file that begins with 'In the be'."});
  check_refused({"info", scratch.file("other.json", "{}")}, {"must have a field 'weight_map'"});
}

}  // namespace gradus::cli::test_info_tensors
