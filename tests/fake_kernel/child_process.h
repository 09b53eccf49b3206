// Another process that does nothing but live, for tests that need its thread id.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace kvpagefs {

class ChildProcess {
 public:
  // `name`: shown in /proc; null: the test's own.
  explicit ChildProcess(const char* name = nullptr) : pid_(fork()) {
    if (pid_ < 0) std::abort();
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (name != nullptr) prctl(PR_SET_NAME, name);
    for (;;) pause();
  }
  ~ChildProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // From here on the process is dead but still there (a zombie), as it is to the kernel while its files are closed.
  void Kill() const {
    kill(pid_, SIGKILL);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  uint32_t tid() const { return static_cast<uint32_t>(pid_); }

 private:
  const pid_t pid_;
};

}  // namespace kvpagefs
