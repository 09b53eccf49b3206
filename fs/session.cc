#include "fs/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fuse_log.h>

#include "base/mutex.h"
#include "fs/mount_info.h"
#include "fs/node.h"
#include "fs/session_ops.h"

namespace kvpagefs {
namespace {

// What one request carries at most: 1 MiB with most kernels, more where fs.fuse.max_pages_limit is raised.
constexpr size_t kMaxRequestBytes = size_t{4} << 20;
// sizeof(fuse_in_header) + sizeof(fuse_write_in): buffers begin so that the bytes of a WRITE are page-aligned.
constexpr size_t kWriteHeaderBytes = 80;
constexpr size_t kRequestHeaderBytes = 40;  // sizeof(fuse_in_header)
constexpr size_t kPageBytes = 4096;
// Wakes a worker out of read(2); the handler does nothing.
constexpr int kWakeSignal = SIGUSR1;
constexpr auto kWakeInterval = std::chrono::milliseconds(10);

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

void IgnoreWake(int) {}

}  // namespace

struct Session::State {
  Node* node = nullptr;
  Log log = Log::Discard();
  std::string mount_point;
  fuse_session* session = nullptr;
  bool on_descriptor = false;
  std::vector<std::thread> workers;
  std::atomic<bool> stopping{false};

  Mutex mutex;
  CondVar changed;
  size_t running KVP_GUARDED_BY(mutex) = 0;
  bool ready KVP_GUARDED_BY(mutex) = false;
  bool unmounted KVP_GUARDED_BY(mutex) = false;
  std::atomic<bool> init_seen{false};

  void Work();
  // One request; false at the end of the session.
  bool Serve(char* buffer);
  void Unmount();
  void NoteReady();
  void SetReadahead(uint64_t bytes) const;
};

namespace {

// libfuse hands init only the node: it marks in there that the handshake is under way.
void OnInit(void* userdata, fuse_conn_info* connection) {
  Node::State& node = *static_cast<Node::State*>(userdata);
  node.read_path.direct_with_mmap = NegotiateFeatures(connection).direct_io_with_mmap;
  connection->max_write = static_cast<unsigned>(std::min<size_t>(connection->max_write, kMaxRequestBytes));
  node.handshake_done.store(true);
}

std::string MountOptions(const Options& options) {
  std::string text = fmt::format("fsname={},subtype=kvpagefs", options.source.empty() ? "standalone" : options.source);
  if (options.allow_other) text += ",allow_other";
  if (options.default_permissions) text += ",default_permissions";
  return text;
}

Error MountError(const std::string& mount_point, int errno_value) {
  return {
      ErrorCode::kUnavailable,
      fmt::format("cannot mount at '{}': {}; root or the setuid fusermount3 (package fuse3) and /dev/fuse are needed",
                  mount_point, std::generic_category().message(errno_value))};
}

// What libfuse would print on standard error comes back as an error of ours; with -d it prints.
void SilenceLibfuse(fuse_log_level, const char*, va_list) {}

}  // namespace

bool Session::State::Serve(char* buffer) {
  const ssize_t got = read(fuse_session_fd(session), buffer, kMaxRequestBytes + kPageBytes);
  if (stopping.load()) return false;
  if (got < 0) {
    // ENOENT: the request was interrupted before it was read.
    if (errno == EINTR || errno == EAGAIN || errno == ENOENT) return true;
    if (errno != ENODEV) log.Error("reading from /dev/fuse failed: {}", Error::FromSystem(errno, "read").Describe());
    return false;
  }
  if (got == 0) return false;
  if (static_cast<size_t>(got) < kRequestHeaderBytes) return true;
  fuse_buf request{};
  request.mem = buffer;
  request.size = static_cast<size_t>(got);
  fuse_session_process_buf(session, &request);
  if (!init_seen.load(std::memory_order_relaxed) && node->state().handshake_done.load()) NoteReady();
  return fuse_session_exited(session) == 0;
}

void Session::State::NoteReady() {
  init_seen.store(true);
  MutexLock lock(mutex);
  ready = true;
  changed.NotifyAll();
}

void Session::State::Work() {
  const std::unique_ptr<void, FreeDeleter> memory(std::aligned_alloc(kPageBytes, kMaxRequestBytes + 2 * kPageBytes));
  char* buffer = static_cast<char*>(memory.get()) + kPageBytes - kWriteHeaderBytes;
  while (Serve(buffer)) {
  }
  // The first worker to see the end takes the others along.
  stopping.store(true);
  MutexLock lock(mutex);
  --running;
  changed.NotifyAll();
}

void Session::State::Unmount() {
  {
    MutexLock lock(mutex);
    if (std::exchange(unmounted, true)) return;
  }
  // Closes the descriptor, which ends the connection, and detaches lazily: files that are still open do not keep us.
  fuse_session_unmount(session);
}

// The kernel's default of 128 KiB would cut a page into small requests. Only root may change it; others keep the
// default. The device number comes from the mount table: a stat of our own mount would wait for workers that may be
// stopping.
void Session::State::SetReadahead(uint64_t bytes) const {
  if (on_descriptor) return;
  std::ifstream table("/proc/self/mountinfo");
  const std::string text((std::istreambuf_iterator<char>(table)), std::istreambuf_iterator<char>());
  const std::vector<MountEntry> mounts = ParseMountInfo(text);
  const MountEntry* mount = MountAt(mounts, mount_point);
  if (mount == nullptr) return;
  const std::string path = fmt::format("/sys/class/bdi/{}/read_ahead_kb", mount->device);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const std::string value = fmt::format("{}", bytes / 1024);
  if (fd < 0 || write(fd, value.data(), value.size()) < 0) {
    log.Info("readahead stays at the kernel's default: {}", Error::FromSystem(errno, path).Describe());
  }
  if (fd >= 0) close(fd);
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Session>> Session::Start(const Options& options, Node* node, Log log) {
  auto state = std::make_unique<State>();
  state->node = node;
  state->log = std::move(log);
  state->mount_point = options.mount_point;
  state->on_descriptor = options.mount_point.starts_with("/dev/fd/");

  const std::string mount_options = MountOptions(options);
  std::vector<const char*> arguments = {"kvpagefs", "-o", mount_options.c_str()};
  if (options.debug) arguments.push_back("-d");
  if (!options.debug) fuse_set_log_func(SilenceLibfuse);
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(arguments.size()), const_cast<char**>(arguments.data()));
  const fuse_lowlevel_ops ops = SessionOps(OnInit);
  state->session = fuse_session_new(&args, &ops, sizeof(ops), &node->state());
  fuse_opt_free_args(&args);
  if (state->session == nullptr) return Error(ErrorCode::kUnavailable, "libfuse refused to make a session");
  errno = 0;
  if (fuse_session_mount(state->session, options.mount_point.c_str()) != 0) {
    const int errno_value = errno;
    fuse_session_destroy(state->session);
    return MountError(options.mount_point, errno_value);
  }
  struct sigaction wake{};
  wake.sa_handler = IgnoreWake;
  sigaction(kWakeSignal, &wake, nullptr);

  node->state().handshake_done.store(false);
  const uint32_t threads = options.threads != 0 ? options.threads : std::max(2u, std::thread::hardware_concurrency());
  {
    MutexLock lock(state->mutex);
    state->running = threads;
  }
  auto session = std::unique_ptr<Session>(new Session(std::move(state)));
  for (uint32_t i = 0; i < threads; ++i) {
    session->state_->workers.emplace_back([work = session->state_.get()] { work->Work(); });
  }
  return session;
}

Session::~Session() {
  Stop();
  for (std::thread& worker : state_->workers) worker.join();
  Node::State& node = state_->node->state();
  node.space.AnswerAll(ErrorCode::kInterrupted);
  // Not kInterrupted: without a signal the kernel would hand its restart code to the program.
  node.locks.Clear(ErrorCode::kNoLocks);
  state_->node->EndSession();
  state_->Unmount();
  // Requests that wait for the network or the disk are still answered, on threads of the node's.
  node.ended_sessions.emplace_back(state_->session, fuse_session_destroy);
}

bool Session::WaitUntilReady(int64_t timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  {
    MutexLock lock(state_->mutex);
    while (!state_->ready && state_->running > 0) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= std::chrono::nanoseconds(0)) return false;
      state_->changed.WaitFor(state_->mutex, left);
    }
    if (!state_->ready) return false;
  }
  state_->SetReadahead(state_->node->state().options.readahead_bytes);
  return true;
}

bool Session::WaitUntilEnded(int64_t timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  MutexLock lock(state_->mutex);
  while (!state_->stopping.load() && state_->running == state_->workers.size()) {
    const auto left =
        timeout_ms < 0 ? std::chrono::nanoseconds(std::chrono::hours(1)) : deadline - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds(0)) return false;
    state_->changed.WaitFor(state_->mutex, left);
  }
  return true;
}

void Session::Stop() {
  Node::State& node = state_->node->state();
  node.stopping.store(true);
  state_->stopping.store(true);
  fuse_session_exit(state_->session);
  MutexLock lock(state_->mutex);
  while (state_->running > 0) {
    for (std::thread& worker : state_->workers) pthread_kill(worker.native_handle(), kWakeSignal);
    state_->changed.WaitFor(state_->mutex, kWakeInterval);
  }
}

std::string Session::DescribeReadPath() const { return state_->node->state().read_path.Describe(); }

}  // namespace kvpagefs
