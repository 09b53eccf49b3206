#include "spill/node_identity.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/random.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "spill/disk_files.h"

namespace kvpagefs {
namespace {

constexpr std::string_view kTitle = "kvpagefs SSD directory\n";
constexpr uint64_t kVersion = 1;
constexpr size_t kMaxBytes = 4096;
constexpr int64_t kSecondNs = 1'000'000'000;

std::string WithChecksum(std::string text) {
  text += fmt::format("checksum {:016x}\n", Checksum(std::as_bytes(std::span(text))));
  return text;
}

Error Damaged(std::string_view why) { return {ErrorCode::kInvalid, std::string(why)}; }

// "key VALUE\n" at the start of the text, which is then behind it.
Result<std::string_view> TakeLine(std::string_view* text, std::string_view key) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  if (end == std::string_view::npos || !line.starts_with(key) || line.size() <= key.size() + 1 ||
      line[key.size()] != ' ') {
    return Damaged(fmt::format("its line '{}' is missing", key));
  }
  text->remove_prefix(end + 1);
  return line.substr(key.size() + 1);
}

Result<uint64_t> Number(std::string_view digits, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return Damaged("a number in it cannot be read");
  return value;
}

Result<int64_t> Time(std::string_view text) {
  std::tm parts = {};
  const std::string copy(text);
  const char* const end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return Damaged("its time cannot be read");
  return static_cast<int64_t>(timegm(&parts));
}

Result<uint64_t> RandomIdentity() {
  uint64_t value = 0;
  for (int i = 0; i < 100; ++i) {
    const ssize_t got = getrandom(&value, sizeof(value), 0);
    if (got < 0 && errno != EINTR) return Error::FromSystem(errno, "getrandom");
    if (got == sizeof(value) && value != 0) return value;
  }
  return Error(ErrorCode::kUnavailable, "getrandom gives no numbers");
}

Result<NodeIdentity> MakeIdentity(const DirectoryRef& directory) {
  const Result<uint64_t> value = RandomIdentity();
  if (!value.ok()) return value.error();
  const NodeIdentity identity = {.value = *value, .created_s = SystemClock().WallNs() / kSecondNs};
  const std::string text = FormatIdentity(identity);
  const Status written = ReplaceOwnFile(directory, kIdentityFile, std::as_bytes(std::span(text)));
  if (!written.ok()) return written.error();
  return identity;
}

}  // namespace

std::string FormatIdentity(const NodeIdentity& identity) {
  return WithChecksum(fmt::format("{}version {}\nidentity {:016x}\ncreated {:%Y-%m-%dT%H:%M:%SZ}\n", kTitle, kVersion,
                                  identity.value, fmt::gmtime(static_cast<std::time_t>(identity.created_s))));
}

Result<NodeIdentity> ParseIdentity(std::string_view text) {
  if (!text.starts_with(kTitle)) return Damaged("it does not begin as one");
  std::string_view rest = text.substr(kTitle.size());
  const Result<std::string_view> version = TakeLine(&rest, "version");
  if (!version.ok()) return version.error();
  const Result<uint64_t> number = Number(*version, 10);
  if (!number.ok()) return number.error();
  if (*number != kVersion) return Damaged(fmt::format("it has version {}, this kvpagefs knows {}", *number, kVersion));
  const Result<std::string_view> identity_digits = TakeLine(&rest, "identity");
  if (!identity_digits.ok()) return identity_digits.error();
  const Result<std::string_view> time_text = TakeLine(&rest, "created");
  if (!time_text.ok()) return time_text.error();
  if (text != WithChecksum(std::string(text.substr(0, text.size() - rest.size())))) {
    return Damaged("its checksum is wrong");
  }
  const Result<uint64_t> value = Number(*identity_digits, 16);
  if (!value.ok()) return value.error();
  if (*value == 0) return Damaged("the identity is 0");
  const Result<int64_t> created = Time(*time_text);
  if (!created.ok()) return created.error();
  return NodeIdentity{.value = *value, .created_s = *created};
}

Result<NodeIdentity> ReadOrMakeIdentity(const DirectoryRef& directory) {
  const Result<std::vector<std::byte>> bytes = ReadOwnFile(directory, kIdentityFile, kMaxBytes);
  if (!bytes.ok() && bytes.code() == ErrorCode::kNotFound) return MakeIdentity(directory);
  if (!bytes.ok()) return bytes.error();
  Result<NodeIdentity> identity = ParseIdentity({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (identity.ok()) return identity;
  return Error(
      ErrorCode::kInvalid,
      fmt::format("{}: not usable as a node's identity: {}. Bring the file back from a copy; or, to give up the "
                  "pages in this directory, remove it together with the files region-*; or name another "
                  "directory",
                  directory.PathOf(kIdentityFile), identity.error().text()));
}

}  // namespace kvpagefs
