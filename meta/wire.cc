#include "meta/wire.h"

namespace kvpagefs {
namespace {

constexpr uint32_t kModeMask = 07777;

}  // namespace

void ToWire(const PageInfo& page, wire::Page* out) {
  out->set_id(page.id.value);
  out->set_bytes(page.bytes);
  out->set_checksum(page.checksum);
  out->set_mtime_ns(page.mtime_ns);
  ToWire(page.owner, out->mutable_owner());
  out->set_pin(static_cast<uint32_t>(page.pin));
}

void ToWire(const DirInfo& dir, wire::Dir* out) {
  out->set_id(dir.id.value);
  out->set_parent(dir.parent.value);
  out->set_mtime_ns(dir.mtime_ns);
  ToWire(dir.owner, out->mutable_owner());
  out->set_entries(dir.entries);
  out->set_directories(dir.directories);
}

void ToWire(const Ownership& owner, wire::Owner* out) {
  out->set_uid(owner.uid);
  out->set_gid(owner.gid);
  out->set_mode(owner.mode);
}

void ToWire(NameView name, wire::Name* out) {
  out->set_parent(name.parent.value);
  out->set_name(name.name.data(), name.name.size());
}

void ToWire(const Xattrs& xattrs, google::protobuf::RepeatedPtrField<wire::Xattr>* out) {
  out->Clear();
  for (const auto& [key, value] : xattrs) {
    wire::Xattr* one = out->Add();
    one->set_key(key);
    one->set_value(value);
  }
}

void ToWire(const Namespace::Outcome& outcome, wire::OutcomeReply* out) {
  ToWire(outcome.page, out->mutable_page());
  out->set_dropped(outcome.dropped ? outcome.dropped->value : 0);
  out->set_replaced(outcome.replaced);
}

void ToWire(const AttributeChange& change, uint64_t id, wire::ChangeRequest* out) {
  out->set_id(id);
  out->set_set_mode(change.set_mode);
  out->set_set_uid(change.set_uid);
  out->set_set_gid(change.set_gid);
  out->set_set_mtime(change.set_mtime);
  ToWire(change.owner, out->mutable_owner());
  out->set_mtime_ns(change.mtime_ns);
}

void ToWire(const NodeUse& use, wire::NodeUse* out) {
  out->set_memory_bytes(use.memory_bytes);
  out->set_memory_used_bytes(use.memory_used_bytes);
  out->set_ssd_bytes(use.ssd_bytes);
  out->set_ssd_used_bytes(use.ssd_used_bytes);
  out->set_pages(use.pages);
}

void ToWire(const Member& member, wire::Member* out) {
  out->set_number(member.number);
  out->set_name(member.name);
  out->set_address(member.address);
  out->set_state(member.state);
  out->set_heard_ms_ago(member.heard_ms_ago);
  ToWire(member.use, out->mutable_use());
}

PageInfo FromWire(const wire::Page& page) {
  PageInfo info;
  info.id = PageId{page.id()};
  info.bytes = page.bytes();
  info.checksum = page.checksum();
  info.mtime_ns = page.mtime_ns();
  info.owner = FromWire(page.owner());
  info.pin = PinFromWire(page.pin());
  return info;
}

DirInfo FromWire(const wire::Dir& dir) {
  DirInfo info;
  info.id = DirId{dir.id()};
  info.parent = DirId{dir.parent()};
  info.mtime_ns = dir.mtime_ns();
  info.owner = FromWire(dir.owner());
  info.entries = dir.entries();
  info.directories = dir.directories();
  return info;
}

Ownership FromWire(const wire::Owner& owner) {
  return {.uid = owner.uid(), .gid = owner.gid(), .mode = static_cast<uint16_t>(owner.mode() & kModeMask)};
}

NameView FromWire(const wire::Name& name) { return {DirId{name.parent()}, name.name()}; }

Xattrs FromWire(const google::protobuf::RepeatedPtrField<wire::Xattr>& xattrs) {
  Xattrs list;
  list.reserve(static_cast<size_t>(xattrs.size()));
  for (const wire::Xattr& one : xattrs) list.emplace_back(one.key(), one.value());
  return list;
}

Namespace::Outcome FromWire(const wire::OutcomeReply& outcome) {
  Namespace::Outcome info;
  info.page = FromWire(outcome.page());
  if (outcome.dropped() != 0) info.dropped = PageId{outcome.dropped()};
  info.replaced = outcome.replaced();
  return info;
}

AttributeChange FromWire(const wire::ChangeRequest& change) {
  AttributeChange info;
  info.set_mode = change.set_mode();
  info.set_uid = change.set_uid();
  info.set_gid = change.set_gid();
  info.set_mtime = change.set_mtime();
  info.owner = FromWire(change.owner());
  info.mtime_ns = change.mtime_ns();
  return info;
}

NodeUse FromWire(const wire::NodeUse& use) {
  return {.memory_bytes = use.memory_bytes(),
          .memory_used_bytes = use.memory_used_bytes(),
          .ssd_bytes = use.ssd_bytes(),
          .ssd_used_bytes = use.ssd_used_bytes(),
          .pages = use.pages()};
}

Member FromWire(const wire::Member& member) {
  Member info;
  info.number = static_cast<uint16_t>(member.number() <= UINT16_MAX ? member.number() : 0);
  info.name = member.name();
  info.address = member.address();
  info.state = member.state();
  info.heard_ms_ago = member.heard_ms_ago();
  info.use = FromWire(member.use());
  return info;
}

Pin PinFromWire(uint32_t pin) { return pin <= static_cast<uint32_t>(Pin::kHard) ? static_cast<Pin>(pin) : Pin::kNone; }

uint8_t TiersFromWire(uint32_t tiers) { return static_cast<uint8_t>(tiers & kBothTiers); }

Result<EntryInfo> EntryFromWire(const wire::EntryReply& reply) {
  if (reply.has_page() && PageId{reply.page().id()}.valid()) return EntryInfo(FromWire(reply.page()));
  if (reply.has_dir() && DirId{reply.dir().id()}.valid()) return EntryInfo(FromWire(reply.dir()));
  return Error(ErrorCode::kInvalid, "neither a page nor a directory");
}

uint32_t ResultCode(const Status& status) { return status.ok() ? 0 : static_cast<uint32_t>(status.code()) + 1; }

Status FromResultCode(uint32_t code) {
  if (code == 0) return {};
  constexpr uint32_t kLast = static_cast<uint32_t>(ErrorCode::kDeadlock);
  return code - 1 <= kLast ? static_cast<ErrorCode>(code - 1) : ErrorCode::kInvalid;
}

}  // namespace kvpagefs
