// System calls of one process, as the requests that the kernel makes of them. One client, one thread id.
#pragma once

#include <fcntl.h>

#include <string>
#include <string_view>
#include <vector>

#include "fake_kernel.h"

namespace kvpagefs {

struct EntryReply {
  int error = 0;
  fuse_entry_out entry{};
  uint64_t node() const { return entry.nodeid; }
};

struct OpenReply {
  int error = 0;
  uint64_t node = 0;
  fuse_entry_out entry{};  // of CREATE
  fuse_open_out open{};
  uint64_t handle() const { return open.fh; }
};

struct AttrReply {
  int error = 0;
  fuse_attr attr{};
  uint64_t valid_seconds = 0;
};

struct ListedName {
  std::string name;
  uint64_t ino = 0;
  uint64_t offset = 0;
  uint32_t type = 0;
  fuse_entry_out entry{};  // of READDIRPLUS
};

class Client {
 public:
  Client(FakeKernel* kernel, uint32_t tid) : kernel_(kernel), tid_(tid) {}

  EntryReply Lookup(std::string_view name, uint64_t parent = FUSE_ROOT_ID);
  OpenReply Create(std::string_view name, int flags = O_WRONLY, uint64_t parent = FUSE_ROOT_ID);
  OpenReply Open(uint64_t node, int flags = O_RDONLY);
  // Errno of the write; the bytes are taken whole or not at all.
  int Write(const OpenReply& file, std::string_view bytes, uint64_t offset = 0);
  uint64_t StartWrite(const OpenReply& file, std::string_view bytes, uint64_t offset = 0);
  std::string Read(const OpenReply& file, uint32_t bytes = FakeKernel::kMaxTransferBytes, uint64_t offset = 0);
  int Flush(const OpenReply& file);
  int Release(const OpenReply& file);
  int Fsync(const OpenReply& file);
  int Fallocate(const OpenReply& file, uint32_t mode, uint64_t bytes);
  // faccessat(2) on a kernel that leaves it to the daemon.
  int Access(uint64_t node);
  AttrReply Getattr(uint64_t node);
  AttrReply Setattr(uint64_t node, const fuse_setattr_in& change);
  // truncate(2); ftruncate(2) with a file.
  AttrReply Truncate(uint64_t node, uint64_t bytes, const OpenReply* file = nullptr);
  int Rename(std::string_view from, std::string_view to, uint32_t flags = 0);
  int Unlink(std::string_view name, uint64_t parent = FUSE_ROOT_ID);
  int Rmdir(std::string_view name, uint64_t parent = FUSE_ROOT_ID);
  EntryReply Mkdir(std::string_view name, uint64_t parent = FUSE_ROOT_ID);
  EntryReply Mknod(std::string_view name, uint64_t parent = FUSE_ROOT_ID);
  int Setxattr(uint64_t node, std::string_view key, std::string_view value);
  // The value, or "errno N".
  std::string Getxattr(uint64_t node, std::string_view key);

  OpenReply Opendir(uint64_t node = FUSE_ROOT_ID);
  // One reply of at most `size` bytes; empty at the end.
  std::vector<ListedName> Readdir(const OpenReply& dir, uint64_t offset, uint32_t size);
  std::vector<ListedName> ReaddirPlus(const OpenReply& dir, uint64_t offset, uint32_t size);
  int Releasedir(const OpenReply& dir);

  // open(2) for reading, read, close: the content, or "errno N". Repeats once after ESTALE as the kernel does.
  std::string Contents(std::string_view name);
  // A page of that content: create, write, close.
  OpenReply Put(std::string_view name, std::string_view bytes);

  uint32_t tid() const { return tid_; }

 private:
  Request Make(uint32_t opcode, uint64_t node) const { return {opcode, node, tid_, {}}; }
  EntryReply CallForEntry(const Request& request);
  Reply CallReaddir(uint32_t opcode, const OpenReply& dir, uint64_t offset, uint32_t size);

  FakeKernel* kernel_;
  uint32_t tid_;
};

}  // namespace kvpagefs
