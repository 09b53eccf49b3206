// A disk in memory for tests of the SSD log: sparse, driven by a seed. Completions come when Step says so, in any
// order; what was not synced may be lost or torn at a crash; transfers fail, land elsewhere or flip a bit as told.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "spill/extent.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

// The medium. Outlives the disks that use it.
class SimStore {
 public:
  using Block = std::array<std::byte, kBlockBytes>;
  using BlockPointer = std::shared_ptr<const Block>;  // null: zeros
  using Random = std::mt19937_64;

  struct File {
    uint64_t bytes = 0;
    std::unordered_map<uint64_t, BlockPointer> blocks;  // as reads see them
    struct Unsynced {
      BlockPointer old;
      uint64_t completed = 0;  // when
    };
    std::map<uint64_t, Unsynced> unsynced;
  };
  struct Small {
    std::vector<std::byte> bytes;
    size_t synced = 0;
  };
  struct Faults {
    double read_error = 0;
    double write_error = 0;
    double misdirected_write = 0;
    double flipped_write = 0;
    double small_error = 0;
    uint64_t disk_bytes = UINT64_MAX;
    bool read_only = false;
    // Asked for each transfer: its status, instead of doing it.
    std::function<std::optional<Status>(const std::string& name, const SsdDisk::Io& io)> plan;
    // Transfers that are passed over as long as this is true of them.
    std::function<bool(const SsdDisk::Io& io)> hold;
  };

  explicit SimStore(uint64_t seed) : random(seed) {}

  uint64_t FileBytes() const {
    uint64_t sum = 0;
    for (const auto& [name, file] : files) sum += file.bytes;
    for (const auto& [name, small] : smalls) sum += small.bytes.size();
    return sum;
  }
  bool Chance(double probability) {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random) < probability;
  }

  // The machine stops: each unsynced block is kept, lost, or torn at 512 bytes.
  void PowerCut() {
    for (auto& [name, file] : files) {
      for (auto& [number, unsynced] : file.unsynced) {
        const uint64_t fate = random() % 4;
        if (fate == 0) file.blocks[number] = unsynced.old;
        if (fate == 1) file.blocks[number] = Torn(file.blocks[number], unsynced.old);
      }
      file.unsynced.clear();
    }
    for (auto& [name, small] : smalls) {
      const size_t kept = small.synced + random() % (small.bytes.size() - small.synced + 1);
      const bool zeroed = random() % 4 == 0;
      if (zeroed) {
        std::fill(small.bytes.begin() + static_cast<ptrdiff_t>(kept), small.bytes.end(), std::byte{0});
      } else {
        small.bytes.resize(kept);
      }
      small.synced = small.bytes.size();
    }
  }

  BlockPointer Torn(const BlockPointer& young, const BlockPointer& old) {
    auto block = std::make_shared<Block>();
    for (size_t sector = 0; sector < kBlockBytes; sector += 512) {
      const BlockPointer& from = random() % 2 == 0 ? young : old;
      if (from) std::memcpy(block->data() + sector, from->data() + sector, 512);
    }
    return block;
  }

  void Write(File* file, uint64_t number, const std::byte* bytes) {
    auto block = std::make_shared<Block>();
    std::memcpy(block->data(), bytes, kBlockBytes);
    const auto found = file->blocks.find(number);
    const BlockPointer before = found == file->blocks.end() ? nullptr : found->second;
    const auto [it, added] = file->unsynced.try_emplace(number);
    if (added) it->second.old = before;
    it->second.completed = ++now;
    file->blocks[number] = std::move(block);
    file->bytes = std::max(file->bytes, (number + 1) * kBlockBytes);
  }

  void FlipBit(const std::string& name, uint64_t offset, int bit) {
    File& file = files.at(name);
    auto block = std::make_shared<Block>();
    if (const BlockPointer& before = file.blocks[offset / kBlockBytes]) *block = *before;
    (*block)[offset % kBlockBytes] ^= static_cast<std::byte>(1 << bit);
    file.blocks[offset / kBlockBytes] = std::move(block);
  }
  void Truncate(const std::string& name, uint64_t bytes) {
    File& file = files.at(name);
    file.bytes = bytes;
    std::erase_if(file.blocks, [&](const auto& block) { return block.first * kBlockBytes >= bytes; });
    std::erase_if(file.unsynced, [&](const auto& block) { return block.first * kBlockBytes >= bytes; });
  }

  std::map<std::string, File> files;
  std::map<std::string, Small> smalls;
  Random random;
  Faults faults;
  uint64_t now = 0;         // counts events
  uint64_t most_bytes = 0;  // that the files ever took
  uint64_t reads = 0;
  uint64_t read_bytes = 0;
};

class SimDisk final : public SsdDisk {
 public:
  // `threaded`: completions come from a thread of its own, not from Step.
  explicit SimDisk(std::shared_ptr<SimStore> store, bool threaded = false) : store_(std::move(store)) {
    if (threaded) thread_ = std::thread([this] { RunThread(); });
  }
  // Transfers that are under way end as in a crash: each block of a write may be there.
  ~SimDisk() override {
    if (thread_.joinable()) {
      {
        MutexLock lock(mutex_);
        stopping_ = true;
        wake_.NotifyAll();
      }
      thread_.join();
    }
    for (Pending& pending : pending_) ApplySome(&pending.io);
  }

  // Ends one transfer, chosen by the seed. False: there was none.
  bool Step() {
    Pending pending;
    Status status;
    {
      MutexLock lock(mutex_);
      const auto held = [&](const Pending& p) { return store_->faults.hold && store_->faults.hold(p.io); };
      const auto free = std::ranges::partition(pending_, held);
      if (free.empty()) return false;
      std::swap(free[store_->random() % free.size()], pending_.back());
      pending = std::move(pending_.back());
      pending_.pop_back();
      status = Execute(&pending);
      ++store_->now;
      --in_flight_[pending.io.file];
    }
    pending.io.done(status);
    return true;
  }
  size_t pending() {
    MutexLock lock(mutex_);
    return pending_.size();
  }

  Result<std::vector<FileInfo>> List() override {
    MutexLock lock(mutex_);
    std::vector<FileInfo> out;
    for (const auto& [name, file] : store_->files) out.push_back({name, file.bytes, file.bytes});
    return out;
  }
  Result<FileId> Open(std::string_view name, uint64_t bytes_if_new) override {
    MutexLock lock(mutex_);
    const std::string key(name);
    if (!store_->files.contains(key)) {
      if (store_->faults.read_only) return Error(ErrorCode::kUnavailable, "read-only");
      if (store_->FileBytes() + bytes_if_new > store_->faults.disk_bytes)
        return Error(ErrorCode::kNoSpace, "disk full");
      store_->files[key].bytes = bytes_if_new;
      NoteSize();
    }
    names_.push_back(key);
    in_flight_.push_back(0);
    return static_cast<FileId>(names_.size() - 1);
  }
  void Close(FileId file) override {
    MutexLock lock(mutex_);
    EXPECT_EQ(in_flight_[file], 0) << names_[file] << " is closed with transfers under way";
    names_[file].clear();
  }
  Status Remove(std::string_view name) override {
    MutexLock lock(mutex_);
    EXPECT_EQ(std::ranges::find(names_, name), names_.end()) << name << " is removed while it is open";
    if (store_->faults.read_only) return Error(ErrorCode::kUnavailable, "read-only");
    store_->files.erase(std::string(name));
    return {};
  }
  Status SyncDirectory() override { return {}; }

  void Submit(std::vector<Io> batch) override {
    MutexLock lock(mutex_);
    for (Io& io : batch) {
      for (const iovec& piece : io.pieces) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.iov_base) % kBlockBytes, 0u);
        EXPECT_EQ(piece.iov_len % kBlockBytes, 0u);
      }
      EXPECT_LE(io.pieces.size(), 1024u);
      EXPECT_EQ(io.offset % kBlockBytes, 0u);
      EXPECT_FALSE(names_.at(io.file).empty()) << "a transfer of a closed file";
      ++in_flight_[io.file];
      pending_.push_back({std::move(io), store_->now});
    }
    wake_.NotifyAll();
  }
  Status RegisterMemory(std::span<const iovec> /*memory*/) override { return {}; }

  Result<std::vector<std::byte>> ReadSmall(std::string_view name, uint64_t max_bytes) override {
    MutexLock lock(mutex_);
    const auto found = store_->smalls.find(std::string(name));
    if (found == store_->smalls.end()) return ErrorCode::kNotFound;
    if (found->second.bytes.size() > max_bytes) return ErrorCode::kTooLarge;
    return found->second.bytes;
  }
  Status AppendSmall(std::string_view name, std::span<const std::byte> bytes) override {
    MutexLock lock(mutex_);
    SimStore::Small& small = store_->smalls[std::string(name)];
    const bool fails = store_->faults.read_only || store_->Chance(store_->faults.small_error);
    if (fails) bytes = bytes.first(store_->random() % (bytes.size() + 1));
    if (store_->faults.read_only) bytes = {};
    small.bytes.insert(small.bytes.end(), bytes.begin(), bytes.end());
    NoteSize();
    ++appends_;
    if (fails) return Error(ErrorCode::kUnavailable, "append failed");
    return {};
  }
  Status SyncSmall(std::string_view name) override {
    MutexLock lock(mutex_);
    if (store_->faults.read_only) return Error(ErrorCode::kUnavailable, "read-only");
    SimStore::Small& small = store_->smalls[std::string(name)];
    small.synced = small.bytes.size();
    return {};
  }
  Status ReplaceSmall(std::string_view name, std::span<const std::byte> bytes) override {
    MutexLock lock(mutex_);
    if (store_->faults.read_only || store_->Chance(store_->faults.small_error)) {
      return Error(ErrorCode::kUnavailable, "replace failed");
    }
    SimStore::Small& small = store_->smalls[std::string(name)];
    // Old and new are both there for a moment.
    store_->most_bytes = std::max(store_->most_bytes, store_->FileBytes() + bytes.size());
    small.bytes.assign(bytes.begin(), bytes.end());
    small.synced = small.bytes.size();
    return {};
  }
  Info GetInfo() const override { return {}; }
  uint64_t appends() {
    MutexLock lock(mutex_);
    return appends_;
  }

 private:
  struct Pending {
    Io io;
    uint64_t submitted = 0;
  };

  void NoteSize() KVP_REQUIRES(mutex_) { store_->most_bytes = std::max(store_->most_bytes, store_->FileBytes()); }
  template <class Visit>
  static void ForEachBlock(const Io& io, Visit visit) {
    uint64_t number = io.offset / kBlockBytes;
    for (const iovec& piece : io.pieces) {
      for (size_t at = 0; at < piece.iov_len; at += kBlockBytes) {
        visit(number++, static_cast<std::byte*>(piece.iov_base) + at);
      }
    }
  }
  void ApplySome(Io* io) {
    const auto file = store_->files.find(names_[io->file]);
    if (io->kind != IoKind::kWrite || file == store_->files.end()) return;
    ForEachBlock(*io, [&](uint64_t number, const std::byte* bytes) {
      if (store_->random() % 2 == 0) store_->Write(&file->second, number, bytes);
    });
  }
  Status Execute(Pending* pending) KVP_REQUIRES(mutex_) {
    Io& io = pending->io;
    const SimStore::Faults& faults = store_->faults;
    const auto found = store_->files.find(names_[io.file]);
    if (found == store_->files.end()) return Error(ErrorCode::kLost, "the file is gone");
    if (faults.plan) {
      if (const std::optional<Status> planned = faults.plan(found->first, io)) {
        if (!planned->ok()) ApplySome(&io);
        return *planned;
      }
    }
    SimStore::File& file = found->second;
    switch (io.kind) {
      case IoKind::kRead: return ExecuteRead(io, file);
      case IoKind::kWrite: return ExecuteWrite(&io, &file);
      case IoKind::kSync:
        if (faults.read_only) return Error(ErrorCode::kUnavailable, "read-only");
        std::erase_if(file.unsynced, [&](const auto& block) { return block.second.completed <= pending->submitted; });
        return {};
    }
    return {};
  }
  Status ExecuteRead(const Io& io, const SimStore::File& file) KVP_REQUIRES(mutex_) {
    uint64_t bytes = 0;
    for (const iovec& piece : io.pieces) bytes += piece.iov_len;
    ++store_->reads;
    store_->read_bytes += bytes;
    if (store_->Chance(store_->faults.read_error)) return Error(ErrorCode::kUnavailable, "read failed");
    if (io.offset + bytes > file.bytes) return Error(ErrorCode::kLost, "end of file");
    ForEachBlock(io, [&](uint64_t number, std::byte* to) {
      const auto block = file.blocks.find(number);
      if (block == file.blocks.end() || !block->second) {
        std::memset(to, 0, kBlockBytes);
      } else {
        std::memcpy(to, block->second->data(), kBlockBytes);
      }
    });
    return {};
  }
  Status ExecuteWrite(Io* io, SimStore::File* file) KVP_REQUIRES(mutex_) {
    SimStore& store = *store_;
    if (store.faults.read_only) return Error(ErrorCode::kUnavailable, "read-only");
    if (store.Chance(store.faults.write_error)) {
      ApplySome(io);
      return Error(ErrorCode::kUnavailable, "write failed");
    }
    const uint64_t blocks = file->bytes / kBlockBytes;
    const bool misdirected = store.Chance(store.faults.misdirected_write) && blocks > 0;
    const bool flipped = store.Chance(store.faults.flipped_write);
    const uint64_t shift = misdirected ? store.random() % blocks : 0;
    ForEachBlock(*io, [&](uint64_t number, const std::byte* bytes) {
      store.Write(file, misdirected ? (number + shift) % blocks : number, bytes);
    });
    if (flipped) {
      const uint64_t offset = io->offset + store.random() % io->pieces.front().iov_len;
      if (offset < file->bytes) store.FlipBit(names_[io->file], offset, static_cast<int>(store.random() % 8));
    }
    NoteSize();
    return {};
  }
  void RunThread() {
    for (;;) {
      while (Step()) continue;
      MutexLock lock(mutex_);
      if (stopping_ && pending_.empty()) return;
      if (pending_.empty()) wake_.WaitFor(mutex_, std::chrono::milliseconds(50));
    }
  }

  const std::shared_ptr<SimStore> store_;
  Mutex mutex_;
  CondVar wake_;
  std::vector<std::string> names_;
  std::vector<int> in_flight_;
  std::vector<Pending> pending_;
  uint64_t appends_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace kvpagefs
