// The other end of a FUSE session: plays the kernel on a socket pair, by the wire protocol of <linux/fuse.h>.
//
// Requests may be sent from any thread. Replies are collected by a thread of its own, so that a session never blocks on
// what a test does not read. Waiting for a reply has a deadline; a reply that does not come is an error of the test.
#pragma once

#include <linux/fuse.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/mutex.h"

namespace kvpagefs {

// What a request consists of behind its header.
class RequestBytes {
 public:
  RequestBytes() = default;
  template <class T>
  RequestBytes& Add(const T& part) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&part), sizeof(part));
    return *this;
  }
  // With the NUL behind it.
  RequestBytes& AddName(std::string_view name) {
    bytes_.append(name);
    bytes_.push_back('\0');
    return *this;
  }
  RequestBytes& AddBytes(std::string_view bytes) {
    bytes_.append(bytes);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct Request {
  uint32_t opcode = 0;
  uint64_t node_id = FUSE_ROOT_ID;
  uint32_t tid = 0;  // of the process behind it; 0: none
  RequestBytes payload;
};

struct Reply {
  int error = 0;  // a positive errno
  std::string bytes;
  bool ok() const { return error == 0; }
  template <class T>
  T As(size_t offset = 0) const {
    T out{};
    if (offset < bytes.size()) std::memcpy(&out, bytes.data() + offset, std::min(sizeof(T), bytes.size() - offset));
    return out;
  }
};

class FakeKernel {
 public:
  static constexpr std::chrono::seconds kDeadline{60};
  // The most that one request or reply carries over the socket pair.
  static constexpr uint32_t kMaxTransferBytes = 128 * 1024;

  FakeKernel();
  ~FakeKernel() { Disconnect(); }
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  // The daemon's end; who takes it closes it.
  int TakeDaemonEnd();

  // Returns the request's number.
  uint64_t Send(const Request& request);
  // A message as it is, for what no kernel sends.
  void SendRaw(const std::string& bytes);
  // Nothing when none came in time.
  std::optional<Reply> WaitFor(uint64_t unique, std::chrono::nanoseconds time = kDeadline);
  // Error -1 when no reply came in time.
  Reply Call(const Request& request);
  bool Answered(uint64_t unique) const;
  // Replies that came twice for one request, or for none: notifications are among these, the daemon sends none.
  size_t surplus_replies() const;

  // FUSE INIT.
  struct Handshake {
    uint32_t major = FUSE_KERNEL_VERSION;
    uint32_t minor = FUSE_KERNEL_MINOR_VERSION;
    uint64_t flags = kKernelFlags;
  };
  Reply Init(const Handshake& handshake);
  Reply Init() { return Init(Handshake()); }
  // What a kernel 6.x offers, but for the parts that need more than a socket pair.
  static constexpr uint64_t kKernelFlags =
      FUSE_ASYNC_READ | FUSE_POSIX_LOCKS | FUSE_ATOMIC_O_TRUNC | FUSE_EXPORT_SUPPORT | FUSE_BIG_WRITES |
      FUSE_DONT_MASK | FUSE_SPLICE_WRITE | FUSE_SPLICE_MOVE | FUSE_SPLICE_READ | FUSE_FLOCK_LOCKS | FUSE_HAS_IOCTL_DIR |
      FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_DIO | FUSE_WRITEBACK_CACHE |
      FUSE_NO_OPEN_SUPPORT | FUSE_PARALLEL_DIROPS | FUSE_HANDLE_KILLPRIV | FUSE_POSIX_ACL | FUSE_ABORT_ERROR |
      FUSE_MAX_PAGES | FUSE_CACHE_SYMLINKS | FUSE_NO_OPENDIR_SUPPORT | FUSE_EXPLICIT_INVAL_DATA |
      FUSE_HANDLE_KILLPRIV_V2 | FUSE_SETXATTR_EXT | FUSE_INIT_EXT;

  // What the kernel does when a waiting process gets a signal.
  void Interrupt(uint64_t unique);
  void Forget(uint64_t node_id, uint64_t lookups);
  void ForgetMany(const std::vector<fuse_forget_one>& forgets);

  // The end of the connection, as an unmount makes it.
  void Disconnect();

 private:
  struct Exchange {
    bool answered = false;
    Reply reply;
  };
  void Receive();
  void Store(const std::string& message);

  int kernel_end_ = -1;
  int daemon_end_ = -1;
  std::thread receiver_;
  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t next_unique_ KVP_GUARDED_BY(mutex_) = 2;  // even, as the kernel's
  absl::flat_hash_map<uint64_t, Exchange> exchanges_ KVP_GUARDED_BY(mutex_);
  size_t surplus_ KVP_GUARDED_BY(mutex_) = 0;
};

}  // namespace kvpagefs
