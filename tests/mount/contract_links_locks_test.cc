// What the mount refuses (links, devices) and what works between processes (flock, POSIX locks).
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
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

}  // namespace
}  // namespace kvpagefs::mount_test
