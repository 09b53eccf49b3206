// Methods of the services "meta" (kvpagemetad) and what crosses between them and the types of the namespace.
// Messages: meta/meta.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "meta/meta.pb.h"
#include "meta/namespace.h"
#include "meta/replica.h"
#include "meta/types.h"

namespace kvpagefs {

// The numbers are on the wire: never given to another method.
enum class MetaMethod : uint16_t {
  kJoin = 1,          // JoinRequest, JoinReply
  kHeartbeat = 2,     // HeartbeatRequest, HeartbeatReply
  kHoldings = 3,      // HoldingsRequest, HoldingsReply
  kAnnounce = 4,      // AnnounceRequest, AnnounceReply
  kMembers = 5,       // Empty, MembersReply; also without having joined
  kLookup = 10,       // NameRequest, EntryReply
  kFindPage = 11,     // IdRequest, EntryReply
  kFindDir = 12,      // IdRequest, EntryReply
  kPublish = 13,      // PublishRequest, OutcomeReply
  kRename = 14,       // RenameRequest, OutcomeReply
  kUnlink = 15,       // NameRequest, EntryReply
  kMakeDir = 16,      // MakeDirRequest, EntryReply
  kRemoveDir = 17,    // NameRequest, Empty
  kChangePage = 18,   // ChangeRequest, EntryReply
  kChangeDir = 19,    // ChangeRequest, EntryReply
  kSetPin = 20,       // PinRequest, Empty
  kSetXattr = 21,     // XattrRequest, Empty
  kGetXattr = 22,     // XattrRequest, ValueReply
  kRemoveXattr = 23,  // XattrRequest, Empty
  kGetXattrs = 24,    // IdRequest, XattrsReply
  kList = 25,         // ListRequest, ListReply
  kSync = 26,         // Empty, Empty
  kRevoke = 100,      // daemon to node: RevokeRequest, Empty
};

// Into messages.
void ToWire(const PageInfo& page, wire::Page* out);
void ToWire(const DirInfo& dir, wire::Dir* out);
void ToWire(const Ownership& owner, wire::Owner* out);
void ToWire(NameView name, wire::Name* out);
void ToWire(const Xattrs& xattrs, google::protobuf::RepeatedPtrField<wire::Xattr>* out);
void ToWire(const Namespace::Outcome& outcome, wire::OutcomeReply* out);
void ToWire(const AttributeChange& change, uint64_t id, wire::ChangeRequest* out);
void ToWire(const NodeUse& use, wire::NodeUse* out);
void ToWire(const Member& member, wire::Member* out);

// Out of messages; what a program of ours never says comes out as something harmless or as kInvalid.
PageInfo FromWire(const wire::Page& page);
DirInfo FromWire(const wire::Dir& dir);
Ownership FromWire(const wire::Owner& owner);
NameView FromWire(const wire::Name& name);  // of the message's bytes
Xattrs FromWire(const google::protobuf::RepeatedPtrField<wire::Xattr>& xattrs);
Namespace::Outcome FromWire(const wire::OutcomeReply& outcome);
AttributeChange FromWire(const wire::ChangeRequest& change);
NodeUse FromWire(const wire::NodeUse& use);
Member FromWire(const wire::Member& member);
Pin PinFromWire(uint32_t pin);                                   // kNone for what is none
uint8_t TiersFromWire(uint32_t tiers);                           // bits that are no tier are left out
Result<EntryInfo> EntryFromWire(const wire::EntryReply& reply);  // kInvalid

// AnnounceResult.code.
uint32_t ResultCode(const Status& status);
Status FromResultCode(uint32_t code);

// kInvalid for what is not a message of that type.
template <class Message>
Result<Message> Parse(std::string_view body) {
  Message message;
  if (body.size() > INT32_MAX || !message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return Error(ErrorCode::kInvalid, "malformed " + std::string(Message::descriptor()->name()));
  }
  return message;
}

}  // namespace kvpagefs
