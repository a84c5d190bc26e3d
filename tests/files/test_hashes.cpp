#include "gradus/files/hashes.hpp"

#include "catch.hpp"

namespace test_hashes {

using namespace gradus::files;

TEST_CASE("crc32 is that of zip") {
  CHECK(hex32(crc32("")) == "00000000");
  CHECK(hex32(crc32("123456789")) == "cbf43926");  // the check value of the catalogues
  // From zlib.
  CHECK(hex32(crc32(std::string(1000, 'x'))) == "3b41c9e6");
}

TEST_CASE("crc32 of the parts is crc32 of the whole, wherever it is cut") {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(i * i);
  for (size_t cut = 0; cut <= bytes.size(); ++cut)
    CHECK(crc32(bytes.substr(cut), crc32(bytes.substr(0, cut))) == crc32(bytes));
}

TEST_CASE("sha256 gives the digests of NIST's examples") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
            "mnopqrstnopqrstu") == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(sha256(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 pads every length around a block") {
  // From sha256sum.
  CHECK(sha256(std::string(55, 'x')) == "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  CHECK(sha256(std::string(56, 'x')) == "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  CHECK(sha256(std::string(63, 'x')) == "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  CHECK(sha256(std::string(64, 'x')) == "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  CHECK(sha256(std::string(119, '\xff')) ==
        "b863f94597d433ef2280e3b4656f13ea265a79bb8047287321c218905b03c99b");
}

TEST_CASE("sha256 of pieces is that of the whole, wherever it is cut") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (const size_t first : {0, 1, 63, 64, 65, 128, 200})
    for (const size_t second : {0, 1, 63, 64, 100}) {
      Sha256 sum;
      sum.add(std::string_view(text).substr(0, first));
      sum.add(std::string_view(text).substr(first, second));
      sum.add(std::string_view(text).substr(first + second));
      CHECK(sum.digest() == sha256(text));
    }
}

}  // namespace test_hashes
