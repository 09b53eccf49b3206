// The FUSE low-level operations, one family a file (fs/ops_*.cc). Private to fs/.
//
// Every operation replies exactly once, now or from a completion; none waits. The kernel's inode numbers: 1 the root, 2
// to 63 /.kvpagefs, other ids with node number 0 directories, the rest pages, drafts and aliases of pages. Ids are
// never used twice, so inodes need no table and no generation beyond a constant.
//
// The kernel is never told that a name or page has gone: it would have to take the directory's lock for that, which a
// request of ours may hold. It finds out when it uses what it remembers (ReplyLookAgain).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>

#include "fs/handles.h"
#include "fs/node_state.h"

namespace kvpagefs {

// ops_common.cc
Node::State& NodeOf(fuse_req_t req);
uint32_t TidOf(fuse_req_t req);
Ownership OwnerOf(fuse_req_t req, mode_t mode);
FileHandle* HandleOf(const fuse_file_info* fi);
void ReplyStatus(fuse_req_t req, const Status& status);
inline void ReplyError(fuse_req_t req, ErrorCode code) { fuse_reply_err(req, ToErrno(code)); }
// Seconds that the kernel may keep attributes, and names.
double KernelTimeout(const Node::State& node);
double EntryTimeout(const Node::State& node);
struct stat DirStat(const DirInfo& dir);
struct stat PageStat(const Node::State& node, const PageInfo& page);
struct stat DraftStatLocked(const DraftTable::File& file) KVP_REQUIRES(file->mutex);
struct stat VirtualStat(const Node::State& node, uint64_t node_id);
// An entry of a draft or virtual inode is not cached; those of pages and directories are.
fuse_entry_param PageEntry(Node::State& node, const PageInfo& page);
fuse_entry_param DirEntry(const Node::State& node, const DirInfo& dir);
fuse_entry_param DraftEntry(const DraftTable::File& file);
// Answers ESTALE so that the kernel looks the name up again, or ENOENT when it just did.
void ReplyLookAgain(fuse_req_t req, RetryTable::Purpose purpose = RetryTable::Purpose::kRead);

// ops_hold.cc
// The page in memory, held: at once, or when it has come from SSD. kNotFound, kInterrupted. The request stays the
// caller's to answer.
void HoldPage(fuse_req_t req, const PageInfo& page, MemoryTier::Touch touch,
              std::function<void(Result<PageHold>)> done);
struct HeldVersion {
  PageInfo page;
  Xattrs xattrs;
  PageHold hold;
};
// The same for the page that `name` stands for, `page` when it was looked up: one that is replaced meanwhile is
// followed to its successor.
void HoldVersion(fuse_req_t req, const NameRef& name, const PageInfo& page,
                 std::function<void(Result<HeldVersion>)> done);

// ops_lookup.cc
void OpLookup(fuse_req_t req, fuse_ino_t parent, const char* name);
void OpForget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup);
void OpForgetMulti(fuse_req_t req, size_t count, fuse_forget_data* forgets);

// ops_open.cc
void OpOpen(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi);
void OpCreate(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* fi);
// Answers ESTALE and makes a draft ready for the look-up that follows.
void ReplyReopenForWriting(fuse_req_t req, PageId id);
// Opens a new version of the page for the thread, or joins its process's own, and promises it to the thread. Errors of
// HoldVersion.
void PromiseDraft(fuse_req_t req, const PageInfo& page, const NameRef& name,
                  std::function<void(Result<DraftTable::File>)> done);
// Keeps a file that its process is writing until the thread opens it; false when its last handle is gone already.
bool PromiseFile(fuse_req_t req, const DraftTable::File& file, const NameRef& name);
// Closes a handle that the kernel will not give back.
void CloseHandle(Node::State& node, FileHandle* handle);

// ops_read.cc
void OpRead(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, fuse_file_info* fi);

// ops_write.cc
void OpWrite(fuse_req_t req, fuse_ino_t ino, const char* bytes, size_t size, off_t offset, fuse_file_info* fi);
void OpFallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length, fuse_file_info* fi);
// ftruncate and truncate on a file that is being written; answers the attributes.
void ResizeDraft(fuse_req_t req, const DraftTable::File& file, uint64_t bytes, FileHandle* handle);

// ops_close.cc
void OpFlush(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi);
void OpRelease(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi);
void OpFsync(fuse_req_t req, fuse_ino_t ino, int datasync, fuse_file_info* fi);

// ops_lock.cc
void OpGetlk(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi, struct flock* lock);
void OpSetlk(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi, struct flock* lock, int sleep);
void OpFlock(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi, int op);
// The file in which a close of the handle frees its process's record locks (after sealing, so that whoever is granted
// the lock finds what was written); nothing when there are none.
std::optional<LockTable::Key> LockedKeyOf(Node::State& node, FileHandle* handle);
// The last close: all locks taken through the handle go.
void ReleaseHandleLocks(Node::State& node, FileHandle* handle);

// ops_names.cc
void OpMknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t rdev);
void OpMkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode);
void OpRmdir(fuse_req_t req, fuse_ino_t parent, const char* name);
void OpUnlink(fuse_req_t req, fuse_ino_t parent, const char* name);
void OpRename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
              unsigned flags);
void OpSymlink(fuse_req_t req, const char* link, fuse_ino_t parent, const char* name);
void OpLink(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char* new_name);

// ops_attr.cc
// Whether it is still there: modes are enforced by the kernel, with default-permissions, or by nobody.
void OpAccess(fuse_req_t req, fuse_ino_t ino, int mask);
void OpGetattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi);
void OpSetattr(fuse_req_t req, fuse_ino_t ino, struct stat* attr, int to_set, fuse_file_info* fi);
void OpStatfs(fuse_req_t req, fuse_ino_t ino);

// ops_dir.cc
void OpOpendir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi);
void OpReaddir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, fuse_file_info* fi);
void OpReaddirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, fuse_file_info* fi);
void OpReleasedir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi);
void OpFsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, fuse_file_info* fi);

// ops_xattr.cc
void OpSetxattr(fuse_req_t req, fuse_ino_t ino, const char* key, const char* value, size_t size, int flags);
void OpGetxattr(fuse_req_t req, fuse_ino_t ino, const char* key, size_t size);
void OpListxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void OpRemovexattr(fuse_req_t req, fuse_ino_t ino, const char* key);

}  // namespace kvpagefs
