// Coroutines over SsdDisk: what the log does step by step (load a region, seal one, reclaim one) reads from top to
// bottom, while its transfers run side by side.
//
// One thread at a time runs tasks: the one that calls Start and RunReady. Completions come from the disk's threads and
// only mark a task as ready. A task's frame owns its buffers; frames that wait for a transfer are destroyed only after
// the disk is (~IoLoop), so no transfer ever writes to freed memory.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

// A coroutine without a value; results go to where its parameters point. Runs when it is started or awaited.
class [[nodiscard]] IoTask {
 public:
  struct promise_type;  // NOLINT(readability-identifier-naming): the language's name
  using Handle = std::coroutine_handle<promise_type>;

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle handle) const noexcept;
    void await_resume() const noexcept {}
  };
  struct promise_type {  // NOLINT(readability-identifier-naming)
    std::coroutine_handle<> continuation;
    IoTask get_return_object() { return IoTask(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    FinalAwaiter final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit IoTask(Handle handle) : handle_(handle) {}
  IoTask(IoTask&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  IoTask& operator=(IoTask&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~IoTask() {
    if (handle_) handle_.destroy();
  }

  bool done() const { return handle_.done(); }
  void Resume() { handle_.resume(); }

  // `co_await SomeTask(...)`: runs it to its end.
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) noexcept {
    handle_.promise().continuation = continuation;
    return handle_;
  }
  void await_resume() const noexcept {}

 private:
  Handle handle_;
};

inline std::coroutine_handle<> IoTask::FinalAwaiter::await_suspend(Handle handle) const noexcept {
  const std::coroutine_handle<> continuation = handle.promise().continuation;
  return continuation ? continuation : std::noop_coroutine();
}

class IoLoop {
 public:
  // `wake` is called on the disk's threads when RunReady has something to do; it must not wait.
  IoLoop(SsdDisk* disk, std::function<void()> wake) : disk_(disk), wake_(std::move(wake)) {}
  // The disk must be gone when tasks are left.
  ~IoLoop() = default;
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  // Runs it until its first wait.
  void Start(IoTask task);
  // Continues every task that can be; true when there was one.
  bool RunReady();
  size_t tasks() const { return tasks_.size(); }

  class TransferAwaiter {
   public:
    TransferAwaiter(IoLoop* loop, SsdDisk::Io io) : loop_(loop), io_(std::move(io)) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    Status await_resume() { return std::move(status_); }

   private:
    IoLoop* loop_;
    SsdDisk::Io io_;
    Status status_;
  };
  // co_await: the transfer's status.
  TransferAwaiter Transfer(SsdDisk::IoKind kind, SsdDisk::FileId file, uint64_t offset, iovec piece);
  TransferAwaiter Sync(SsdDisk::FileId file);

  class UntilAwaiter {
   public:
    UntilAwaiter(IoLoop* loop, std::function<bool()> condition) : loop_(loop), condition_(std::move(condition)) {}
    bool await_ready() const { return condition_(); }
    void await_suspend(std::coroutine_handle<> handle) { loop_->waiting_.push_back({&condition_, handle}); }
    void await_resume() const noexcept {}

   private:
    IoLoop* loop_;
    std::function<bool()> condition_;
  };
  // co_await: until the condition holds; it is looked at by RunReady. Who makes it true wakes the loop.
  UntilAwaiter Until(std::function<bool()> condition) { return {this, std::move(condition)}; }

 private:
  struct Waiting {
    std::function<bool()>* condition;
    std::coroutine_handle<> handle;
  };
  void Ready(std::coroutine_handle<> handle) KVP_EXCLUDES(mutex_);

  SsdDisk* const disk_;
  const std::function<void()> wake_;
  std::vector<IoTask> tasks_;
  std::vector<Waiting> waiting_;
  Mutex mutex_;
  std::vector<std::coroutine_handle<>> ready_ KVP_GUARDED_BY(mutex_);
};

}  // namespace kvpagefs
