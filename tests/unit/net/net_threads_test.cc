// net_threads.cc
#include "net/net_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <set>

#include "unit/net/wait_for.h"

namespace kvpagefs {
namespace {

TEST(NetThreads, RunsOnEachThread) {
  NetThreads threads(3);
  std::set<std::string> names;
  for (int i = 0; i < 6; ++i) {
    std::promise<std::string> name;
    threads.After(i, [&] {
      char text[32] = "";
      pthread_getname_np(pthread_self(), text, sizeof(text));
      name.set_value(text);
    });
    names.insert(net_test::Await(name.get_future()));
  }
  EXPECT_EQ(names, (std::set<std::string>{"net-0", "net-1", "net-2"}));
}

TEST(NetThreads, AtLeastOne) {
  NetThreads threads(0);
  std::promise<int> done;
  threads.After(0, [&] { done.set_value(1); });
  EXPECT_EQ(net_test::Await(done.get_future()), 1);
}

TEST(NetThreads, DestructionDropsWhatIsToCome) {
  const auto kept = std::make_shared<int>(0);
  {
    NetThreads threads(2);
    for (int i = 0; i < 4; ++i) threads.After(1'000'000, [kept] { ADD_FAILURE(); });
    EXPECT_EQ(kept.use_count(), 5);
  }
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace kvpagefs
