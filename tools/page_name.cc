#include "tools/page_name.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace kvpagefs {

std::string PageFileName(const PageKey& key, std::string_view model) {
  return fmt::format("{}_{}_0_1.bin", ToHex(key), model);
}

std::string TemporaryFileName(std::string_view final_name, std::mt19937_64& random) {
  const uint64_t high = random();
  const uint64_t low = random();
  return fmt::format("{}.tmp.{}.{}.{:016x}{:016x}", final_name, ::getpid(), ::syscall(SYS_gettid), high, low);
}

}  // namespace kvpagefs
