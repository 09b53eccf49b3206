#include "fs/session_ops.h"

namespace kvpagefs {
namespace {

// Requests that the kernel may have under way without a waiting process: readahead and asynchronous direct I/O.
constexpr unsigned kMaxBackground = 128;
constexpr unsigned kCongestionThreshold = 96;

bool WantFeature(fuse_conn_info* connection, uint64_t feature) {
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
  return fuse_set_feature_flag(connection, feature);
#else
  if ((connection->capable & feature) == 0) return false;
  connection->want |= static_cast<unsigned>(feature);
  return true;
#endif
}

void DeclineFeature(fuse_conn_info* connection, uint64_t feature) {
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
  fuse_unset_feature_flag(connection, feature);
#else
  connection->want &= ~static_cast<unsigned>(feature);
#endif
}

}  // namespace

fuse_lowlevel_ops SessionOps(void (*init)(void* userdata, fuse_conn_info* connection)) {
  fuse_lowlevel_ops ops{};
  ops.init = init;
  ops.lookup = OpLookup;
  ops.forget = OpForget;
  ops.forget_multi = OpForgetMulti;
  ops.getattr = OpGetattr;
  ops.setattr = OpSetattr;
  ops.access = OpAccess;
  ops.mknod = OpMknod;
  ops.mkdir = OpMkdir;
  ops.unlink = OpUnlink;
  ops.rmdir = OpRmdir;
  ops.symlink = OpSymlink;
  ops.rename = OpRename;
  ops.link = OpLink;
  ops.open = OpOpen;
  ops.create = OpCreate;
  ops.read = OpRead;
  ops.write = OpWrite;
  ops.flush = OpFlush;
  ops.release = OpRelease;
  ops.fsync = OpFsync;
  ops.getlk = OpGetlk;
  ops.setlk = OpSetlk;
  ops.flock = OpFlock;
  ops.fallocate = OpFallocate;
  ops.opendir = OpOpendir;
  ops.readdir = OpReaddir;
  ops.readdirplus = OpReaddirplus;
  ops.releasedir = OpReleasedir;
  ops.fsyncdir = OpFsyncdir;
  ops.statfs = OpStatfs;
  ops.setxattr = OpSetxattr;
  ops.getxattr = OpGetxattr;
  ops.listxattr = OpListxattr;
  ops.removexattr = OpRemovexattr;
  return ops;
}

GrantedFeatures NegotiateFeatures(fuse_conn_info* connection) {
  GrantedFeatures granted;
  // Splicing gains nothing against one copy from the segment, and our buffers are read directly.
  DeclineFeature(connection, FUSE_CAP_SPLICE_READ);
  DeclineFeature(connection, FUSE_CAP_SPLICE_WRITE);
  DeclineFeature(connection, FUSE_CAP_SPLICE_MOVE);
  // A late ENOSPC must reach the writer: no write-back cache.
  DeclineFeature(connection, FUSE_CAP_WRITEBACK_CACHE);
  // A page's bytes never change behind the kernel's back: new times are no reason to drop its cache.
  DeclineFeature(connection, FUSE_CAP_AUTO_INVAL_DATA);
  WantFeature(connection, FUSE_CAP_EXPLICIT_INVAL_DATA);
  // The kernel's own locks are kept per inode, and every writer has an inode of its own.
  WantFeature(connection, FUSE_CAP_POSIX_LOCKS);
  WantFeature(connection, FUSE_CAP_FLOCK_LOCKS);
  WantFeature(connection, FUSE_CAP_ATOMIC_O_TRUNC);
  WantFeature(connection, FUSE_CAP_ASYNC_READ);
  WantFeature(connection, FUSE_CAP_ASYNC_DIO);
  WantFeature(connection, FUSE_CAP_PARALLEL_DIROPS);
  WantFeature(connection, FUSE_CAP_READDIRPLUS);
  WantFeature(connection, FUSE_CAP_READDIRPLUS_AUTO);
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
  granted.direct_io_with_mmap = WantFeature(connection, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
#endif
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kCongestionThreshold;
  return granted;
}

}  // namespace kvpagefs
