// A segment on a DAX character device: the device's memory itself, whole, without a mark.
#include <cerrno>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/size.h"
#include "spill/segment_source.h"

namespace kvpagefs {
namespace {

std::optional<uint64_t> ReadAttribute(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

}  // namespace

Result<MappedMemory> MapDevice(const std::string& path, uint64_t bytes) {
  const std::string option = "--memory-path " + path;
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return Error::FromSystem(errno, option);
  const std::string attributes = fmt::format("/sys/dev/char/{}:{}/", major(info.st_rdev), minor(info.st_rdev));
  // Opening an unknown device can have effects, so what it is comes from sysfs.
  const std::optional<uint64_t> device_bytes = ReadAttribute(attributes + "size");
  if (!device_bytes.has_value()) {
    return Error(ErrorCode::kInvalid, option + ": is not a DAX device (such as /dev/dax0.0), nor a regular file");
  }
  const uint64_t align = ReadAttribute(attributes + "align").value_or(kHugePageBytes);
  const uint64_t mapped_bytes = align == 0 ? bytes : (bytes + align - 1) / align * align;
  if (mapped_bytes > *device_bytes) {
    return Error(ErrorCode::kInvalid, fmt::format("{}: the device has {}, --memory asks for {} in units of {}", option,
                                                  FormatSize(*device_bytes), FormatSize(bytes), FormatSize(align)));
  }
  OwnedFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (fd.get() < 0) return Error::FromSystem(errno, option);
  if (const Status locked = LockDescriptor(fd.get(), path); !locked.ok()) return locked.error();
  Result<MappedMemory> mapped = MapDescriptor(fd, mapped_bytes, option);
  if (mapped.ok()) mapped->description = "device " + path;
  return mapped;
}

}  // namespace kvpagefs
