#include "test_files.hpp"

std::filesystem::path gradus::testing::test_files() { return GRADUS_TEST_FILES; }
