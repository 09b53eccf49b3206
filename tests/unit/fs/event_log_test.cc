#include "fs/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace kvpagefs {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(EventLog, OneLineAnEvent) {
  EventLog log;
  EXPECT_EQ(log.Text(), "");
  log.Add(1'700'000'000'123'456'789, "publish", {kRootDir, "a.bin"}, 4096);
  log.Add(1'700'000'001'000'000'000, "unlink", {DirId{70}, "b"}, 0);
  EXPECT_EQ(log.Text(),
            "1 2023-11-14T22:13:20.123Z publish 4096 1 a.bin\n"
            "2 2023-11-14T22:13:21.000Z unlink 0 70 b\n");
}

TEST(EventLog, NamesAreEscaped) {
  EventLog log;
  log.Add(0, "publish", {kRootDir, std::string("a b\n\\\x7f\xc3\xa4~!")}, 1);
  EXPECT_THAT(log.Text(), EndsWith(" 1 a\\040b\\012\\134\\177\\303\\244~!\n"));
  const std::string text = log.Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(EventLog, KeepsTheLastOnes) {
  EventLog log;
  for (size_t i = 0; i < EventLog::kCapacity + 10; ++i) log.Add(0, "evict", {kRootDir, "n"}, i);
  const std::string text = log.Text();
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), EventLog::kCapacity);
  EXPECT_THAT(text, StartsWith("11 ")) << "numbers go on";
}

}  // namespace
}  // namespace kvpagefs
