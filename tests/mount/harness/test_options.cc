#include "tests/mount/harness/test_options.h"

#include <cstdlib>

namespace kvpagefs::mount_test {

uint64_t EnvNumber(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 10);
}

std::string EnvText(const char* name, const char* fallback) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? fallback : text;
}

TestOptions ReadTestOptions() {
  TestOptions options;
  options.plain = EnvNumber("KVPAGEFS_TEST_PLAIN", 0) != 0;
  options.scratch_dir = EnvText("KVPAGEFS_TEST_DIR", "/tmp");
  options.binary = EnvText("KVPAGEFS_TEST_BINARY", KVPAGEFS_BINARY);
  options.seed = EnvNumber("KVPAGEFS_SEED", 1);
  return options;
}

bool IsSanitizerBuild() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#else
  return false;
#endif
#else
  return false;
#endif
}

}  // namespace kvpagefs::mount_test
