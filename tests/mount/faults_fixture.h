// What the fault tests share: a held segment, and the accounting in the status file.
#pragma once

#include <vector>

#include <fcntl.h>

#include "tests/mount/harness/mount_test.h"
#include "tests/mount/harness/page_content.h"

namespace kvpagefs::mount_test {

class FaultsTest : public NodeTest {
 protected:
  // Pages of 1 MiB, each open for reading, until one more does not fit.
  std::vector<Fd> HoldEverything() {
    std::vector<Fd> held;
    while (held.size() < 1000) {
      const std::string path = Path("held-" + std::to_string(held.size()));
      if (WriteFile(path, MakePage(held.size(), 1, 1 << 20)) != 0) break;
      held.push_back(Open(path, O_RDONLY));
      EXPECT_TRUE(held.back()) << Value(held.back().result());
    }
    EXPECT_GT(held.size(), 8u);
    return held;
  }

  uint64_t Number(const char* key) {
    const std::optional<uint64_t> number = node_->StatusNumber(key);
    EXPECT_TRUE(number.has_value()) << "no '" << key << "' in the status file";
    return number.value_or(0);
  }

  // The partition of the segment adds up.
  bool AddsUp() {
    const std::map<std::string, std::string> status = node_->Status();
    uint64_t sum = 0;
    for (const char* key : {"memory_free_bytes", "memory_header_bytes", "memory_draft_bytes", "memory_held_bytes",
                            "memory_pinned_bytes", "memory_dirty_bytes", "memory_evictable_bytes"}) {
      const auto found = status.find(key);
      if (found == status.end()) return false;
      sum += std::stoull(found->second);
    }
    const auto capacity = status.find("memory_capacity_bytes");
    return capacity != status.end() && std::stoull(capacity->second) == sum;
  }
  void ExpectAccounting() { EXPECT_TRUE(AddsUp()) << Contents(Path(".kvpagefs/status")); }

  // Nothing is left of what was written; releases come late, so this waits.
  void ExpectEmptySegment() {
    const auto is_empty = [&] {
      for (const char* key : {"memory_draft_bytes", "memory_held_bytes", "memory_pinned_bytes",
                              "memory_evictable_bytes", "memory_drafts", "memory_pages"}) {
        if (node_->StatusNumber(key) != 0) return false;
      }
      return AddsUp();
    };
    EXPECT_TRUE(WaitUntil(is_empty, Seconds(20))) << Contents(Path(".kvpagefs/status"));
  }
};

}  // namespace kvpagefs::mount_test
