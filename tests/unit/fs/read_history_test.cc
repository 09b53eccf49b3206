#include "fs/read_history.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

PageId Id(uint64_t counter) { return PageId::Make(1, counter); }

TEST(ReadHistoryTest, RemembersTheLastOnes) {
  ReadHistory history(3);
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_FALSE(history.Note(Id(i)));
  EXPECT_TRUE(history.Note(Id(1))) << "1 is now the latest";
  EXPECT_FALSE(history.Note(Id(4)));
  EXPECT_FALSE(history.Contains(Id(2)));
  EXPECT_FALSE(history.Note(Id(5)));
  EXPECT_FALSE(history.Contains(Id(3)));
  EXPECT_TRUE(history.Contains(Id(1)));
  EXPECT_TRUE(history.Contains(Id(4)));
  EXPECT_TRUE(history.Contains(Id(5)));
}

TEST(ReadHistoryTest, ForgetsWhatIsGone) {
  ReadHistory history(2);
  history.Note(Id(1));
  history.Forget(Id(1));
  history.Forget(Id(9));
  EXPECT_FALSE(history.Contains(Id(1)));
  EXPECT_FALSE(history.Note(Id(1)));
}

TEST(ReadHistoryTest, OnePlace) {
  ReadHistory history(1);
  EXPECT_FALSE(history.Note(Id(1)));
  EXPECT_TRUE(history.Note(Id(1)));
  EXPECT_FALSE(history.Note(Id(2)));
  EXPECT_FALSE(history.Contains(Id(1)));
}

}  // namespace
}  // namespace kvpagefs
