// The tests' main, for a Catch2 that comes without a library of its own.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
