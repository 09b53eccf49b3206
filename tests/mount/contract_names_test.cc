// Names and directories: unlink, mkdir, rmdir, listings, what a name may be.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using NamesContract = ContractTest;

TEST_F(NamesContract, Unlink) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), "a"));
    mkdir(side.Path("d").c_str(), 0755);
    side.Ok("unlink", Sys(unlink(side.Path("a").c_str())));
    side.Ok("again", Sys(unlink(side.Path("a").c_str())));
    side.Ok("never there", Sys(unlink(side.Path("none").c_str())));
    side.Ok("a directory", Sys(unlink(side.Path("d").c_str())));
    side.Ok("in a missing directory", Sys(unlink(side.Path("none/a").c_str())));
    side.Number("stat", SizeOf(side.Path("a")));
    side.Ok("open", Open(side.Path("a"), O_RDONLY).result());
    side.Ok("access", Sys(access(side.Path("a").c_str(), F_OK)));
  });
}

TEST_F(NamesContract, Directories) {
  Compare([](Side& side) {
    side.Ok("mkdir", Sys(mkdir(side.Path("d").c_str(), 0755)));
    side.Ok("mkdir again", Sys(mkdir(side.Path("d").c_str(), 0755)));
    side.Ok("file", WriteFile(side.Path("f"), "f"));
    side.Ok("mkdir over a file", Sys(mkdir(side.Path("f").c_str(), 0755)));
    side.Ok("mkdir in a missing one", Sys(mkdir(side.Path("none/d").c_str(), 0755)));
    side.Ok("mkdir under a file", Sys(mkdir(side.Path("f/d").c_str(), 0755)));
    side.Number("links of an empty directory", static_cast<int64_t>(StatOf(side.Path("d")).st_nlink));
    side.Ok("mkdir inside", Sys(mkdir(side.Path("d/e").c_str(), 0700)));
    side.Number("links with one inside", static_cast<int64_t>(StatOf(side.Path("d")).st_nlink));
    side.Ok("rmdir with an entry", Sys(rmdir(side.Path("d").c_str())));
    side.Ok("rmdir inside", Sys(rmdir(side.Path("d/e").c_str())));
    side.Ok("file inside", WriteFile(side.Path("d/x"), ""));
    side.Ok("rmdir with a file", Sys(rmdir(side.Path("d").c_str())));
    side.Ok("unlink it", Sys(unlink(side.Path("d/x").c_str())));
    side.Ok("rmdir", Sys(rmdir(side.Path("d").c_str())));
    side.Ok("rmdir again", Sys(rmdir(side.Path("d").c_str())));
    side.Ok("rmdir of a file", Sys(rmdir(side.Path("f").c_str())));
    side.Ok("rmdir .", Sys(rmdir((side.dir() + "/.").c_str())));
    side.Ok("rmdir ..", Sys(rmdir((side.dir() + "/..").c_str())));
    side.Number("mode of the top", StatOf(side.dir()).st_mode & S_IFMT);
  });
}

TEST_F(NamesContract, RemovedDirectoryStaysUsableToItsHolder) {
  Compare([](Side& side) {
    mkdir(side.Path("d").c_str(), 0755);
    const Fd dir = Open(side.Path("d"), O_RDONLY | O_DIRECTORY);
    side.Ok("rmdir", Sys(rmdir(side.Path("d").c_str())));
    side.Ok("create inside", Sys(openat(dir.get(), "x", O_WRONLY | O_CREAT, 0644)));
    side.Ok("lookup inside", Sys(faccessat(dir.get(), "x", F_OK, 0)));
  });
}

TEST_F(NamesContract, DeepPaths) {
  Compare([](Side& side) {
    std::string path = side.dir();
    int64_t outcome = 0;
    for (int depth = 0; depth < 100; ++depth) {
      path += "/level" + std::to_string(depth);
      outcome = std::min(outcome, Sys(mkdir(path.c_str(), 0755)));
    }
    side.Ok("100 levels", outcome);
    side.Ok("file at the bottom", WriteFile(path + "/f", side.Bytes(100)));
    side.Note("content", Digest(Contents(path + "/f")));
    side.Ok("through ..", Sys(access((path + "/../level99/f").c_str(), F_OK)));
  });
}

TEST_F(NamesContract, RacingMkdir) {
  Compare([](Side& side) {
    const auto work = [&side](const std::string&) {
      int made = 0;
      int wrong = 0;
      for (int i = 0; i < 500; ++i) {
        const std::string dir = side.Path("r" + std::to_string(i / 10));
        for (const std::string& path : {dir, dir + "/" + std::to_string(i % 10)}) {
          const int64_t outcome = Sys(mkdir(path.c_str(), 0755));
          made += outcome == 0 ? 1 : 0;
          wrong += outcome != 0 && outcome != -EEXIST ? 1 : 0;
        }
      }
      return std::to_string(made * 1000 + wrong);
    };
    std::vector<Peer> peers;
    for (int i = 0; i < 4; ++i) peers.emplace_back(work);
    for (Peer& peer : peers) peer.Send("go");
    int64_t sum = 0;
    for (Peer& peer : peers) sum += std::stoll(peer.Receive());
    side.Number("each directory made by exactly one", sum / 1000);
    side.Number("other errors", sum % 1000);
    side.Number("listed", static_cast<int64_t>(List(side.dir()).size()));
  });
}

TEST_F(NamesContract, Lengths) {
  Compare([](Side& side) {
    for (const size_t bytes : {1, 254, 255, 256, 280, 1023, 1024, 1025, 4000}) {
      const std::string name(bytes, 'n');
      const std::string step = std::to_string(bytes);
      side.Ok("create " + step, WriteFile(side.Path(name), "content"));
      side.Number("stat " + step, SizeOf(side.Path(name)));
      side.Yes("listed " + step, IsListed(side.dir(), name));
      side.Ok("rename " + step, Sys(rename(side.Path(name).c_str(), side.Path("n-" + step).c_str())));
      side.Ok("mkdir " + step, Sys(mkdir(side.Path(name).c_str(), 0755)));
      side.Ok("rmdir " + step, Sys(rmdir(side.Path(name).c_str())));
    }
    side.Ok("empty path", Open("", O_RDONLY).result());
    side.Ok("path above PATH_MAX", Open(side.dir() + "/" + std::string(5000, '/') + "x", O_RDONLY).result());
  });
}

TEST_F(NamesContract, AnyByte) {
  Compare([](Side& side) {
    int64_t wrong = 0;
    for (int byte = 1; byte < 256; ++byte) {
      if (byte == '/') continue;
      const std::string name = std::string("b") + static_cast<char>(byte) + "e";
      const bool good = WriteFile(side.Path(name), name) == 0 && Contents(side.Path(name)) == name;
      wrong += good ? 0 : 1;
    }
    side.Number("files that went wrong", wrong);
    side.Note("listing", Digest(Join(List(side.dir()))));
    for (const char* name : {" ", "  lead", "trail ", "...", ".hidden", "-", "a\nb", "\xff\xfe", "*?[]"}) {
      side.Ok(std::string("create '") + name + "'", WriteFile(side.Path(name), name));
      side.File(std::string("content of '") + name + "'", name);
    }
  });
}

TEST_F(NamesContract, ListingHasTypesAndDots) {
  Compare([](Side& side) {
    WriteFile(side.Path("file"), "x");
    WriteFile(side.Path("empty"), "");
    mkdir(side.Path("dir").c_str(), 0755);
    std::map<std::string, int> types;
    std::map<std::string, ino_t> inodes;
    DIR* stream = opendir(side.dir().c_str());
    while (const dirent* entry = readdir(stream)) {
      types[entry->d_name] = entry->d_type;
      inodes[entry->d_name] = entry->d_ino;
    }
    closedir(stream);
    for (const char* name : {".", "..", "file", "empty", "dir"}) side.Number(name, types[name]);
    side.Number("entries", static_cast<int64_t>(types.size()));
    side.Yes("d_ino of file", inodes["file"] == StatOf(side.Path("file")).st_ino);
    side.Yes("d_ino of dir", inodes["dir"] == StatOf(side.Path("dir")).st_ino);
    side.Number("opendir of a file", opendir(side.Path("file").c_str()) == nullptr ? -errno : 0);
    side.Number("opendir of nothing", opendir(side.Path("none").c_str()) == nullptr ? -errno : 0);
  });
}

TEST_F(NamesContract, TelldirAndSeekdir) {
  Compare([](Side& side) {
    for (int i = 0; i < 1000; ++i) WriteFile(side.Path("name-" + std::to_string(i)), "");
    DIR* stream = opendir(side.dir().c_str());
    std::vector<std::pair<long, std::string>> positions;
    for (long at = telldir(stream); const dirent* entry = readdir(stream); at = telldir(stream)) {
      positions.emplace_back(at, entry->d_name);
    }
    side.Number("entries", static_cast<int64_t>(positions.size()));
    int64_t wrong = 0;
    for (size_t i = 0; i < positions.size(); i += 37) {
      seekdir(stream, positions[positions.size() - 1 - i].first);
      const dirent* entry = readdir(stream);
      wrong += entry == nullptr || entry->d_name != positions[positions.size() - 1 - i].second ? 1 : 0;
    }
    side.Number("seekdir to another entry", wrong);
    rewinddir(stream);
    std::set<std::string> names;
    while (const dirent* entry = readdir(stream)) names.insert(entry->d_name);
    side.Number("after rewinddir", static_cast<int64_t>(names.size()));
    closedir(stream);
  });
}

// Entries that come and go while a listing is under way never shift the others.
TEST_F(NamesContract, ListingWhileNamesChange) {
  Compare([](Side& side) {
    for (int i = 0; i < 3000; ++i) WriteFile(side.Path("stay-" + std::to_string(i)), "");
    for (int i = 0; i < 3000; ++i) WriteFile(side.Path("go-" + std::to_string(i)), "");
    std::map<std::string, int> seen;
    DIR* stream = opendir(side.dir().c_str());
    int step = 0;
    while (const dirent* entry = readdir(stream)) {
      ++seen[entry->d_name];
      if (step < 3000) {
        unlink(side.Path("go-" + std::to_string(step)).c_str());
        WriteFile(side.Path("new-" + std::to_string(step)), "");
      }
      ++step;
    }
    closedir(stream);
    int64_t once = 0;
    for (int i = 0; i < 3000; ++i) once += seen["stay-" + std::to_string(i)] == 1 ? 1 : 0;
    int64_t twice = 0;
    for (const auto& [name, count] : seen) twice += count > 1 ? 1 : 0;
    side.Number("names present throughout, listed once", once);
    side.Number("names listed twice", twice);
  });
}

TEST_F(NamesContract, DeletingEverythingWhileListing) {
  Compare([](Side& side) {
    for (int i = 0; i < 5000; ++i) WriteFile(side.Path("f" + std::to_string(i)), "x");
    DIR* stream = opendir(side.dir().c_str());
    int64_t deleted = 0;
    while (const dirent* entry = readdir(stream)) {
      if (entry->d_type == DT_REG && unlink(side.Path(entry->d_name).c_str()) == 0) ++deleted;
    }
    closedir(stream);
    side.Number("deleted", deleted);
    side.Note("left", Join(List(side.dir())));
  });
}

}  // namespace
}  // namespace kvpagefs::mount_test
