// Opening the SSD log: what is on the disk becomes the index, the region table and what the owner is told. Private to
// spill/.
//
// Regions are taken newest first, so the first record of a page that comes up is the one that counts; their indexes are
// read some at a time, side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spill/removed_records.h"
#include "spill/ssd_log_state.h"

namespace kvpagefs {

class SsdRecovery {
 public:
  SsdRecovery(SsdLogState* state, const SsdLog::RecoverySink& sink, SsdLog::RecoveryCounts* counts)
      : state_(state), sink_(sink), counts_(counts) {}
  // Errors as SsdLog::Open.
  Status Run();

 private:
  struct RegionFile {
    uint32_t slot = 0;
    Status read;
    Result<RegionHeader> header = ErrorCode::kInvalid;
    AlignedBuffer block{kBlockBytes};
    bool done = false;
    bool damaged = false;
  };
  Status LoadRemovals();
  Status OpenFiles(std::vector<std::unique_ptr<RegionFile>>* files);
  Status ReadHeaders(std::vector<std::unique_ptr<RegionFile>>* files);
  void Classify(RegionFile* file);
  // Damage may be gone at the next start, and pages that were removed meanwhile must not be back then.
  Status FreeDamaged(const std::vector<std::unique_ptr<RegionFile>>& files);
  // The oldest regions go until the files fit into the capacity.
  Status FitCapacity();
  Status CheckCapacity() const;
  void SyncFree();
  IoTask SyncFile(SsdDisk::FileId file, std::optional<Status>* result);
  Status LoadRegions();
  void Take(uint32_t slot, const LoadedRegion& loaded);
  // True: it is its page's newest, and no removed one.
  bool TakeRecord(uint32_t slot, uint64_t sequence, const RecordInfo& record);
  // The newest region goes on where its records end, if there is room worth it.
  Status Continue();
  IoTask ReadHeader(RegionFile* file);
  // One block, durably.
  IoTask WriteBlock(SsdDisk::FileId file, uint64_t offset, const AlignedBuffer* block, std::optional<Status>* result);
  Status WriteBlockNow(SsdDisk::FileId file, uint64_t offset, const AlignedBuffer& block);
  void NoteLoss(std::string what);

  SsdLogState* const state_;
  const SsdLog::RecoverySink& sink_;
  SsdLog::RecoveryCounts* const counts_;
  RemovedRecords removed_;
  std::optional<uint32_t> newest_;  // region with records: its slot
};

}  // namespace kvpagefs
