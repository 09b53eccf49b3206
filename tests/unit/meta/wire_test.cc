#include "meta/wire.h"

#include <gtest/gtest.h>

#include <random>

#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

using testing::Page;

template <class Message, class Value>
Message Sent(const Value& value) {
  Message message;
  ToWire(value, &message);
  const Result<Message> parsed = Parse<Message>(message.SerializeAsString());
  EXPECT_TRUE(parsed.ok());
  return *parsed;
}

TEST(Wire, PagesComeBack) {
  PageInfo page = Page(9, 77, -5);
  page.pin = Pin::kHard;
  page.owner = {UINT32_MAX, 1, 07777};
  page.checksum = UINT64_MAX;
  EXPECT_TRUE(testing::Same(FromWire(Sent<wire::Page>(page)), page));
}

TEST(Wire, DirectoriesComeBack) {
  const DirInfo dir{
      .id = DirId{70}, .parent = DirId{1}, .mtime_ns = 8, .owner = {1, 2, 0755}, .entries = 9, .directories = 3};
  const DirInfo back = FromWire(Sent<wire::Dir>(dir));
  EXPECT_EQ(back.id, dir.id);
  EXPECT_EQ(back.parent, dir.parent);
  EXPECT_EQ(back.mtime_ns, dir.mtime_ns);
  EXPECT_EQ(back.owner, dir.owner);
  EXPECT_EQ(back.entries, dir.entries);
  EXPECT_EQ(back.directories, dir.directories);
}

TEST(Wire, NamesAreBytes) {
  const std::string name = "\xff\x80 a\n";
  wire::NameRequest request;
  ToWire(NameView{DirId{5}, name}, request.mutable_name());
  const auto parsed = Parse<wire::NameRequest>(request.SerializeAsString());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(FromWire(parsed->name()).name, name);
  EXPECT_EQ(FromWire(parsed->name()).parent, DirId{5});
}

TEST(Wire, OutcomesXattrsAndChangesComeBack) {
  Namespace::Outcome outcome{.page = Page(3), .dropped = Page(2).id, .replaced = true};
  Namespace::Outcome back = FromWire(Sent<wire::OutcomeReply>(outcome));
  EXPECT_EQ(back.dropped, outcome.dropped);
  EXPECT_TRUE(back.replaced);
  EXPECT_TRUE(testing::Same(back.page, outcome.page));
  outcome.dropped.reset();
  EXPECT_FALSE(FromWire(Sent<wire::OutcomeReply>(outcome)).dropped.has_value());

  const Xattrs xattrs = {{"user.a", std::string("\0x", 2)}, {"user.b", ""}};
  wire::XattrsReply reply;
  ToWire(xattrs, reply.mutable_xattrs());
  EXPECT_EQ(FromWire(reply.xattrs()), xattrs);

  AttributeChange change;
  change.set_mode = change.set_mtime = true;
  change.owner = {1, 2, 0600};
  change.mtime_ns = -9;
  wire::ChangeRequest request;
  ToWire(change, 12, &request);
  const AttributeChange changed = FromWire(request);
  EXPECT_EQ(request.id(), 12u);
  EXPECT_TRUE(changed.set_mode && changed.set_mtime);
  EXPECT_FALSE(changed.set_uid || changed.set_gid);
  EXPECT_EQ(changed.owner, change.owner);
  EXPECT_EQ(changed.mtime_ns, -9);
}

TEST(Wire, MembersComeBack) {
  Member member{.number = 3, .name = "kv1", .address = "10.0.0.1:7710", .state = "up", .heard_ms_ago = 7, .use = {}};
  member.use = {.memory_bytes = 1, .memory_used_bytes = 2, .ssd_bytes = 3, .ssd_used_bytes = 4, .pages = 5};
  const Member back = FromWire(Sent<wire::Member>(member));
  EXPECT_EQ(back.number, 3);
  EXPECT_EQ(back.name, "kv1");
  EXPECT_EQ(back.address, "10.0.0.1:7710");
  EXPECT_EQ(back.state, "up");
  EXPECT_EQ(back.heard_ms_ago, 7u);
  EXPECT_EQ(back.use.ssd_used_bytes, 4u);
  EXPECT_EQ(back.use.pages, 5u);
}

TEST(Wire, WhatNobodySaysIsHarmless) {
  wire::Page page;
  page.set_pin(99);
  page.mutable_owner()->set_mode(0xFFFFFFFF);
  EXPECT_EQ(FromWire(page).pin, Pin::kNone);
  EXPECT_EQ(FromWire(page).owner.mode, 07777);
  EXPECT_EQ(TiersFromWire(0xFF), kBothTiers);
  wire::Member member;
  member.set_number(70'000);
  EXPECT_EQ(FromWire(member).number, 0);
  EXPECT_EQ(EntryFromWire(wire::EntryReply()).code(), ErrorCode::kInvalid);
  EXPECT_TRUE(FromResultCode(ResultCode({})).ok());
  EXPECT_EQ(FromResultCode(ResultCode(ErrorCode::kExists)).code(), ErrorCode::kExists);
  EXPECT_EQ(FromResultCode(ResultCode(ErrorCode::kNotFound)).code(), ErrorCode::kNotFound);
  EXPECT_EQ(FromResultCode(9999).code(), ErrorCode::kInvalid);
}

TEST(Wire, MalformedBytesAreRefused) {
  EXPECT_EQ(Parse<wire::PublishRequest>("\xff\xff\xff").code(), ErrorCode::kInvalid);
  wire::PublishRequest request;
  ToWire(NameView{DirId{5}, "name"}, request.mutable_name());
  ToWire(Page(3), request.mutable_page());
  const std::string good = request.SerializeAsString();
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good.substr(0, random() % (good.size() + 1));
    for (char& c : bytes) {
      if (random() % 8 == 0) c = static_cast<char>(random());
    }
    const auto parsed = Parse<wire::PublishRequest>(bytes);
    if (parsed.ok()) {
      EXPECT_LE(FromWire(parsed->page()).owner.mode, 07777);
    }
  }
}

}  // namespace
}  // namespace kvpagefs
