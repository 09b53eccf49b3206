// Bytes that no node of ours sends: every request is answered, and what was there stays whole.
#include <random>

#include "unit/meta/meta_server_fixture.h"

namespace kvpagefs {
namespace {

using testing::FakeNode;

class MetaServerFuzzTest : public testing::MetaServerFixture {
 protected:
  // Requests that are right, to be mutated.
  std::vector<std::pair<MetaMethod, std::string>> Samples(const FakeNode& node) {
    std::vector<std::pair<MetaMethod, std::string>> samples;
    const auto add = [&](MetaMethod method, const google::protobuf::Message& message) {
      samples.emplace_back(method, message.SerializeAsString());
    };
    const PageInfo page = PageOf(node.number(), 3, 4);
    const wire::NameRequest name = FakeNode::Named("p");
    wire::IdRequest id;
    id.set_id(page.id.value);
    wire::ChangeRequest change;
    ToWire(AttributeChange{.set_mode = true, .set_uid = true, .set_gid = true, .set_mtime = true, .owner = {1, 2, 3}},
           page.id.value, &change);
    wire::XattrRequest xattr;
    xattr.set_id(page.id.value);
    xattr.set_key("user.k");
    xattr.set_value("v");
    wire::HoldingsRequest holdings;
    holdings.add_held()->set_id(page.id.value);
    holdings.mutable_held(0)->set_tiers(2);
    wire::AnnounceRequest announce;
    ToWire(PageOf(node.number(), 5), announce.add_pages()->mutable_page());
    announce.mutable_pages(0)->set_description(EncodeDescription({.page = page, .path = {"d", "q"}, .xattrs = {}}));
    announce.mutable_pages(0)->set_tiers(1);
    wire::RenameRequest rename;
    *rename.mutable_from() = name.name();
    *rename.mutable_to() = FakeNode::Named("q").name();
    wire::PinRequest pin;
    pin.set_id(page.id.value);
    wire::ListRequest list;
    list.set_dir(1);
    wire::MakeDirRequest make;
    *make.mutable_name() = FakeNode::Named("d").name();
    add(MetaMethod::kHoldings, holdings);
    add(MetaMethod::kAnnounce, announce);
    add(MetaMethod::kLookup, name);
    add(MetaMethod::kFindPage, id);
    add(MetaMethod::kFindDir, id);
    add(MetaMethod::kPublish, FakeNode::PublishRequestOf("p", page));
    add(MetaMethod::kRename, rename);
    add(MetaMethod::kUnlink, name);
    add(MetaMethod::kMakeDir, make);
    add(MetaMethod::kRemoveDir, FakeNode::Named("d"));
    add(MetaMethod::kChangePage, change);
    add(MetaMethod::kChangeDir, change);
    add(MetaMethod::kSetPin, pin);
    add(MetaMethod::kSetXattr, xattr);
    add(MetaMethod::kGetXattr, xattr);
    add(MetaMethod::kRemoveXattr, xattr);
    add(MetaMethod::kGetXattrs, id);
    add(MetaMethod::kList, list);
    add(MetaMethod::kHeartbeat, wire::HeartbeatRequest());
    add(MetaMethod::kMembers, wire::Empty());
    return samples;
  }
};

TEST_F(MetaServerFuzzTest, MutatedRequestsAreAnswered) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    Restart("");
    std::mt19937 random(seed);
    const auto a = Node("a");
    const auto b = Node("b");
    const auto samples = Samples(*a);
    for (int i = 0; i < 4000; ++i) {
      FakeNode* node = random() % 2 == 0 ? a.get() : b.get();
      auto [method, bytes] = samples[random() % samples.size()];
      const size_t mutations = random() % 4;
      for (size_t m = 0; m < mutations && !bytes.empty(); ++m) {
        switch (random() % 4) {
          case 0: bytes[random() % bytes.size()] = static_cast<char>(random()); break;
          case 1: bytes.resize(random() % bytes.size()); break;
          case 2: bytes.insert(random() % bytes.size(), 1, static_cast<char>(random())); break;
          default: bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
        }
      }
      // A sample may also go to another method.
      const auto number = random() % 10 == 0 ? static_cast<uint16_t>(random() % 30) : static_cast<uint16_t>(method);
      const uint64_t call = node->StartBytes(number, bytes);
      a->Acknowledge();
      b->Acknowledge();
      ASSERT_TRUE(node->IsAnswered(call)) << "seed " << seed << " step " << i;
      if (!a->Heartbeat()) {
        ASSERT_TRUE(a->Join().ok());
      }
      if (!b->Heartbeat()) {
        ASSERT_TRUE(b->Join().ok());
      }
      if (i % 50 == 0) Pass(100, {a.get(), b.get()});
    }
    Pass(2000, {a.get(), b.get()});
    EXPECT_LE(server_->GetStats().names.pages, server_->GetStats().pages_with_copies);  // D1
  }
}

}  // namespace
}  // namespace kvpagefs
