// What is known of pages and directories besides their names.
#include "meta/meta_server_state.h"

namespace kvpagefs {
namespace {

Result<Namespace::XattrMode> ModeOf(const wire::XattrRequest& request) {
  switch (request.mode()) {
    case 0: return Namespace::XattrMode::kEither;
    case 1: return Namespace::XattrMode::kCreate;
    case 2: return Namespace::XattrMode::kReplace;
    default: return ErrorCode::kInvalid;
  }
}

}  // namespace

void MetaServer::State::FinishChangeLocked(uint64_t id, const Status& changed, Call* call) {
  if (!changed.ok()) return call->reply.Fail(changed.error());
  Revokes revokes;
  if (!IsDirectoryId(id)) ChangedLocked(PageId{id}, call->slot, &revokes);
  FinishLocked(call, wire::Empty(), revokes);
}

void MetaServer::State::ChangePageLocked(const wire::ChangeRequest& request, Call* call) {
  const auto page =
      Answered<PageInfo>([&](auto done) { meta->ChangePage(PageId{request.id()}, FromWire(request), done); });
  if (!page.ok()) return call->reply.Fail(page.error());
  Revokes revokes;
  ChangedLocked(page->id, call->slot, &revokes);
  wire::EntryReply reply;
  AnswerEntryLocked(*page, &reply);
  FinishLocked(call, reply, revokes);
}

void MetaServer::State::ChangeDirLocked(const wire::ChangeRequest& request, Call* call) {
  const auto dir = Answered<DirInfo>([&](auto done) { meta->ChangeDir(DirId{request.id()}, FromWire(request), done); });
  if (!dir.ok()) return call->reply.Fail(dir.error());
  wire::EntryReply reply;
  AnswerEntryLocked(*dir, &reply);
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::SetPinLocked(const wire::PinRequest& request, Call* call) {
  if (request.pin() > static_cast<uint32_t>(Pin::kHard)) return call->reply.Fail(ErrorCode::kInvalid);
  const auto set =
      Answered<void>([&](auto done) { meta->SetPin(PageId{request.id()}, PinFromWire(request.pin()), done); });
  FinishChangeLocked(request.id(), set, call);
}

void MetaServer::State::SetXattrLocked(const wire::XattrRequest& request, Call* call) {
  const auto mode = ModeOf(request);
  if (!mode.ok()) return call->reply.Fail(mode.error());
  const auto set =
      Answered<void>([&](auto done) { meta->SetXattr(request.id(), request.key(), request.value(), *mode, done); });
  FinishChangeLocked(request.id(), set, call);
}

void MetaServer::State::RemoveXattrLocked(const wire::XattrRequest& request, Call* call) {
  const auto removed = Answered<void>([&](auto done) { meta->RemoveXattr(request.id(), request.key(), done); });
  FinishChangeLocked(request.id(), removed, call);
}

void MetaServer::State::GetXattr(const wire::XattrRequest& request, Call* call) {
  auto value = Answered<std::string>([&](auto done) { meta->GetXattr(request.id(), request.key(), done); });
  if (!value.ok()) return call->reply.Fail(value.error());
  wire::ValueReply reply;
  reply.set_value(*std::move(value));
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::GetXattrs(const wire::IdRequest& request, Call* call) {
  const auto xattrs = Answered<Xattrs>([&](auto done) { meta->GetXattrs(request.id(), done); });
  if (!xattrs.ok()) return call->reply.Fail(xattrs.error());
  wire::XattrsReply reply;
  ToWire(*xattrs, reply.mutable_xattrs());
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::Sync(const wire::Empty& /*request*/, Call* call) {
  auto reply = std::make_shared<RpcReply>(std::move(call->reply));
  // On a thread of the names' own, which may wait, and ends before this does.
  meta->Sync([this, reply](const Status& names) {
    const Status deletions = SaveFiles();
    if (names.ok() && deletions.ok()) {
      reply->Ok({});
    } else {
      reply->Fail(names.ok() ? deletions.error() : names.error());
    }
  });
}

}  // namespace kvpagefs
