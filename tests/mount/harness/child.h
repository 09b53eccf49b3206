// Other processes: a file that is being written is visible only to its writer, so most tests need a second one.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace kvpagefs::mount_test {

// A forked process that answers questions one after the other. Fork it before files are opened for writing: a child
// that ends closes its copies of the descriptors, and on a FUSE mount every close is seen by the file system.
class Peer {
 public:
  using Handler = std::function<std::string(const std::string& question)>;
  explicit Peer(Handler handler);
  ~Peer();
  Peer(Peer&& other) noexcept;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::string Ask(const std::string& question);
  // Ask in two halves, for several peers at once.
  void Send(const std::string& question);
  std::string Receive();

  pid_t pid() const { return pid_; }
  // Sends the signal and reaps. Returns the wait status.
  int Kill(int signal);
  // The process ends by exit(0), its descriptors still open. Returns the wait status.
  int Finish();

 private:
  int Wait();

  pid_t pid_ = -1;
  int question_fd_ = -1;
  int answer_fd_ = -1;
};

// What a handler for the common questions answers: "stat PATH" (size or errno), "open PATH" (ok or errno), "read PATH"
// (digest or errno), "list DIR" (names), "access PATH".
std::string AnswerCommon(const std::string& question);

// Runs in a forked process and brings back what it returned; "died: ..." when it did not end by returning.
std::string RunInChild(const std::function<std::string()>& work);

// Runs a program with its output captured.
struct ProgramResult {
  int exit_status = -1;  // -1: killed by a signal or by the deadline
  std::string out;
  std::string err;
};
struct ProgramOptions {
  std::vector<std::string> environment;  // added to the own one, "NAME=value"
  int uid = -1;                          // run as this user
  double limit_seconds = 30;
};
ProgramResult RunProgram(const std::vector<std::string>& argv, const ProgramOptions& options);

// waitpid with a deadline: false when the process is still there.
bool ReapWithin(pid_t pid, double seconds, int* status);

}  // namespace kvpagefs::mount_test
