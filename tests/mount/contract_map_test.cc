// mmap(2): reading sealed files, writing files that are not sealed yet, and mappings that outlive names.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using MapContract = ContractTest;

// A mapping that goes with its scope.
class Mapping {
 public:
  Mapping(int fd, size_t bytes, int protection, int flags)
      : data_(mmap(nullptr, bytes, protection, flags, fd, 0)),
        bytes_(bytes),
        error_(data_ == MAP_FAILED ? -errno : 0) {}
  ~Mapping() { Unmap(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  int64_t error() const { return error_; }
  char* data() { return static_cast<char*>(data_); }
  std::string Digest() const {
    return error_ != 0 ? "not mapped" : mount_test::Digest({static_cast<const char*>(data_), bytes_});
  }
  void Unmap() {
    if (error_ == 0) munmap(data_, bytes_);
    error_ = -EINVAL;
  }

 private:
  void* data_;
  size_t bytes_;
  int64_t error_;
};

TEST_F(MapContract, ReadSealedFiles) {
  Compare([](Side& side) {
    for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{100001}, size_t{8} << 20}) {
      const std::string name = "m" + std::to_string(bytes);
      side.Ok("write " + name, WriteFile(side.Path(name), side.Bytes(bytes)));
      const Fd fd = Open(side.Path(name), O_RDONLY);
      const Mapping own(fd.get(), bytes, PROT_READ, MAP_PRIVATE);
      side.Note("MAP_PRIVATE " + name, Value(own.error()) + " " + own.Digest());
      const Mapping shared(fd.get(), bytes, PROT_READ, MAP_SHARED);
      side.Note("MAP_SHARED " + name, Value(shared.error()) + " " + shared.Digest());
      const Mapping populated(fd.get(), bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE);
      side.Note("MAP_POPULATE " + name, Value(populated.error()) + " " + populated.Digest());
    }
  });
}

TEST_F(MapContract, PrivateStoresStayPrivate) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(10000)));
    const Fd fd = Open(side.Path("a"), O_RDONLY);
    Mapping own(fd.get(), 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    side.Ok("map", own.error());
    std::memset(own.data(), 'x', 10000);
    side.Note("changed for me", own.Digest());
    side.File("not in the file", "a");
    Mapping shared(fd.get(), 10000, PROT_READ | PROT_WRITE, MAP_SHARED);
    side.Ok("MAP_SHARED for writing of a read-only descriptor", shared.error());
  });
}

TEST_F(MapContract, WriteThroughASharedMapping) {
  Compare([](Side& side) {
    for (const bool sync : {false, true}) {
      const std::string name = sync ? "with msync" : "with munmap only";
      const std::string bytes = side.Bytes(3000001, sync ? 1 : 2);
      Fd fd = Open(side.Path(name), O_RDWR | O_CREAT | O_EXCL);
      side.Ok("ftruncate " + name, Sys(ftruncate(fd.get(), static_cast<off_t>(bytes.size()))));
      Mapping map(fd.get(), bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED);
      side.Ok("map " + name, map.error());
      if (map.error() != 0) return;
      std::memcpy(map.data(), bytes.data(), bytes.size());
      if (sync) side.Ok("msync", Sys(msync(map.data(), bytes.size(), MS_SYNC)));
      map.Unmap();
      side.Ok("close " + name, fd.Close());
      side.File("content " + name, name);
    }
  });
}

TEST_F(MapContract, RewriteASealedFileThroughAMapping) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(500000, 1)));
    Fd fd = Open(side.Path("a"), O_RDWR);
    Mapping map(fd.get(), 500000, PROT_READ | PROT_WRITE, MAP_SHARED);
    side.Ok("map", map.error());
    if (map.error() != 0) return;
    side.Note("old bytes", map.Digest());
    std::memset(map.data() + 100000, 'z', 1000);
    map.Unmap();
    side.Ok("close", fd.Close());
    side.File("content", "a");
  });
}

TEST_F(MapContract, MixedWithWrites) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT | O_EXCL);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(100000, 1)));
    Mapping map(fd.get(), 100000, PROT_READ | PROT_WRITE, MAP_SHARED);
    side.Ok("map", map.error());
    if (map.error() != 0) return;
    side.Note("sees what was written", map.Digest());
    std::memcpy(map.data() + 5000, "by the mapping", 14);
    side.Ok("msync", Sys(msync(map.data(), 100000, MS_SYNC)));
    side.Ok("pwrite", WriteAll(fd.get(), "by pwrite", 70000));
    side.Note("sees the pwrite", map.Digest());
    map.Unmap();
    side.Ok("close", fd.Close());
    side.File("content", "a");
  });
}

TEST_F(MapContract, MappingOutlivesDescriptorAndName) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(2 << 20, 1)));
    Fd fd = Open(side.Path("a"), O_RDONLY);
    const Mapping map(fd.get(), 2 << 20, PROT_READ, MAP_SHARED);
    side.Ok("close", fd.Close());
    side.Ok("unlink", Sys(unlink(side.Path("a").c_str())));
    side.Ok("another", WriteFile(side.Path("a"), side.Bytes(2 << 20, 2)));
    side.Note("bytes of the first one", map.Digest());
  });
}

TEST_F(MapContract, MappingOutlivesReplacement) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(2 << 20, 1)));
    Fd fd = Open(side.Path("a"), O_RDONLY);
    const Mapping map(fd.get(), 2 << 20, PROT_READ, MAP_PRIVATE);
    side.Ok("close", fd.Close());
    side.Ok("next", WriteFile(side.Path("a.tmp"), side.Bytes(2 << 20, 2)));
    side.Ok("rename", Sys(rename(side.Path("a.tmp").c_str(), side.Path("a").c_str())));
    side.Note("bytes of the first one", map.Digest());
    side.File("bytes of the second one", "a");
  });
}

// Never a mix of two versions in one mapping, also when the file is rewritten in place.
TEST_F(MapContract, MappingKeepsItsVersionDuringARewrite) {
  Compare([](Side& side) {
    const std::string old_bytes = side.Bytes(1 << 20, 1);
    side.Ok("write", WriteFile(side.Path("a"), old_bytes));
    Fd fd = Open(side.Path("a"), O_RDONLY);
    const Mapping map(fd.get(), 1 << 20, PROT_READ, MAP_SHARED);
    Fd writer = Open(side.Path("a"), O_WRONLY);
    side.Ok("rewrite", WriteAll(writer.get(), side.Bytes(1 << 20, 2)));
    side.Ok("close", writer.Close());
    side.Yes("mapping has the old bytes", map.Digest() == Digest(old_bytes));
    const Fd fresh = Open(side.Path("a"), O_RDONLY);
    const Mapping fresh_map(fresh.get(), 1 << 20, PROT_READ, MAP_SHARED);
    side.Note("a fresh mapping", fresh_map.Digest());
  });
}

TEST_F(MapContract, OtherProcessMapsWhatOneMapped) {
  Compare([](Side& side) {
    Peer other([](const std::string& path) {
      const Fd fd = Open(path, O_RDONLY);
      const Mapping map(fd.get(), 1 << 20, PROT_READ, MAP_SHARED);
      return map.Digest();
    });
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT);
    side.Ok("ftruncate", Sys(ftruncate(fd.get(), 1 << 20)));
    Mapping map(fd.get(), 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED);
    side.Ok("map", map.error());
    if (map.error() != 0) return;
    side.Bytes(1 << 20).copy(map.data(), 1 << 20);
    map.Unmap();
    side.Ok("close", fd.Close());
    side.Note("other's mapping", other.Ask(side.Path("a")));
  });
}

TEST_F(MapContract, DescriptorClosedBeforeTheMapping) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT);
    side.Ok("ftruncate", Sys(ftruncate(fd.get(), 1 << 20)));
    Mapping map(fd.get(), 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED);
    side.Ok("map", map.error());
    if (map.error() != 0) return;
    side.Bytes(1 << 20).copy(map.data(), 1 << 20);
    side.Ok("close", fd.Close());
    side.File("stored before close", "a");
  });
}

}  // namespace
}  // namespace kvpagefs::mount_test
