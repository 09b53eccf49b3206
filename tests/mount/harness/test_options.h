// What the tests of the mount can be told through the environment; read once, in main of each program.
#pragma once

#include <cstdint>
#include <string>

namespace kvpagefs::mount_test {

struct TestOptions {
  bool plain = false;       // KVPAGEFS_TEST_PLAIN=1: no mount; a plain directory stands for it
  std::string scratch_dir;  // KVPAGEFS_TEST_DIR: where plain directories and mount points are made (default /tmp)
  std::string binary;       // the kvpagefs program
  uint64_t seed = 1;        // KVPAGEFS_SEED
};

// Other variables: a number, or `fallback` when it is not set.
uint64_t EnvNumber(const char* name, uint64_t fallback);
std::string EnvText(const char* name, const char* fallback);

TestOptions ReadTestOptions();

// True in builds with ASan, UBSan or TSan, where big loops are cut down.
bool IsSanitizerBuild();

}  // namespace kvpagefs::mount_test
