#include "fs/process_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

// From include/linux/sched.h: set from the moment a task starts to exit. Part of the flags field of /proc/PID/stat.
constexpr uint64_t kPfExiting = 0x4;
// Fields of /proc/PID/stat as numbered in proc(5).
constexpr int kFieldAfterName = 3;
constexpr int kFieldFlags = 9;
constexpr int kFieldExitCode = 52;
constexpr uint64_t kSignalMask = 0x7f;

// The start of a small /proc file; empty when it cannot be read.
std::string_view ReadProc(const char* path, char* buffer, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = read(fd, buffer, size);
  close(fd);
  return got > 0 ? std::string_view(buffer, static_cast<size_t>(got)) : std::string_view();
}

uint64_t ParseNumber(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Field `wanted` of a stat line; the command name, which may contain anything, ends at the last ')'.
uint64_t StatField(std::string_view line, int wanted) {
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string_view::npos) return 0;
  line.remove_prefix(name_end + 2);
  for (int field = kFieldAfterName; field < wanted; ++field) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) return 0;
    line.remove_prefix(space + 1);
  }
  return ParseNumber(line);
}

// Whether the thread has let go of its memory, which it does on its way out before it closes its files.
bool HasNoMemory(uint32_t tid) {
  char path[64];
  *fmt::format_to_n(path, sizeof(path) - 1, "/proc/{}/statm", tid).out = '\0';
  char buffer[64];
  return ReadProc(path, buffer, sizeof(buffer)).starts_with("0 ");
}

}  // namespace

uint32_t ProcessOfThread(uint32_t tid) {
  if (tid == 0) return 0;
  char path[64];
  *fmt::format_to_n(path, sizeof(path) - 1, "/proc/{}/status", tid).out = '\0';
  char buffer[1024];
  const std::string_view status = ReadProc(path, buffer, sizeof(buffer));
  constexpr std::string_view kKey = "\nTgid:\t";
  const size_t at = status.find(kKey);
  return at == std::string_view::npos ? 0 : static_cast<uint32_t>(ParseNumber(status.substr(at + kKey.size())));
}

bool ThreadInProcess(uint32_t tid, uint32_t process) {
  if (tid == process) return true;
  if (tid == 0 || process == 0) return false;
  char path[64];
  *fmt::format_to_n(path, sizeof(path) - 1, "/proc/{}/task/{}", process, tid).out = '\0';
  struct stat unused{};
  return stat(path, &unused) == 0;
}

// A thread inside execve(2) closes its close-on-exec files under a lock that /proc/PID/stat waits for, while it waits
// for us: reading stat then would be a deadlock. It still has memory; a thread that exits has none, and holds no such
// lock.
bool KilledBySignal(uint32_t tid) {
  if (tid == 0 || !HasNoMemory(tid)) return false;
  char path[64];
  *fmt::format_to_n(path, sizeof(path) - 1, "/proc/{}/stat", tid).out = '\0';
  char buffer[2048];
  const std::string_view line = ReadProc(path, buffer, sizeof(buffer));
  return (StatField(line, kFieldFlags) & kPfExiting) != 0 && (StatField(line, kFieldExitCode) & kSignalMask) != 0;
}

}  // namespace kvpagefs
