// Where the counters of new page ids begin, when nothing better is known.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kvpagefs {

// Seconds since 2024 give the high bits: a start without memory of the last run, or one whose reservations could not be
// written, is above all ids of that run unless it gave out 65,536 a second all the time.
inline uint64_t PageCounterByClock(int64_t wall_ns) {
  constexpr int64_t kEpochSeconds = 1'704'067'200;
  constexpr int64_t kMaxSeconds = int64_t{1} << 31;
  constexpr int kIdsPerSecondBits = 16;
  const int64_t seconds = std::clamp<int64_t>(wall_ns / 1'000'000'000 - kEpochSeconds, 0, kMaxSeconds);
  return static_cast<uint64_t>(seconds) << kIdsPerSecondBits;
}

}  // namespace kvpagefs
