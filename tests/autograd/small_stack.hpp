// A thread with little stack: what recurses in proportion to its input dies there.
#pragma once

#include <pthread.h>

#include <functional>

#include "catch.hpp"

namespace gradus::testing {

/// Runs f on a thread with a stack of 256 KiB and waits for it. f must not throw, nor CHECK.
inline void run_on_small_stack(std::function<void()> f) {
  pthread_attr_t attributes;
  pthread_t thread;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  const auto entry = [](void* p) -> void* {
    (*static_cast<std::function<void()>*>(p))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, entry, &f) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace gradus::testing
