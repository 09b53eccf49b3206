#include "tests/mount/harness/child.h"

#include <cassert>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mount/harness/sys.h"
#include "tests/mount/harness/wait.h"

namespace kvpagefs::mount_test {
namespace {

// In place of a length: the peer is to exit(0) at once.
constexpr uint32_t kQuit = UINT32_MAX;

bool SendText(int fd, const std::string& text) {
  const auto bytes = static_cast<uint32_t>(text.size());
  return WriteAll(fd, {reinterpret_cast<const char*>(&bytes), sizeof(bytes)}) == 0 && WriteAll(fd, text) == 0;
}

bool ReadExactly(int fd, char* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = read(fd, to, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool ReceiveText(int fd, std::string* text) {
  uint32_t bytes = 0;
  if (!ReadExactly(fd, reinterpret_cast<char*>(&bytes), sizeof(bytes))) return false;
  if (bytes == kQuit) return false;
  text->resize(bytes);
  return ReadExactly(fd, text->data(), bytes);
}

struct Pipe {
  int read_fd = -1;
  int write_fd = -1;
};

Pipe MakePipe() {
  int fds[2];
  const int made = pipe2(fds, O_CLOEXEC);
  assert(made == 0);
  (void)made;
  return {fds[0], fds[1]};
}

[[noreturn]] void ServePeer(const Peer::Handler& handler, int question_fd, int answer_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string question;
  while (ReceiveText(question_fd, &question)) {
    if (!SendText(answer_fd, handler(question))) break;
  }
  _exit(0);
}

int Reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Peer::Peer(Handler handler) {
  const Pipe questions = MakePipe();
  const Pipe answers = MakePipe();
  pid_ = fork();
  assert(pid_ >= 0);
  if (pid_ == 0) {
    close(questions.write_fd);
    close(answers.read_fd);
    ServePeer(handler, questions.read_fd, answers.write_fd);
  }
  close(questions.read_fd);
  close(answers.write_fd);
  question_fd_ = questions.write_fd;
  answer_fd_ = answers.read_fd;
}

Peer::Peer(Peer&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      question_fd_(std::exchange(other.question_fd_, -1)),
      answer_fd_(std::exchange(other.answer_fd_, -1)) {}

Peer::~Peer() {
  if (pid_ > 0) Kill(SIGKILL);
}

void Peer::Send(const std::string& question) { SendText(question_fd_, question); }

std::string Peer::Receive() {
  std::string answer;
  return ReceiveText(answer_fd_, &answer) ? answer : "died";
}

std::string Peer::Ask(const std::string& question) {
  Send(question);
  return Receive();
}

int Peer::Kill(int signal) {
  if (pid_ <= 0) return -1;
  kill(pid_, signal);
  return Wait();
}

int Peer::Finish() {
  WriteAll(question_fd_, {reinterpret_cast<const char*>(&kQuit), sizeof(kQuit)});
  return Wait();
}

int Peer::Wait() {
  close(question_fd_);
  const int status = Reap(std::exchange(pid_, -1));
  close(answer_fd_);
  return status;
}

std::string AnswerCommon(const std::string& question) {
  const size_t space = question.find(' ');
  const std::string verb = question.substr(0, space);
  const std::string path = space == std::string::npos ? "" : question.substr(space + 1);
  if (verb == "stat") return Value(SizeOf(path));
  if (verb == "open") return Outcome(Open(path, O_RDONLY).result());
  if (verb == "access") return Outcome(Sys(access(path.c_str(), F_OK)));
  if (verb == "list") return Join(List(path));
  if (verb == "unlink") return Outcome(Sys(unlink(path.c_str())));
  if (verb == "read") {
    int64_t error = 0;
    const std::string bytes = ReadFile(path, &error);
    return error == 0 ? Digest(bytes) : Value(error);
  }
  return "what?";
}

std::string RunInChild(const std::function<std::string()>& work) {
  Peer peer([&work](const std::string&) { return work(); });
  std::string answer = peer.Ask("");
  const int status = peer.Finish();
  return answer == "died" ? "died: status " + std::to_string(status) : answer;
}

bool ReapWithin(pid_t pid, double seconds, int* status) {
  return WaitUntil([&] { return waitpid(pid, status, WNOHANG) != 0; }, Seconds(seconds));
}

ProgramResult RunProgram(const std::vector<std::string>& argv, const ProgramOptions& options) {
  ScratchDir scratch("/tmp");
  const std::string out = scratch.path() + "/out";
  const std::string err = scratch.path() + "/err";
  const Fd out_fd = Open(out, O_CREAT | O_WRONLY, 0666);
  const Fd err_fd = Open(err, O_CREAT | O_WRONLY, 0666);
  const pid_t pid = fork();
  assert(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out_fd.get(), 1);
    dup2(err_fd.get(), 2);
    std::vector<std::string> words = argv;
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    for (const std::string& variable : options.environment) putenv(const_cast<char*>(variable.c_str()));
    const auto uid = static_cast<uid_t>(options.uid);
    if (options.uid >= 0 && (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)) _exit(126);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  ProgramResult result;
  int status = 0;
  if (!ReapWithin(pid, options.limit_seconds, &status)) {
    kill(pid, SIGKILL);
    status = Reap(pid);
  }
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = Contents(out);
  result.err = Contents(err);
  return result;
}

}  // namespace kvpagefs::mount_test
