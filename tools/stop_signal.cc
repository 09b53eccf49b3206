#include "tools/stop_signal.h"

#include <sys/signalfd.h>

namespace kvpagefs {

StopSignal::StopSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, &old_mask_);
  fd_ = UniqueFd(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
}

StopSignal::~StopSignal() { ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr); }

bool StopSignal::Requested() {
  signalfd_siginfo info{};
  if (!requested_ && fd_.valid()) requested_ = ::read(fd_.get(), &info, sizeof info) == sizeof info;
  return requested_;
}

}  // namespace kvpagefs
