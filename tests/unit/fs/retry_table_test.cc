#include "fs/retry_table.h"

#include <gmock/gmock.h>

#include "node_fixture.h"

namespace kvpagefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Purpose = RetryTable::Purpose;

constexpr uint32_t kTid = 11;
constexpr uint32_t kOtherTid = 12;
constexpr int64_t kStart = 1'000;
constexpr int64_t kEnd = kStart + RetryTable::kLifetimeNs;
constexpr NameView kName{kRootDir, "a"};

class RetryTableTest : public NodeTest {
 protected:
  RetryTable::Granted GrantOf(const std::string& name) {
    PageHold hold = Publish(name, "bytes of " + name);
    const PageInfo page = Info(hold.id());
    return {std::move(hold), page};
  }
  static std::shared_ptr<DraftFile> File(uint64_t counter) {
    return std::make_shared<DraftFile>(PageId::Make(1, counter).value, 1);
  }
  uint64_t Holds() { return state().tier->GetStats().holds; }

  RetryTable table_;
};

TEST_F(RetryTableTest, SecondStaleWithoutALookUpIsFinal) {
  EXPECT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart));
  EXPECT_EQ(table_.Expected(kTid, kName, kStart), Purpose::kRead);
  EXPECT_EQ(table_.Expected(kOtherTid, kName, kStart), std::nullopt);
  EXPECT_FALSE(table_.Expect(kTid, Purpose::kRead, kStart + 1));
  EXPECT_FALSE(table_.any());
  EXPECT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart + 2)) << "the next system call";
  EXPECT_TRUE(table_.Expect(kOtherTid, Purpose::kRead, kStart + 2)) << "threads are independent";
}

TEST_F(RetryTableTest, PurposeIsRememberedUntilFulfilled) {
  ASSERT_TRUE(table_.Expect(kTid, Purpose::kWrite, kStart));
  EXPECT_EQ(table_.Expected(kTid, kName, kStart), Purpose::kWrite);
  table_.Fulfil(kOtherTid);
  EXPECT_EQ(table_.Expected(kTid, kName, kStart), Purpose::kWrite);
  table_.Fulfil(kTid);
  EXPECT_EQ(table_.Expected(kTid, kName, kStart), std::nullopt);
  EXPECT_FALSE(table_.any());
  EXPECT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart + 1)) << "a new system call";
}

// The kernel checks its cached entry with one look-up and, when that fails, makes a new entry with a second.
TEST_F(RetryTableTest, FoundNothingLeavesOneMoreLookUpOfThatName) {
  constexpr NameView kOther{kRootDir, "b"};
  ASSERT_TRUE(table_.Expect(kTid, Purpose::kWrite, kStart));
  table_.FoundNothing(kTid, kName);
  EXPECT_EQ(table_.Expected(kTid, kName, kStart + 1), Purpose::kWrite);
  EXPECT_EQ(table_.Expected(kTid, kOther, kStart + 1), std::nullopt);
  EXPECT_EQ(table_.Expected(kTid, kName, kStart + RetryTable::kRepeatedWithinNs), std::nullopt);
  table_.FoundNothing(kTid, kName);
  EXPECT_EQ(table_.Expected(kTid, kName, kStart + 1), std::nullopt);
  EXPECT_FALSE(table_.any());
  ASSERT_TRUE(table_.Expect(kTid, Purpose::kWrite, kStart));
  table_.FoundNothing(kTid, kName);
  EXPECT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart + 2)) << "a new system call";
}

TEST_F(RetryTableTest, ExpectationThatIsTooOldDoesNotCount) {
  EXPECT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart));
  EXPECT_TRUE(table_.Expect(kTid, Purpose::kRead, kEnd + 1));
}

TEST_F(RetryTableTest, GrantIsTakenOnceByItsThreadForItsPage) {
  ASSERT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart));
  RetryTable::Granted granted = GrantOf("a");
  const PageId id = granted.page.id;
  table_.Grant(kTid, std::move(granted));
  EXPECT_FALSE(table_.TakeGrant(kOtherTid, id).has_value());
  const auto taken = table_.TakeGrant(kTid, id);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->page.id, id);
  EXPECT_TRUE(taken->hold);
  EXPECT_FALSE(table_.TakeGrant(kTid, id).has_value());
  EXPECT_FALSE(table_.any());
}

TEST_F(RetryTableTest, GrantForAnotherPageIsGivenUp) {
  ASSERT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart));
  table_.Grant(kTid, GrantOf("a"));
  EXPECT_EQ(Holds(), 1u);
  EXPECT_FALSE(table_.TakeGrant(kTid, PageId::Make(1, 999)).has_value());
  EXPECT_EQ(Holds(), 0u);
}

TEST_F(RetryTableTest, GrantWithoutAnExpectationIsNotKept) {
  table_.Grant(kTid, GrantOf("a"));
  EXPECT_EQ(Holds(), 0u);
  EXPECT_FALSE(table_.any());
}

TEST_F(RetryTableTest, NewerGrantReplacesTheOlder) {
  ASSERT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart));
  table_.Grant(kTid, GrantOf("a"));
  RetryTable::Granted second = GrantOf("b");
  const PageId id = second.page.id;
  table_.Grant(kTid, std::move(second));
  EXPECT_EQ(Holds(), 1u);
  EXPECT_TRUE(table_.TakeGrant(kTid, id).has_value());
}

TEST_F(RetryTableTest, PromisedFileIsLedToByItsThreadAndNameOnly) {
  const auto file = File(1);
  EXPECT_EQ(table_.ExpectWrite(kTid, file, {kRootDir, "a"}, kStart), nullptr);
  EXPECT_EQ(table_.WriteExpected(kTid, kName), file);
  EXPECT_EQ(table_.WriteExpected(kTid, kName), file) << "the kernel may look up twice";
  EXPECT_EQ(table_.WriteExpected(kOtherTid, kName), nullptr);
  EXPECT_EQ(table_.WriteExpected(kTid, {kRootDir, "b"}), nullptr);
  EXPECT_EQ(table_.WriteExpected(kTid, {DirId{99}, "a"}), nullptr);
}

TEST_F(RetryTableTest, PromiseIsFulfilledOnce) {
  const auto file = File(1);
  const auto other = File(2);
  table_.ExpectWrite(kTid, file, {kRootDir, "a"}, kStart);
  EXPECT_FALSE(table_.FinishWrite(kTid, other.get()));
  EXPECT_FALSE(table_.FinishWrite(kOtherTid, file.get()));
  EXPECT_TRUE(table_.FinishWrite(kTid, file.get()));
  EXPECT_FALSE(table_.FinishWrite(kTid, file.get()));
  EXPECT_FALSE(table_.any());
}

TEST_F(RetryTableTest, EarlierPromiseOfTheThreadComesBack) {
  const auto file = File(1);
  const auto second = File(2);
  table_.ExpectWrite(kTid, file, {kRootDir, "a"}, kStart);
  EXPECT_EQ(table_.ExpectWrite(kTid, second, {kRootDir, "b"}, kStart), file);
  EXPECT_EQ(table_.WriteExpected(kTid, kName), nullptr);
}

TEST_F(RetryTableTest, PromisesExpire) {
  const auto file = File(1);
  const auto later = File(2);
  table_.ExpectWrite(kTid, file, {kRootDir, "a"}, kStart);
  table_.ExpectWrite(kOtherTid, later, {kRootDir, "b"}, kStart + 10);
  ASSERT_TRUE(table_.Expect(kTid, Purpose::kRead, kStart));
  table_.Grant(kTid, GrantOf("a"));
  EXPECT_THAT(table_.Expire(kEnd - 1), IsEmpty());
  EXPECT_EQ(Holds(), 1u);
  EXPECT_THAT(table_.Expire(kEnd), ElementsAre(file));
  EXPECT_EQ(Holds(), 0u);
  EXPECT_EQ(table_.WriteExpected(kTid, kName), nullptr);
  EXPECT_TRUE(table_.any());
  EXPECT_THAT(table_.Expire(INT64_MAX), ElementsAre(later));
  EXPECT_FALSE(table_.any());
}

}  // namespace
}  // namespace kvpagefs
