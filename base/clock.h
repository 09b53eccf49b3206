// Time is handed in: code that needs it takes a Clock, tests give it a ManualClock.
#pragma once

#include <atomic>
#include <cstdint>

namespace kvpagefs {

class Clock {
 public:
  virtual ~Clock() = default;
  // Since some point in the past; never goes back.
  virtual int64_t MonotonicNs() const = 0;
  // Since the Unix epoch; may jump.
  virtual int64_t WallNs() const = 0;
};

class SystemClock final : public Clock {
 public:
  int64_t MonotonicNs() const override;
  int64_t WallNs() const override;
};

// Moves only when told to. Any thread.
class ManualClock final : public Clock {
 public:
  int64_t MonotonicNs() const override { return now_ns_.load(); }
  int64_t WallNs() const override { return now_ns_.load(); }
  void Advance(int64_t ns) { now_ns_.fetch_add(ns); }

 private:
  std::atomic<int64_t> now_ns_{1};
};

}  // namespace kvpagefs
