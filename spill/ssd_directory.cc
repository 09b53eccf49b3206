#include "spill/ssd_directory.h"

#include <cassert>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spill/disk_error.h"
#include "spill/disk_files.h"
#include "spill/node_identity.h"
#include "spill/owner_lock.h"
#include "spill/plain_disk.h"
#include "spill/uring_disk.h"

namespace kvpagefs {
namespace {

Result<int> OpenDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    if (errno == ENOENT) {
      return Error(ErrorCode::kNotFound, fmt::format("{}: its parent directory does not exist: create it first", path));
    }
    return DiskError(errno, path + ": cannot create the directory");
  }
  OwnedFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 && errno == ENOTDIR) {
    return Error(ErrorCode::kNotDirectory, path + " is not a directory: name one, or a new path");
  }
  if (fd.get() < 0) return DiskError(errno, path + ": cannot open the directory");
  if (faccessat(fd.get(), ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return DiskError(errno, path + ": cannot write in the directory");
  }
  return fd.Release();
}

}  // namespace

Result<SsdDirectory> SsdDirectory::Open(const Options& options) {
  const Result<int> opened = OpenDirectory(options.path);
  if (!opened.ok()) return opened.error();
  OwnedFd fd(*opened);
  const DirectoryRef directory = {.fd = fd.get(), .path = options.path};
  Result<std::unique_ptr<OwnerLock>> lock = OwnerLock::Take(directory, options.owner_text);
  if (!lock.ok()) return lock.error();
  const Result<NodeIdentity> identity = ReadOrMakeIdentity(directory);
  if (!identity.ok()) return identity.error();
  auto files = std::make_shared<DiskFiles>(options.path, fd.Release(), std::shared_ptr<OwnerLock>(*std::move(lock)));
  return SsdDirectory(options, std::move(files), identity->value);
}

SsdDirectory::SsdDirectory(Options options, std::shared_ptr<DiskFiles> files, uint64_t identity)
    : options_(std::move(options)), files_(std::move(files)), identity_(identity) {}

SsdDirectory::~SsdDirectory() = default;
SsdDirectory::SsdDirectory(SsdDirectory&&) noexcept = default;
SsdDirectory& SsdDirectory::operator=(SsdDirectory&&) noexcept = default;

Result<std::unique_ptr<SsdDisk>> SsdDirectory::TakeDisk() {
  assert(files_ != nullptr);
  const std::shared_ptr<DiskFiles> files = std::exchange(files_, nullptr);
  PlainDisk::Options plain = {.note = "io_uring is switched off: plain reads and writes are used"};
  if (options_.allow_io_uring) {
    Result<std::unique_ptr<UringDisk>> uring = UringDisk::Create(files, {.queue_depth = options_.queue_depth});
    if (uring.ok()) return std::unique_ptr<SsdDisk>(*std::move(uring));
    plain.note = fmt::format("{}: plain reads and writes are used", uring.error().Describe());
  }
  Result<std::unique_ptr<PlainDisk>> disk = PlainDisk::Create(files, plain);
  if (!disk.ok()) return disk.error();
  return std::unique_ptr<SsdDisk>(*std::move(disk));
}

}  // namespace kvpagefs
