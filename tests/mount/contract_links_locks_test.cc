// What the mount refuses (links, devices) and what works between processes (flock, POSIX locks).
#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using LinksContract = ContractTest;
using LocksContract = ContractTest;

TEST_F(LinksContract, Refused) {
  Compare([](Side& side) {
    WriteFile(side.Path("a"), "abc");
    side.Ok("link", Sys(link(side.Path("a").c_str(), side.Path("b").c_str())));
    side.Ok("symlink", Sys(symlink("a", side.Path("c").c_str())));
    side.Ok("mkfifo", Sys(mkfifo(side.Path("fifo").c_str(), 0644)));
    side.Ok("character device", Sys(mknod(side.Path("null").c_str(), S_IFCHR | 0666, makedev(1, 3))));
    side.Ok("block device", Sys(mknod(side.Path("blk").c_str(), S_IFBLK | 0666, makedev(7, 0))));
    side.Ok("socket", Sys(mknod(side.Path("sock").c_str(), S_IFSOCK | 0666, 0)));
    char target[16];
    side.Ok("readlink of a file", Sys(readlink(side.Path("a").c_str(), target, sizeof(target))));
    side.Number("links", static_cast<int64_t>(StatOf(side.Path("a")).st_nlink));
    side.Note("listing", Join(List(side.dir())));
  });
}

TEST_F(LinksContract, MknodOfARegularFile) {
  Compare([](Side& side) {
    side.Ok("mknod", Sys(mknod(side.Path("a").c_str(), S_IFREG | 0640, 0)));
    side.Number("size", SizeOf(side.Path("a")));
    side.Number("mode", StatOf(side.Path("a")).st_mode);
    side.Ok("again", Sys(mknod(side.Path("a").c_str(), S_IFREG | 0640, 0)));
  });
}

// "flock sh|ex|un", "setlk read|write|unlock" on the descriptor that the peer opened at its first question.
std::string AnswerLocks(const std::string& question, const std::string& path, Fd* fd) {
  if (!*fd) *fd = Open(path, O_RDWR);
  if (question == "flock sh") return Outcome(Sys(flock(fd->get(), LOCK_SH | LOCK_NB)));
  if (question == "flock ex") return Outcome(Sys(flock(fd->get(), LOCK_EX | LOCK_NB)));
  if (question == "flock un") return Outcome(Sys(flock(fd->get(), LOCK_UN)));
  struct flock lock{};
  lock.l_whence = SEEK_SET;
  lock.l_start = 10;
  lock.l_len = 10;
  lock.l_type = question == "setlk read" ? F_RDLCK : question == "setlk write" ? F_WRLCK : F_UNLCK;
  if (question == "getlk") {
    lock.l_type = F_WRLCK;
    const int64_t outcome = Sys(fcntl(fd->get(), F_GETLK, &lock));
    return Outcome(outcome) + " type " + std::to_string(lock.l_type);
  }
  return Outcome(Sys(fcntl(fd->get(), F_SETLK, &lock)));
}

TEST_F(LocksContract, BetweenProcesses) {
  Compare([](Side& side) {
    WriteFile(side.Path("a"), side.Bytes(100));
    const auto handler = [path = side.Path("a"), fd = std::make_shared<Fd>()](const std::string& question) {
      return AnswerLocks(question, path, fd.get());
    };
    Peer one(handler);
    Peer two(handler);
    const std::pair<int, const char*> steps[] = {
        {1, "flock sh"},    {2, "flock sh"}, {2, "flock ex"},   {1, "flock un"},    {2, "flock ex"},
        {1, "flock sh"},    {2, "flock un"}, {1, "flock ex"},   {1, "setlk read"},  {2, "setlk read"},
        {2, "setlk write"}, {1, "getlk"},    {1, "unlock"},     {2, "setlk write"}, {1, "setlk read"},
        {1, "getlk"},       {2, "unlock"},   {1, "setlk write"}};
    for (const auto& [who, question] : steps) {
      const std::string step = std::to_string(side.notes().size()) + " " + std::to_string(who) + " " + question;
      side.Note(step, (who == 1 ? one : two).Ask(question));
    }
    one.Kill(SIGKILL);
    side.Yes("locks of a dead process go", WaitUntil([&] { return two.Ask("setlk write") == "ok"; }, Seconds(10)));
    side.Yes("flocks of a dead process go", WaitUntil([&] { return two.Ask("flock ex") == "ok"; }, Seconds(10)));
    side.File("content", "a");
  });
}

// Descriptors of one file in a peer, by number in order of opening. Questions:
//   open rw|ro        close N        flock N sh|ex|un [wait]
//   setlk N read|write|un FIRST BYTES [wait]        getlk N read|write FIRST BYTES
//   write N TEXT (over the whole file)        content (of a fresh open)
class LockingPeer {
 public:
  explicit LockingPeer(std::string path) : path_(std::move(path)) {}

  std::string operator()(const std::string& question) {
    std::istringstream words(question);
    std::string verb;
    words >> verb;
    if (verb == "content") return Contents(path_);
    if (verb == "open") return OpenOne(words);
    size_t number = 0;
    words >> number;
    Fd& fd = fds_.at(number);
    if (verb == "close") return Outcome(fd.Close());
    if (verb == "flock") return Flock(fd.get(), words);
    if (verb == "setlk" || verb == "getlk") return Record(fd.get(), verb == "getlk", words);
    std::string text;
    words >> text;
    return Outcome(WriteAll(fd.get(), text, 0));
  }

 private:
  std::string OpenOne(std::istringstream& words) {
    struct sigaction interrupt{};
    interrupt.sa_handler = [](int) {};
    sigaction(SIGUSR1, &interrupt, nullptr);
    std::string how;
    words >> how;
    fds_.push_back(Open(path_, how == "rw" ? O_RDWR : O_RDONLY));
    return Outcome(fds_.back().result());
  }
  static std::string Flock(int fd, std::istringstream& words) {
    std::string mode, wait;
    words >> mode >> wait;
    const int op = mode == "sh" ? LOCK_SH : mode == "ex" ? LOCK_EX : LOCK_UN;
    return Outcome(Sys(flock(fd, wait == "wait" ? op : op | LOCK_NB)));
  }
  static std::string Record(int fd, bool ask, std::istringstream& words) {
    std::string mode, wait;
    struct flock lock{};
    words >> mode >> lock.l_start >> lock.l_len >> wait;
    lock.l_whence = SEEK_SET;
    lock.l_type = mode == "read" ? F_RDLCK : mode == "write" ? F_WRLCK : F_UNLCK;
    if (!ask) return Outcome(Sys(fcntl(fd, wait == "wait" ? F_SETLKW : F_SETLK, &lock)));
    const int64_t result = Sys(fcntl(fd, F_GETLK, &lock));
    if (result < 0 || lock.l_type == F_UNLCK) return result < 0 ? Outcome(result) : "free";
    return std::string(lock.l_type == F_WRLCK ? "write" : "read") + " " + std::to_string(lock.l_start) + " " +
           std::to_string(lock.l_len) + " of " + std::to_string(lock.l_pid);
  }

  std::string path_;
  std::vector<Fd> fds_;
};

// The number of the system call that the process is in; -1: none.
int64_t SystemCallOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/syscall");
  int64_t number = -1;
  file >> number;
  return file ? number : -1;
}

bool IsZombie(pid_t pid) {
  const std::string stat = Contents("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end, 3) == ") Z";
}

// Three processes around one file of 100 bytes.
class LockTrio {
 public:
  explicit LockTrio(Side& side) : side_(side) {
    WriteFile(side.Path("a"), side.Bytes(100));
    for (int i = 0; i < 3; ++i) {
      const auto answer = std::make_shared<LockingPeer>(side.Path("a"));
      peers_.push_back(std::make_unique<Peer>([answer](const std::string& question) { return (*answer)(question); }));
    }
  }
  Peer& peer(int who) { return *peers_[static_cast<size_t>(who - 1)]; }
  // The peers are numbered from 1.
  void Do(int who, const std::string& question) { side_.Note(Step(who, question), peer(who).Ask(question)); }
  // Asks for what must wait, and goes on when the peer is in the system call.
  void Block(int who, const std::string& question) {
    peer(who).Send(question + " wait");
    const int64_t call = question.starts_with("flock") ? SYS_flock : SYS_fcntl;
    side_.Yes(Step(who, question) + " waits",
              WaitUntil([&] { return SystemCallOf(peer(who).pid()) == call; }, Seconds(10)));
  }
  void Unblocked(int who) { side_.Note(Step(who, "goes on"), peer(who).Receive()); }
  // For what follows a last close: RELEASE is not waited for.
  void DoSoon(int who, const std::string& question) {
    side_.Yes(Step(who, question) + " soon", WaitUntil([&] { return peer(who).Ask(question) == "ok"; }, Seconds(10)));
  }

 private:
  std::string Step(int who, const std::string& question) {
    return std::to_string(side_.notes().size()) + " " + std::to_string(who) + " " + question;
  }

  Side& side_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

TEST_F(LocksContract, FlockWaitsForTheHolder) {
  Compare([](Side& side) {
    LockTrio trio(side);
    for (const int who : {1, 2, 3}) trio.Do(who, "open rw");
    trio.Do(1, "flock 0 ex");
    trio.Do(2, "flock 0 ex");
    trio.Do(2, "flock 0 sh");
    trio.Block(2, "flock 0 ex");
    trio.Do(1, "close 0");
    trio.Unblocked(2);
    trio.Do(3, "flock 0 sh");
    trio.Block(3, "flock 0 sh");
    trio.Do(2, "flock 0 sh");
    trio.Unblocked(3);
    trio.Do(3, "flock 0 ex");
    side.File("content", "a");
  });
}

TEST_F(LocksContract, TheDeadHoldNothing) {
  Compare([](Side& side) {
    LockTrio trio(side);
    for (const int who : {1, 2, 3}) trio.Do(who, "open rw");
    trio.Do(1, "flock 0 ex");
    trio.Do(1, "setlk 0 write 0 0");
    trio.Block(2, "flock 0 ex");
    trio.Block(3, "setlk 0 write 5 5");
    trio.peer(1).Kill(SIGKILL);
    trio.Unblocked(2);
    trio.Unblocked(3);
  });
}

TEST_F(LocksContract, AWaiterCanBeKilledAndInterrupted) {
  Compare([](Side& side) {
    LockTrio trio(side);
    for (const int who : {1, 2, 3}) trio.Do(who, "open rw");
    trio.Do(1, "flock 0 ex");
    trio.Do(1, "setlk 0 write 0 0");
    for (const char* question : {"flock 0 ex", "setlk 0 write 5 5"}) {
      trio.Block(3, question);
      kill(trio.peer(3).pid(), SIGUSR1);
      trio.Unblocked(3);
    }
    trio.Block(2, "flock 0 ex");
    kill(trio.peer(2).pid(), SIGKILL);
    side.Yes("the killed one ends", WaitUntil([&] { return IsZombie(trio.peer(2).pid()); }, Seconds(10)));
    trio.Do(1, "flock 0 un");
    trio.Do(1, "setlk 0 un 0 0");
    trio.DoSoon(3, "flock 0 ex");
    trio.DoSoon(3, "setlk 0 write 5 5");
  });
}

TEST_F(LocksContract, RecordsHaveRanges) {
  Compare([](Side& side) {
    LockTrio trio(side);
    for (const int who : {1, 2, 3}) trio.Do(who, "open rw");
    trio.Do(1, "setlk 0 write 10 20");
    trio.Do(2, "setlk 0 write 30 10");
    trio.Do(2, "setlk 0 write 0 10");
    trio.Do(2, "setlk 0 read 29 1");
    trio.Do(2, "setlk 0 read 0 0");
    trio.Do(1, "setlk 0 un 15 5");
    trio.Do(2, "setlk 0 write 15 5");
    trio.Do(2, "setlk 0 write 15 6");
    const std::string seen = trio.peer(3).Ask("getlk 0 write 12 30");
    side.Yes("getlk names range and holder", seen == "write 10 5 of " + std::to_string(trio.peer(1).pid()));
    trio.Do(1, "getlk 0 write 10 5");
    trio.Do(3, "getlk 0 read 60 0");
    trio.Do(1, "setlk 0 read 10 5");
    trio.Do(3, "setlk 0 read 10 5");
    trio.Do(1, "setlk 0 write 10 5");
    trio.Block(3, "setlk 0 write 20 5");
    trio.Do(1, "setlk 0 un 0 0");
    trio.Unblocked(3);
    trio.Do(1, "setlk 0 write 1000000 0");
    trio.Do(2, "setlk 0 read 9000000 1");
  });
}

TEST_F(LocksContract, DeadlocksAreRefused) {
  Compare([](Side& side) {
    LockTrio trio(side);
    for (const int who : {1, 2}) trio.Do(who, "open rw");
    trio.Do(1, "setlk 0 write 0 10");
    trio.Do(2, "setlk 0 write 10 10");
    // Whose request arrives second is refused; it gives way, and the other one goes on.
    const auto cross = [&trio](int who, const std::string& question) {
      std::string outcome = trio.peer(who).Ask(question);
      if (outcome == "EDEADLK") trio.peer(who).Ask("setlk 0 un 0 0");
      return outcome;
    };
    auto one = std::async(std::launch::async, cross, 1, "setlk 0 write 10 10 wait");
    auto two = std::async(std::launch::async, cross, 2, "setlk 0 write 0 10 wait");
    std::vector<std::string> outcomes = {one.get(), two.get()};
    std::sort(outcomes.begin(), outcomes.end());
    side.Note("one of them", Join(outcomes));
  });
}

TEST_F(LocksContract, AnyCloseFreesTheRecordsOfAWriter) {
  Compare([](Side& side) {
    LockTrio trio(side);
    for (const int who : {1, 1, 2}) trio.Do(who, "open rw");
    trio.Do(1, "setlk 0 write 0 0");
    trio.Do(1, "flock 0 ex");
    trio.Do(2, "setlk 0 read 0 1");
    trio.Do(1, "close 1");
    trio.Do(2, "setlk 0 read 0 1");
    trio.Do(2, "flock 0 sh");
  });
}

TEST_F(LocksContract, ReadersAndWritersMeet) {
  Compare([](Side& side) {
    LockTrio trio(side);
    trio.Do(1, "open ro");
    for (const int who : {2, 3}) trio.Do(who, "open rw");
    trio.Do(1, "setlk 0 write 0 0");
    trio.Do(1, "setlk 0 read 0 0");
    trio.Do(1, "flock 0 ex");
    trio.Do(2, "setlk 0 read 0 10");
    trio.Do(2, "setlk 0 un 0 0");
    trio.Do(2, "setlk 0 write 0 10");
    trio.Do(2, "flock 0 sh");
    trio.Block(3, "setlk 0 write 50 10");
    trio.Do(1, "close 0");
    trio.Unblocked(3);
    trio.DoSoon(2, "flock 0 ex");
    trio.DoSoon(2, "setlk 0 write 0 10");
  });
}

// When a lock is granted because its holder closed the file, what that one wrote is there (for a process that has not
// opened an earlier version).
TEST_F(LocksContract, TheNextHolderSeesTheBytes) {
  Compare([](Side& side) {
    const std::string text(100, 'n');
    for (const char* question : {"flock 0 ex", "setlk 0 write 0 0"}) {
      LockTrio each(side);
      for (const int who : {1, 2}) each.Do(who, "open rw");
      each.Do(1, question);
      each.Do(1, "write 0 " + text);
      each.Block(2, question);
      each.Do(1, "close 0");
      each.Unblocked(2);
      side.Yes(std::string("the new bytes: ") + question, each.peer(3).Ask("content") == text);
    }
  });
}

}  // namespace
}  // namespace kvpagefs::mount_test
