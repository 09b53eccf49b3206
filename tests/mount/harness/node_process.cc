#include "tests/mount/harness/node_process.h"

#include <cassert>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mount/harness/child.h"
#include "tests/mount/harness/wait.h"

namespace kvpagefs::mount_test {
namespace {

constexpr double kStartSeconds = 60;
constexpr double kStopSeconds = 60;

}  // namespace

bool IsMountPoint(const std::string& dir) {
  struct stat own{};
  struct stat parent{};
  if (stat(dir.c_str(), &own) != 0) return errno == ENOTCONN;
  return stat((dir + "/..").c_str(), &parent) == 0 && own.st_dev != parent.st_dev;
}

std::string WhyNoMount(const TestOptions& options) {
  if (options.plain) return "KVPAGEFS_TEST_PLAIN is set";
  const Fd fuse = Open("/dev/fuse", O_RDWR);
  if (!fuse) return "/dev/fuse cannot be opened: " + Value(fuse.result());
  if (geteuid() != 0 && access("/usr/bin/fusermount3", X_OK) != 0) return "no root and no fusermount3";
  return "";
}

NodeProcess::NodeProcess(const TestOptions& test_options, Options options)
    : test_options_(test_options), options_(std::move(options)), scratch_(test_options.scratch_dir) {
  mount_point_ = options_.mount_point.empty() ? scratch_.path() + "/mount" : options_.mount_point;
  std::error_code ignored;
  std::filesystem::create_directory(mount_point_, ignored);
}

NodeProcess::~NodeProcess() {
  if (Running()) {
    kill(pid_, SIGTERM);
    int status = 0;
    if (!WaitForExit(10, &status)) Kill();
  }
  if (!test_options_.plain) Detach();
}

void NodeProcess::Spawn() {
  const Fd err = Open(scratch_.path() + "/stderr", O_CREAT | O_WRONLY | O_APPEND, 0600);
  std::vector<std::string> words = {test_options_.binary, "-f"};
  if (!options_.source.empty()) words.push_back(options_.source);
  words.insert(words.end(), {mount_point_, "--memory", options_.memory});
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_ = fork();
  assert(pid_ >= 0);
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  dup2(err.get(), 1);
  dup2(err.get(), 2);
  if (options_.max_open_files != 0) {
    const rlimit limit{options_.max_open_files, options_.max_open_files};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  execv(pointers[0], pointers.data());
  _exit(127);
}

std::string NodeProcess::Start() {
  if (test_options_.plain) return "";
  Spawn();
  const std::string status_file = Path(".kvpagefs/status");
  const bool answers = WaitUntil(
      [&] {
        int64_t error = 0;
        return !Running() || (!ReadFile(status_file, &error).empty() && error == 0);
      },
      Seconds(kStartSeconds));
  if (!Running()) return "kvpagefs ended at start: " + Stderr();
  if (!answers) return "the mount does not answer: " + Stderr();
  return "";
}

std::string NodeProcess::Stop(int signal) {
  if (test_options_.plain) return "";
  if (!Running()) return "kvpagefs is not running: " + Stderr();
  kill(pid_, signal);
  int status = 0;
  if (!WaitForExit(kStopSeconds, &status)) {
    Kill();
    return "kvpagefs does not stop: " + Stderr();
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return "kvpagefs ended with wait status " + std::to_string(status) + ": " + Stderr();
  }
  return IsMountPoint(mount_point_) ? "still mounted after the end: " + Stderr() : "";
}

void NodeProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  int status = 0;
  WaitForExit(60, &status);
}

void NodeProcess::Detach() {
  if (!IsMountPoint(mount_point_)) return;
  if (umount2(mount_point_.c_str(), MNT_DETACH) == 0) return;
  RunProgram({"/usr/bin/fusermount3", "-u", "-z", mount_point_}, {});
}

bool NodeProcess::Running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

bool NodeProcess::WaitForExit(double seconds, int* status) {
  if (!ReapWithin(pid_, seconds, status)) return false;
  pid_ = -1;
  return true;
}

std::string NodeProcess::Stderr() const { return Contents(scratch_.path() + "/stderr"); }

std::map<std::string, std::string> NodeProcess::Status() const {
  std::map<std::string, std::string> values;
  std::istringstream lines(Contents(Path(".kvpagefs/status")));
  std::string line;
  while (std::getline(lines, line)) {
    const size_t space = line.find_first_of(" \t");
    if (space == std::string::npos) continue;
    const size_t value = line.find_first_not_of(" \t", space);
    if (value != std::string::npos) values[line.substr(0, space)] = line.substr(value);
  }
  return values;
}

std::optional<uint64_t> NodeProcess::StatusNumber(const std::string& key) const {
  const std::map<std::string, std::string> values = Status();
  const auto found = values.find(key);
  if (found == values.end()) return std::nullopt;
  return std::strtoull(found->second.c_str(), nullptr, 10);
}

uint64_t NodeProcess::ResidentBytes() const {
  std::istringstream lines(Contents("/proc/" + std::to_string(pid_) + "/status"));
  std::string word;
  uint64_t kib = 0;
  while (lines >> word) {
    if (word == "VmRSS:") lines >> kib;
  }
  return kib * 1024;
}

}  // namespace kvpagefs::mount_test
