#include "fs/virtual_xattrs.h"

#include <fmt/format.h>

#include <set>

#include "node_fixture.h"

namespace kvpagefs {
namespace {

using ::testing::Optional;

class VirtualXattrsTest : public NodeTest {
 protected:
  std::optional<std::string> Get(const PageInfo& page, std::string_view key) {
    return VirtualXattr(state(), page, {}, key);
  }
};

TEST_F(VirtualXattrsTest, EveryNameHasThePrefixAndAValue) {
  const PageInfo page = Info(Publish("a", "bytes").id());
  std::set<std::string_view> names;
  for (const std::string_view name : VirtualXattrNames()) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(name.starts_with(kVirtualXattrPrefix)) << name;
    EXPECT_TRUE(Get(page, name).has_value()) << name;
  }
  EXPECT_EQ(names.count(kPinXattr), 1u);
  EXPECT_FALSE(Get(page, "user.kvpagefs.").has_value());
  EXPECT_FALSE(Get(page, "user.kvpagefs.tie").has_value());
  EXPECT_FALSE(Get(page, "tier").has_value());
}

TEST_F(VirtualXattrsTest, ValuesOfAPageInMemory) {
  const PageInfo page = Info(Publish("a", "bytes", Pin::kSoft).id());
  EXPECT_THAT(Get(page, "user.kvpagefs.tier"), Optional(std::string("memory")));
  EXPECT_THAT(Get(page, "user.kvpagefs.replicas"), Optional(std::string("node-a:memory")));
  EXPECT_THAT(Get(page, "user.kvpagefs.page_id"), Optional(fmt::format("{:016x}", page.id.value)));
  EXPECT_THAT(Get(page, "user.kvpagefs.checksum"), Optional(fmt::format("xxh3:{:016x}", page.checksum)));
  EXPECT_THAT(Get(page, "user.kvpagefs.pin"), Optional(std::string("soft")));
}

TEST_F(VirtualXattrsTest, ReadersAreCounted) {
  const PageInfo page = Info(Publish("a", "bytes").id());
  EXPECT_THAT(Get(page, "user.kvpagefs.reads"), Optional(std::string("0")));
  EXPECT_THAT(Get(page, "user.kvpagefs.last_reader"), Optional(std::string("none")));
  ASSERT_TRUE(state().tier->Hold(page.id, MemoryTier::Touch::kRead, 4711).ok());
  ASSERT_TRUE(state().tier->Hold(page.id, MemoryTier::Touch::kNone).ok());
  EXPECT_THAT(Get(page, "user.kvpagefs.reads"), Optional(std::string("1")));
  EXPECT_THAT(Get(page, "user.kvpagefs.last_reader"), Optional(std::string("node-a:4711")));
}

TEST_F(VirtualXattrsTest, PageThatIsNowhere) {
  const PageInfo page = Info(Publish("a", "bytes").id());
  ASSERT_TRUE(state().tier->Remove(page.id).ok());
  EXPECT_THAT(Get(page, "user.kvpagefs.tier"), Optional(std::string("none")));
  EXPECT_THAT(Get(page, "user.kvpagefs.replicas"), Optional(std::string()));
  EXPECT_THAT(Get(page, "user.kvpagefs.reads"), Optional(std::string("0")));
}

}  // namespace
}  // namespace kvpagefs
