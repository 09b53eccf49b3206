// A small tier with a manual clock, and a listener that remembers.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/mutex.h"
#include "spill/extent.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

using Touch = MemoryTier::Touch;
using Bytes = std::vector<std::byte>;

inline Bytes Pattern(size_t bytes, uint64_t seed) {
  Bytes out(bytes);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::byte& b : out) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    b = static_cast<std::byte>(state >> 24);
  }
  return out;
}

// The bytes of a Draft or PageHold.
template <class Page>
Bytes Contents(const Page& page, uint64_t offset = 0, uint64_t bytes = UINT64_MAX) {
  std::vector<iovec> pieces;
  const uint64_t covered = page.Read(offset, bytes, &pieces);
  Bytes out;
  for (const iovec& piece : pieces) {
    const auto* data = static_cast<const std::byte*>(piece.iov_base);
    out.insert(out.end(), data, data + piece.iov_len);
  }
  EXPECT_EQ(out.size(), covered);
  return out;
}

class RecordingListener : public MemoryTier::Listener {
 public:
  void OnEvicted(std::span<const PageId> pages) override {
    MutexLock lock(mutex_);
    for (const PageId id : pages) evicted_.push_back(id.value & kIdCounterMask);
  }
  void OnHighWatermark() override {
    MutexLock lock(mutex_);
    ++high_watermarks_;
  }
  void OnSpaceFreed() override {
    MutexLock lock(mutex_);
    ++space_freed_;
  }
  // Since the last call.
  std::vector<uint64_t> TakeEvicted() {
    MutexLock lock(mutex_);
    return std::exchange(evicted_, {});
  }
  int high_watermarks() {
    MutexLock lock(mutex_);
    return high_watermarks_;
  }
  int space_freed() {
    MutexLock lock(mutex_);
    return space_freed_;
  }

 private:
  Mutex mutex_;
  std::vector<uint64_t> evicted_ KVP_GUARDED_BY(mutex_);
  int high_watermarks_ KVP_GUARDED_BY(mutex_) = 0;
  int space_freed_ KVP_GUARDED_BY(mutex_) = 0;
};

inline PageId Id(uint64_t counter) { return PageId::Make(1, counter); }

class TierTest : public testing::Test {
 protected:
  static constexpr uint64_t kCapacity = uint64_t{4} << 20;  // 1024 blocks

  void SetUp() override { MakeTier({}); }
  void TearDown() override {
    if (tier_) Check();
  }
  void MakeTier(const MemoryTier::Options& options, uint64_t bytes = kCapacity) {
    tier_.reset();
    Result<Segment> segment = Segment::Map({.bytes = bytes, .huge_pages = HugePages::kOff});
    ASSERT_TRUE(segment.ok()) << segment.error().Describe();
    auto tier = MemoryTier::Create(std::move(*segment), options, &clock_, &listener_);
    ASSERT_TRUE(tier.ok()) << tier.error().Describe();
    tier_ = std::move(*tier);
  }
  // A sealed page of `bytes`, held.
  Result<PageHold> Put(uint64_t counter, uint64_t bytes, Pin pin = Pin::kNone) {
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    const Status written = draft->Write(0, Pattern(bytes, counter));
    if (!written.ok()) return written.error();
    return tier_->Seal(Id(counter), draft, pin);
  }
  // The same, let go.
  void Add(uint64_t counter, uint64_t bytes, Pin pin = Pin::kNone) {
    const Result<PageHold> hold = Put(counter, bytes, pin);
    ASSERT_TRUE(hold.ok()) << hold.error().Describe();
  }
  bool Has(uint64_t counter) { return tier_->Use(Id(counter)).ok(); }
  void Read(uint64_t counter) { ASSERT_TRUE(tier_->Hold(Id(counter), Touch::kRead, 1).ok()); }
  // Accounting and links.
  void Check() {
    const Status consistent = tier_->CheckInvariants();
    ASSERT_TRUE(consistent.ok()) << consistent.error().Describe();
    const MemoryTier::Stats s = tier_->GetStats();
    ASSERT_EQ(s.capacity_bytes, s.free_bytes + s.header_bytes + s.draft_bytes + s.held_bytes + s.pinned_bytes +
                                    s.dirty_bytes + s.evictable_bytes);
  }
  // Everything evictable, in its order.
  std::vector<uint64_t> EvictAll() {
    listener_.TakeEvicted();
    const uint64_t want = tier_->GetStats().free_bytes + tier_->GetStats().evictable_bytes;
    EXPECT_TRUE(tier_->NewDraft()->Reserve(want).ok());
    return listener_.TakeEvicted();
  }

  ManualClock clock_;
  RecordingListener listener_;
  std::unique_ptr<MemoryTier> tier_;
};

}  // namespace kvpagefs
