#include "client.h"

#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

OpenReply Opened(uint64_t node, const Reply& reply) {
  OpenReply out{reply.error, node, {}, {}};
  if (reply.ok()) out.open = reply.As<fuse_open_out>();
  return out;
}

AttrReply Attributes(const Reply& reply) {
  const auto out = reply.As<fuse_attr_out>();
  return {reply.error, out.attr, out.attr_valid};
}

std::string Errno(int error) { return fmt::format("errno {}", error); }

}  // namespace

EntryReply Client::CallForEntry(const Request& request) {
  const Reply reply = kernel_->Call(request);
  return {reply.error, reply.As<fuse_entry_out>()};
}

EntryReply Client::Lookup(std::string_view name, uint64_t parent) {
  Request request = Make(FUSE_LOOKUP, parent);
  request.payload.AddName(name);
  return CallForEntry(request);
}

OpenReply Client::Create(std::string_view name, int flags, uint64_t parent) {
  fuse_create_in in{};
  in.flags = static_cast<uint32_t>(flags | O_CREAT);
  in.mode = S_IFREG | 0644;
  Request request = Make(FUSE_CREATE, parent);
  request.payload.Add(in).AddName(name);
  const Reply reply = kernel_->Call(request);
  OpenReply out{reply.error, 0, reply.As<fuse_entry_out>(), reply.As<fuse_open_out>(sizeof(fuse_entry_out))};
  out.node = out.entry.nodeid;
  return out;
}

OpenReply Client::Open(uint64_t node, int flags) {
  Request request = Make(FUSE_OPEN, node);
  request.payload.Add(fuse_open_in{static_cast<uint32_t>(flags), 0});
  return Opened(node, kernel_->Call(request));
}

uint64_t Client::StartWrite(const OpenReply& file, std::string_view bytes, uint64_t offset) {
  fuse_write_in in{};
  in.fh = file.handle();
  in.offset = offset;
  in.size = static_cast<uint32_t>(bytes.size());
  Request request = Make(FUSE_WRITE, file.node);
  request.payload.Add(in).AddBytes(bytes);
  return kernel_->Send(request);
}

int Client::Write(const OpenReply& file, std::string_view bytes, uint64_t offset) {
  const std::optional<Reply> reply = kernel_->WaitFor(StartWrite(file, bytes, offset));
  if (!reply) return -1;
  if (!reply->ok()) return reply->error;
  return reply->As<fuse_write_out>().size == bytes.size() ? 0 : -1;
}

std::string Client::Read(const OpenReply& file, uint32_t bytes, uint64_t offset) {
  fuse_read_in in{};
  in.fh = file.handle();
  in.offset = offset;
  in.size = bytes;
  Request request = Make(FUSE_READ, file.node);
  request.payload.Add(in);
  const Reply reply = kernel_->Call(request);
  return reply.ok() ? reply.bytes : Errno(reply.error);
}

int Client::Flush(const OpenReply& file) {
  fuse_flush_in in{};
  in.fh = file.handle();
  Request request = Make(FUSE_FLUSH, file.node);
  request.payload.Add(in);
  return kernel_->Call(request).error;
}

// The kernel sends it for no process.
int Client::Release(const OpenReply& file) {
  fuse_release_in in{};
  in.fh = file.handle();
  Request request{FUSE_RELEASE, file.node, 0, {}};
  request.payload.Add(in);
  return kernel_->Call(request).error;
}

int Client::Fsync(const OpenReply& file) {
  fuse_fsync_in in{};
  in.fh = file.handle();
  Request request = Make(FUSE_FSYNC, file.node);
  request.payload.Add(in);
  return kernel_->Call(request).error;
}

int Client::Fallocate(const OpenReply& file, uint32_t mode, uint64_t bytes) {
  fuse_fallocate_in in{};
  in.fh = file.handle();
  in.length = bytes;
  in.mode = mode;
  Request request = Make(FUSE_FALLOCATE, file.node);
  request.payload.Add(in);
  return kernel_->Call(request).error;
}

int Client::Access(uint64_t node) {
  Request request = Make(FUSE_ACCESS, node);
  request.payload.Add(fuse_access_in{});
  return kernel_->Call(request).error;
}

AttrReply Client::Getattr(uint64_t node) {
  Request request = Make(FUSE_GETATTR, node);
  request.payload.Add(fuse_getattr_in{});
  return Attributes(kernel_->Call(request));
}

AttrReply Client::Setattr(uint64_t node, const fuse_setattr_in& change) {
  Request request = Make(FUSE_SETATTR, node);
  request.payload.Add(change);
  return Attributes(kernel_->Call(request));
}

AttrReply Client::Truncate(uint64_t node, uint64_t bytes, const OpenReply* file) {
  fuse_setattr_in change{};
  change.valid = FATTR_SIZE;
  change.size = bytes;
  if (file != nullptr) {
    change.valid |= FATTR_FH;
    change.fh = file->handle();
  }
  return Setattr(node, change);
}

int Client::Rename(std::string_view from, std::string_view to, uint32_t flags) {
  Request request = Make(FUSE_RENAME2, FUSE_ROOT_ID);
  request.payload.Add(fuse_rename2_in{FUSE_ROOT_ID, flags, 0}).AddName(from).AddName(to);
  return kernel_->Call(request).error;
}

int Client::Unlink(std::string_view name, uint64_t parent) {
  Request request = Make(FUSE_UNLINK, parent);
  request.payload.AddName(name);
  return kernel_->Call(request).error;
}

int Client::Rmdir(std::string_view name, uint64_t parent) {
  Request request = Make(FUSE_RMDIR, parent);
  request.payload.AddName(name);
  return kernel_->Call(request).error;
}

EntryReply Client::Mkdir(std::string_view name, uint64_t parent) {
  Request request = Make(FUSE_MKDIR, parent);
  request.payload.Add(fuse_mkdir_in{0755, 0}).AddName(name);
  return CallForEntry(request);
}

EntryReply Client::Mknod(std::string_view name, uint64_t parent) {
  fuse_mknod_in in{};
  in.mode = S_IFREG | 0600;
  Request request = Make(FUSE_MKNOD, parent);
  request.payload.Add(in).AddName(name);
  return CallForEntry(request);
}

int Client::Setxattr(uint64_t node, std::string_view key, std::string_view value) {
  // The form of a session that did not ask for SETXATTR_EXT.
  struct {
    uint32_t size;
    uint32_t flags;
  } in{static_cast<uint32_t>(value.size()), 0};
  Request request = Make(FUSE_SETXATTR, node);
  request.payload.Add(in).AddName(key).AddBytes(value);
  return kernel_->Call(request).error;
}

std::string Client::Getxattr(uint64_t node, std::string_view key) {
  Request request = Make(FUSE_GETXATTR, node);
  request.payload.Add(fuse_getxattr_in{4096, 0}).AddName(key);
  const Reply reply = kernel_->Call(request);
  return reply.ok() ? reply.bytes : Errno(reply.error);
}

OpenReply Client::Opendir(uint64_t node) {
  Request request = Make(FUSE_OPENDIR, node);
  request.payload.Add(fuse_open_in{O_RDONLY | O_DIRECTORY, 0});
  return Opened(node, kernel_->Call(request));
}

Reply Client::CallReaddir(uint32_t opcode, const OpenReply& dir, uint64_t offset, uint32_t size) {
  fuse_read_in in{};
  in.fh = dir.handle();
  in.offset = offset;
  in.size = size;
  Request request = Make(opcode, dir.node);
  request.payload.Add(in);
  return kernel_->Call(request);
}

std::vector<ListedName> Client::Readdir(const OpenReply& dir, uint64_t offset, uint32_t size) {
  const Reply reply = CallReaddir(FUSE_READDIR, dir, offset, size);
  std::vector<ListedName> names;
  for (size_t at = 0; at + FUSE_NAME_OFFSET <= reply.bytes.size();) {
    const auto entry = reply.As<fuse_dirent>(at);
    names.push_back({reply.bytes.substr(at + FUSE_NAME_OFFSET, entry.namelen), entry.ino, entry.off, entry.type, {}});
    at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry.namelen);
  }
  return names;
}

std::vector<ListedName> Client::ReaddirPlus(const OpenReply& dir, uint64_t offset, uint32_t size) {
  const Reply reply = CallReaddir(FUSE_READDIRPLUS, dir, offset, size);
  std::vector<ListedName> names;
  for (size_t at = 0; at + FUSE_NAME_OFFSET_DIRENTPLUS <= reply.bytes.size();) {
    const auto plus = reply.As<fuse_direntplus>(at);
    names.push_back({reply.bytes.substr(at + FUSE_NAME_OFFSET_DIRENTPLUS, plus.dirent.namelen), plus.dirent.ino,
                     plus.dirent.off, plus.dirent.type, plus.entry_out});
    at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + plus.dirent.namelen);
  }
  return names;
}

int Client::Releasedir(const OpenReply& dir) {
  fuse_release_in in{};
  in.fh = dir.handle();
  Request request{FUSE_RELEASEDIR, dir.node, 0, {}};
  request.payload.Add(in);
  return kernel_->Call(request).error;
}

std::string Client::Contents(std::string_view name) {
  OpenReply file;
  for (int round = 0; round < 2; ++round) {
    const EntryReply found = Lookup(name);
    if (found.error != 0) return Errno(found.error);
    file = Open(found.node());
    if (file.error != ESTALE) break;
  }
  if (file.error != 0) return Errno(file.error);
  std::string bytes = Read(file);
  const int released = Release(file);
  return released == 0 ? bytes : Errno(released);
}

OpenReply Client::Put(std::string_view name, std::string_view bytes) {
  OpenReply file = Create(name, O_WRONLY | O_TRUNC);
  if (file.error == 0) file.error = Write(file, bytes);
  if (file.error == 0) file.error = Flush(file);
  const int released = Release(file);
  if (file.error == 0) file.error = released;
  return file;
}

}  // namespace kvpagefs
