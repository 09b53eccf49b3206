#include "tests/mount/harness/page_content.h"

#include <cassert>
#include <cstring>

namespace kvpagefs::mount_test {
namespace {

struct Header {
  uint64_t magic;
  uint64_t name_number;
  uint64_t serial;
  uint64_t bytes;
};
constexpr uint64_t kMagic = 0x21656761702D766B;
static_assert(sizeof(Header) <= kMinPageBytes);

// Word `index` of the body: cheap, and different for every serial and place.
uint64_t BodyWord(uint64_t serial, uint64_t index) {
  return (serial + 1) * 0x9E3779B97F4A7C15u + index * 0xD6E8FEB86659FD93u;
}

std::string Numbers(const Header& header) {
  return "name " + std::to_string(header.name_number) + ", serial " + std::to_string(header.serial) + ", " +
         std::to_string(header.bytes) + " bytes";
}

}  // namespace

std::string MakePage(uint64_t name_number, uint64_t serial, size_t bytes) {
  assert(bytes >= kMinPageBytes);
  std::string page(bytes, '\0');
  const Header header{kMagic, name_number, serial, bytes};
  std::memcpy(page.data(), &header, sizeof(header));
  for (size_t at = sizeof(header); at < bytes; at += 8) {
    const uint64_t word = BodyWord(serial, at / 8);
    std::memcpy(page.data() + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
  return page;
}

std::string CheckPage(uint64_t name_number, std::string_view bytes) {
  Header header{};
  if (bytes.size() < kMinPageBytes) return "only " + std::to_string(bytes.size()) + " bytes";
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kMagic) return "no page starts here";
  if (header.name_number != name_number) return "page of another name: " + Numbers(header);
  if (header.bytes != bytes.size()) return std::to_string(bytes.size()) + " bytes of a page with " + Numbers(header);
  for (size_t at = sizeof(header); at < bytes.size(); at += 8) {
    const uint64_t word = BodyWord(header.serial, at / 8);
    if (std::memcmp(bytes.data() + at, &word, bytes.size() - at < 8 ? bytes.size() - at : 8) != 0) {
      return "wrong bytes at " + std::to_string(at) + " of " + Numbers(header);
    }
  }
  return "";
}

}  // namespace kvpagefs::mount_test
