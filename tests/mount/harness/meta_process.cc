#include "tests/mount/harness/meta_process.h"

#include <cassert>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mount/harness/child.h"
#include "tests/mount/harness/wait.h"

namespace kvpagefs::mount_test {
namespace {

constexpr double kStartSeconds = 60;
constexpr double kStopSeconds = 60;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// The daemons are in one folder.
std::string Sibling(const std::string& binary, const std::string& name) {
  return binary.substr(0, binary.rfind('/') + 1) + name;
}

}  // namespace

uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t bytes = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
  assert(bound);
  close(fd);
  return bound ? ntohs(address.sin_port) : uint16_t{0};
}

bool PortAnswers(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const bool answers = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return answers;
}

MetaProcess::MetaProcess(const TestOptions& test_options, std::vector<std::string> arguments)
    : binary_(Sibling(test_options.binary, "kvpagemetad")),
      arguments_(std::move(arguments)),
      scratch_(test_options.scratch_dir),
      port_(FreePort()),
      address_("127.0.0.1:" + std::to_string(port_)) {}

MetaProcess::~MetaProcess() {
  if (!Running()) return;
  Resume();
  kill(pid_, SIGTERM);
  int status = 0;
  if (!ReapWithin(pid_, 10, &status)) Kill();
}

std::string MetaProcess::Start() {
  const Fd err = Open(scratch_.path() + "/stderr", O_CREAT | O_WRONLY | O_APPEND, 0600);
  std::vector<std::string> words = {binary_, "-f", "--listen", address_};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_ = fork();
  assert(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(err.get(), 1);
    dup2(err.get(), 2);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  if (!WaitUntil([&] { return !Running() || PortAnswers(port_); }, Seconds(kStartSeconds))) {
    return "kvpagemetad does not listen: " + Stderr();
  }
  return Running() ? "" : "kvpagemetad ended at start: " + Stderr();
}

std::string MetaProcess::Stop() {
  if (!Running()) return "kvpagemetad is not running: " + Stderr();
  kill(pid_, SIGTERM);
  int status = 0;
  if (!ReapWithin(pid_, kStopSeconds, &status)) {
    Kill();
    return "kvpagemetad does not stop: " + Stderr();
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return "kvpagemetad ended with wait status " + std::to_string(status) + ": " + Stderr();
}

void MetaProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  int status = 0;
  ReapWithin(pid_, 60, &status);
  pid_ = -1;
}

bool MetaProcess::Running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

std::string MetaProcess::Stderr() const { return Contents(scratch_.path() + "/stderr"); }

}  // namespace kvpagefs::mount_test
