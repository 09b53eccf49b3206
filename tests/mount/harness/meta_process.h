// A kvpagemetad of one test on a free port of loopback.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/mount/harness/sys.h"
#include "tests/mount/harness/test_options.h"

namespace kvpagefs::mount_test {

class MetaProcess {
 public:
  // `arguments` come behind `-f --listen ADDRESS`.
  MetaProcess(const TestOptions& test_options, std::vector<std::string> arguments);
  ~MetaProcess();
  MetaProcess(const MetaProcess&) = delete;
  MetaProcess& operator=(const MetaProcess&) = delete;

  // Empty when it takes connections; else what went wrong, with its standard error. Again after Kill or Stop: on the
  // same port.
  std::string Start();
  // Empty when it ended with status 0 in time.
  std::string Stop();
  void Kill();
  void Pause() const { kill(pid_, SIGSTOP); }
  void Resume() const { kill(pid_, SIGCONT); }

  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }
  bool Running();
  std::string Stderr() const;

 private:
  const std::string binary_;
  const std::vector<std::string> arguments_;
  ScratchDir scratch_;
  uint16_t port_ = 0;
  std::string address_;
  pid_t pid_ = -1;
};

// A port of loopback that nobody listens on now.
uint16_t FreePort();
// Somebody listens there.
bool PortAnswers(uint16_t port);

}  // namespace kvpagefs::mount_test
