#include "tests/mount/contract_side.h"

#include <set>

#include "tests/mount/intended_differences.h"

namespace kvpagefs::mount_test {
namespace {

std::string TestName() {
  const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(info->test_suite_name()) + "." + info->name();
}

const IntendedDifference* FindDifference(const std::string& step) {
  const std::string operation = TestName() + ": " + step;
  for (const IntendedDifference& row : IntendedDifferences()) {
    if (row.operation == operation) return &row;
  }
  return nullptr;
}

}  // namespace

void ContractTest::CompareLine(const std::pair<std::string, std::string>& plain,
                               const std::pair<std::string, std::string>& mount) {
  const std::string& step = plain.first;
  ASSERT_EQ(step, mount.first) << "the script took another way on the mount";
  const IntendedDifference* row = FindDifference(step);
  if (row == nullptr) {
    EXPECT_EQ(plain.second, mount.second) << "step '" << step << "': plain directory (first) and mount (second) differ";
    return;
  }
  if (row->plain != kAnything) {
    EXPECT_EQ(plain.second, row->plain) << "plain directory, step '" << step << "'";
  }
  if (!test_options_.plain) {
    EXPECT_EQ(mount.second, row->kvpagefs) << "mount, step '" << step << "': " << row->reason;
  }
}

void ContractTest::Compare(const Script& script) {
  Side plain(plain_->path(), test_options_.seed);
  Side mount(node_->dir(), test_options_.seed);
  script(plain);
  script(mount);
  ASSERT_EQ(plain.notes().size(), mount.notes().size());
  std::set<std::string> steps;
  for (size_t i = 0; i < plain.notes().size(); ++i) {
    CompareLine(plain.notes()[i], mount.notes()[i]);
    EXPECT_TRUE(steps.insert(plain.notes()[i].first).second) << "step named twice: " << plain.notes()[i].first;
  }
  for (const IntendedDifference& row : IntendedDifferences()) {
    const std::string prefix = TestName() + ": ";
    if (!row.operation.starts_with(prefix)) continue;
    EXPECT_TRUE(steps.contains(std::string(row.operation.substr(prefix.size())))) << "no such step: " << row.operation;
  }
}

// Every row of the table belongs to a test that exists.
TEST(IntendedDifferences, NameTestsThatExist) {
  std::set<std::string> names;
  const testing::UnitTest* unit = testing::UnitTest::GetInstance();
  for (int i = 0; i < unit->total_test_suite_count(); ++i) {
    const testing::TestSuite* suite = unit->GetTestSuite(i);
    for (int j = 0; j < suite->total_test_count(); ++j) {
      names.insert(std::string(suite->name()) + "." + suite->GetTestInfo(j)->name());
    }
  }
  for (const IntendedDifference& row : IntendedDifferences()) {
    EXPECT_TRUE(names.contains(std::string(row.operation.substr(0, row.operation.find(": "))))) << row.operation;
    EXPECT_FALSE(row.reason.empty()) << row.operation;
  }
}

}  // namespace kvpagefs::mount_test
