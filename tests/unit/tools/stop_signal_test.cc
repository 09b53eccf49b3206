#include "tools/stop_signal.h"

#include <csignal>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(StopSignal, RemembersASignalAndRestoresTheMask) {
  {
    StopSignal stop;
    EXPECT_FALSE(stop.Requested());
    ASSERT_EQ(::raise(SIGTERM), 0);
    EXPECT_TRUE(stop.Requested());
    EXPECT_TRUE(stop.Requested());
  }
  sigset_t mask;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &mask), 0);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
}

}  // namespace
}  // namespace kvpagefs
