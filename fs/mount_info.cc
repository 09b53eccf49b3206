#include "fs/mount_info.h"

#include <algorithm>

namespace kvpagefs {
namespace {

constexpr size_t kDeviceField = 2;
constexpr size_t kMountPointField = 4;
constexpr size_t kFirstOptionalField = 6;
constexpr std::string_view kSeparator = "-";

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes blank, tab, newline, backslash and '#' as "\ooo".
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) && IsOctal(text[i + 2]) &&
        IsOctal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::vector<MountEntry> ParseMountInfo(std::string_view text) {
  std::vector<MountEntry> mounts;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ' ');
    if (fields.size() <= kFirstOptionalField) continue;
    // Any number of optional fields, then "-", the type and the source.
    const auto separator = std::find(fields.begin() + kFirstOptionalField, fields.end(), kSeparator);
    if (fields.end() - separator < 3) continue;
    mounts.push_back({Unescape(fields[kMountPointField]), Unescape(separator[1]), Unescape(separator[2]),
                      std::string(fields[kDeviceField])});
  }
  return mounts;
}

const MountEntry* MountAt(const std::vector<MountEntry>& mounts, std::string_view path) {
  const auto found =
      std::find_if(mounts.rbegin(), mounts.rend(), [&](const MountEntry& m) { return m.mount_point == path; });
  return found == mounts.rend() ? nullptr : &*found;
}

const MountEntry* MountHolding(const std::vector<MountEntry>& mounts, std::string_view path) {
  const MountEntry* holding = nullptr;
  for (const MountEntry& mount : mounts) {
    if (!IsWithin(path, mount.mount_point)) continue;
    if (holding == nullptr || mount.mount_point.size() >= holding->mount_point.size()) holding = &mount;
  }
  return holding;
}

bool IsWithin(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace kvpagefs
