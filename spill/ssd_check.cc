#include "spill/ssd_check.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "base/checksum.h"
#include "base/mutex.h"
#include "spill/io_loop.h"
#include "spill/region_loader.h"
#include "spill/removal_file.h"
#include "spill/removed_records.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
// A disk that answers nothing for this long is given up.
constexpr std::chrono::seconds kPatience{60};

class Checker {
 public:
  Checker(std::unique_ptr<SsdDisk> disk, const SsdCheckOptions& options,
          const std::function<void(const SsdDamage&)>& report)
      : disk_(std::move(disk)), options_(options), report_(report), loop_(disk_.get(), [this] { Wake(); }) {}
  ~Checker() {
    // Ends transfers that are under way; their buffers are in the tasks' frames.
    disk_.reset();
  }
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  Result<SsdCheckSummary> Run() {
    if (const Status removals = ReadRemovals(); !removals.ok()) return removals.error();
    if (const Status opened = OpenRegions(); !opened.ok()) return opened.error();
    std::ranges::sort(regions_, std::ranges::greater(), [](const auto& region) { return region->key.sequence; });
    for (const auto& region : regions_) {
      if (const Status checked = Finish(CheckRegion(region.get())); !checked.ok()) return checked.error();
      *region = LoadedRegion();
    }
    return summary_;
  }

 private:
  void Damage(const std::string& file, uint64_t offset, std::string reason) {
    ++summary_.damaged;
    if (report_) report_({.file = file, .offset = offset, .reason = std::move(reason)});
  }

  // The removal file as it is: repairing it is the log's.
  Status ReadRemovals() {
    constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
    const Result<std::vector<std::byte>> bytes = disk_->ReadSmall(kRemovalFileName, kMaxBytes);
    if (!bytes.ok()) return bytes.code() == ErrorCode::kNotFound ? Status() : Status(bytes.error());
    const Result<DecodedRemovals> decoded = DecodeRemovals(*bytes, options_.node_identity);
    if (!decoded.ok()) return decoded.error();
    if (!decoded->whole) Damage(std::string(kRemovalFileName), 0, "torn or damaged entries");
    for (const RemovalMark& mark : decoded->marks) removed_.Add(mark);
    return {};
  }

  Status OpenRegions() {
    const Result<std::vector<SsdDisk::FileInfo>> files = disk_->List();
    if (!files.ok()) return files.error();
    for (const SsdDisk::FileInfo& info : *files) {
      if (!RegionFileNumber(info.name)) continue;
      const Result<SsdDisk::FileId> file = disk_->Open(info.name, info.bytes);
      if (!file.ok()) {
        Damage(info.name, 0, file.error().Describe());
        continue;
      }
      auto region = std::make_unique<LoadedRegion>();
      region->name = info.name;
      region->file = *file;
      region->file_bytes = info.bytes;
      bool in_use = false;
      if (const Status read = Finish(ReadHeader(region.get(), &in_use)); !read.ok()) return read;
      if (in_use) regions_.push_back(std::move(region));
    }
    return {};
  }

  IoTask ReadHeader(LoadedRegion* region, bool* in_use) {
    const AlignedBuffer block(kBlockBytes);
    const Status read = co_await loop_.Transfer(SsdDisk::IoKind::kRead, region->file, 0, block.piece());
    if (!read.ok()) {
      Damage(region->name, 0, read.error().Describe());
      co_return;
    }
    const Result<RegionHeader> header = DecodeRegionHeader(block.bytes());
    if (!header.ok() && header.code() == ErrorCode::kInvalid) {
      Damage(region->name, 0, "damaged region header");
    } else if (!header.ok() || header->node_identity != options_.node_identity) {
      ++summary_.foreign_regions;
    } else if (header->in_use == 0) {
      ++summary_.free_regions;
    } else {
      region->key = KeyOf(*header);
      *in_use = true;
    }
  }

  IoTask CheckRegion(LoadedRegion* region) {
    co_await LoadRegion(&loop_, region);
    ++summary_.regions;
    if (region->scanned) ++summary_.unsealed_regions;
    if (region->file_bytes < region->key.region_bytes)
      Damage(region->name, region->file_bytes, "the file is too short");
    for (const LoadedDamage& damage : region->damages) Damage(region->name, damage.offset, damage.what);
    for (auto it = region->records.rbegin(); it != region->records.rend(); ++it) {
      const RecordInfo& record = it->record;
      ++summary_.records;
      std::string wrong;
      co_await CheckRecord(region, &record, &wrong);
      if (removed_.Covers(record.id, region->key.sequence, record.offset)) {
        ++summary_.removed_records;
      } else if (!seen_.insert(record.id.value).second) {
        ++summary_.superseded_records;
      } else if (wrong.empty()) {
        ++summary_.live_records;
        summary_.live_bytes += record.page_bytes;
      } else {
        Damage(region->name, record.offset, wrong);
      }
    }
  }

  // The header again, also when the index told the record; then the payload.
  IoTask CheckRecord(const LoadedRegion* region, const RecordInfo* record, std::string* wrong) {
    const uint64_t header_bytes = HeaderBytesFor(record->description_bytes);
    AlignedBuffer piece(header_bytes);
    Status read = co_await loop_.Transfer(SsdDisk::IoKind::kRead, region->file, record->offset, piece.piece());
    std::string_view description;
    std::optional<RecordInfo> header;
    if (read.ok()) header = DecodeRecordHeader(region->key, record->offset, piece.bytes(), &description);
    const bool same = header && header->id == record->id && header->page_bytes == record->page_bytes &&
                      header->page_checksum == record->page_checksum;
    if (!same) *wrong = read.ok() ? "damaged record header" : read.error().Describe();
    StreamingChecksum checksum;
    const uint64_t blocks = RoundUpToBlock(record->page_bytes);
    piece = AlignedBuffer(std::min(blocks, kPieceBytes));
    for (uint64_t at = 0; at < blocks && wrong->empty(); at += kPieceBytes) {
      const uint64_t bytes = std::min(kPieceBytes, blocks - at);
      const uint64_t offset = record->offset + header_bytes + at;
      read = co_await loop_.Transfer(SsdDisk::IoKind::kRead, region->file, offset, piece.piece(0, bytes));
      if (!read.ok()) *wrong = read.error().Describe();
      checksum.Update(piece.bytes().first(std::min(bytes, record->page_bytes - at)));
    }
    if (wrong->empty() && checksum.Digest() != record->page_checksum) *wrong = "damaged payload";
  }

  static IoTask Flagged(IoTask task, std::shared_ptr<bool> done) {
    co_await std::move(task);
    *done = true;
  }
  Status Finish(IoTask task) {
    auto done = std::make_shared<bool>(false);
    loop_.Start(Flagged(std::move(task), done));
    auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!*done) {
      if (loop_.RunReady()) {
        deadline = std::chrono::steady_clock::now() + kPatience;
        continue;
      }
      if (std::chrono::steady_clock::now() > deadline) return Error(ErrorCode::kUnavailable, "the SSD does not answer");
      MutexLock lock(mutex_);
      if (!woken_) wake_.WaitFor(mutex_, std::chrono::milliseconds(100));
      woken_ = false;
    }
    return {};
  }
  void Wake() {
    MutexLock lock(mutex_);
    woken_ = true;
    wake_.NotifyOne();
  }

  std::unique_ptr<SsdDisk> disk_;
  const SsdCheckOptions options_;
  const std::function<void(const SsdDamage&)>& report_;
  IoLoop loop_;
  std::vector<std::unique_ptr<LoadedRegion>> regions_;
  RemovedRecords removed_;
  absl::flat_hash_set<uint64_t> seen_;
  SsdCheckSummary summary_;
  Mutex mutex_;
  CondVar wake_;
  bool woken_ KVP_GUARDED_BY(mutex_) = false;
};

}  // namespace

Result<SsdCheckSummary> CheckDirectory(std::unique_ptr<SsdDisk> disk, const SsdCheckOptions& options,
                                       const std::function<void(const SsdDamage&)>& report) {
  return Checker(std::move(disk), options, report).Run();
}

}  // namespace kvpagefs
