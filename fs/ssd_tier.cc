#include "fs/ssd_tier.h"

#include <utility>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "base/size.h"
#include "fs/joined.h"
#include "spill/ssd_directory.h"

namespace kvpagefs {
namespace {

void LogRecovery(const Log& log, const std::string& dir, const SsdLog::RecoveryCounts& counts) {
  log.Info("SSD directory {}: {} pages in {} regions ({} without an index were scanned); {} removed pages left out",
           dir, counts.pages, counts.regions, counts.scanned_regions, counts.removed_pages);
  if (counts.damaged_records + counts.damaged_regions + counts.foreign_regions > 0) {
    log.Warning(
        "SSD directory {}: {} damaged records and {} damaged regions dropped, {} regions of another node left "
        "alone; the first: {}",
        dir, counts.damaged_records, counts.damaged_regions, counts.foreign_regions, counts.first_loss);
  }
}

// Texts of the layers below name the path; the option is this layer's.
Error Named(const Error& error) { return {error.code(), "ssd-dir: " + error.Describe()}; }

void AddTo(SsdLog::Stats* sum, const SsdLog::Stats& one) {
  sum->capacity_bytes += one.capacity_bytes;
  sum->file_bytes += one.file_bytes;
  sum->live_bytes += one.live_bytes;
  sum->pages += one.pages;
  sum->regions += one.regions;
  sum->appended_pages += one.appended_pages;
  sum->appended_bytes += one.appended_bytes;
  sum->rewritten_bytes += one.rewritten_bytes;
  sum->written_bytes += one.written_bytes;
  sum->read_pages += one.read_pages;
  sum->read_bytes += one.read_bytes;
  sum->reclaimed_regions += one.reclaimed_regions;
  sum->dropped_pages += one.dropped_pages;
  sum->quarantined_pages += one.quarantined_pages;
  sum->read_errors += one.read_errors;
  sum->write_errors += one.write_errors;
  sum->no_space_errors += one.no_space_errors;
  sum->lost_files += one.lost_files;
  sum->queued_appends += one.queued_appends;
  sum->suspended = sum->suspended || one.suspended;
}

}  // namespace

Result<std::unique_ptr<SsdTier>> SsdTier::Open(const Options& options, std::vector<Recovered>* recovered) {
  auto tier = std::make_unique<SsdTier>();
  absl::flat_hash_set<uint64_t> seen;
  const uint64_t capacity_bytes = options.capacity_bytes / options.dirs.size();
  for (const std::string& path : options.dirs) {
    SsdDirectory::Options directory_options;
    directory_options.path = path;
    directory_options.owner_text = options.owner;
    Result<SsdDirectory> directory = SsdDirectory::Open(directory_options);
    if (!directory.ok()) return Named(directory.error());
    Result<std::unique_ptr<SsdDisk>> disk = directory->TakeDisk();
    if (!disk.ok()) return Named(disk.error());
    const SsdDisk::Info info = (*disk)->GetInfo();
    if (!info.note.empty()) options.log.Warning("SSD directory {}: {}", path, info.note);

    SsdLog::Setup setup;
    setup.disk = std::move(*disk);
    setup.options.capacity_bytes = capacity_bytes;
    setup.options.region_bytes = SsdLog::RegionBytesFor(capacity_bytes, options.max_page_bytes);
    setup.options.node_identity = directory->identity();
    if (tier->dirs_.empty()) tier->identity_ = directory->identity();
    setup.listener = options.listener;
    setup.clock = options.clock;
    setup.log = options.log;
    SsdLog::RecoveryCounts counts;
    const auto sink = [&](const SsdLog::RecoveredPage& page) {
      if (!seen.insert(page.id.value).second) return;
      recovered->push_back({page.id, page.bytes, page.checksum, std::string(page.description)});
    };
    auto opened = SsdLog::Open(std::move(setup), sink, &counts);
    if (!opened.ok()) return Named(opened.error());
    LogRecovery(options.log, path, counts);
    tier->dirs_.push_back({path, std::move(*opened)});
  }
  return tier;
}

SsdLog* SsdTier::LogOf(PageId id) const {
  for (const Dir& dir : dirs_) {
    if (dir.log->Find(id).ok()) return dir.log.get();
  }
  return nullptr;
}

void SsdTier::Append(SsdLog::AppendRequest request) {
  const size_t first = next_.fetch_add(1, std::memory_order_relaxed);
  SsdLog* chosen = dirs_[first % dirs_.size()].log.get();
  for (size_t i = 0; i < dirs_.size() && dirs_.size() > 1; ++i) {
    SsdLog* const log = dirs_[(first + i) % dirs_.size()].log.get();
    if (log->GetStats().suspended) continue;
    chosen = log;
    break;
  }
  chosen->Append(std::move(request));
}

void SsdTier::Read(PageId id, std::vector<iovec> pieces, std::function<void(const Status&)> done) {
  SsdLog* const log = LogOf(id);
  if (log == nullptr) return done(ErrorCode::kNotFound);
  log->Read(id, std::move(pieces), std::move(done));
}

void SsdTier::Remove(std::span<const PageId> ids) {
  for (const Dir& dir : dirs_) (void)dir.log->Remove(ids);  // a failure is the directory's problem, shown in status
}

bool SsdTier::Has(PageId id) const { return LogOf(id) != nullptr; }

void SsdTier::Sync(const std::function<void(const Status&)>& done) {
  const auto joined = std::make_shared<Joined>(dirs_.size(), done);
  for (const Dir& dir : dirs_) {
    dir.log->Sync([joined](const Status& status) { joined->Add(status); });
  }
}

void SsdTier::RegisterMemory(std::span<const iovec> memory) {
  for (const Dir& dir : dirs_) (void)dir.log->RegisterMemory(memory);  // status shows whether it is
}

SsdLog::Stats SsdTier::GetStats() const {
  SsdLog::Stats sum;
  for (const Dir& dir : dirs_) {
    const SsdLog::Stats one = dir.log->GetStats();
    AddTo(&sum, one);
    if (one.problem.empty()) continue;
    if (!sum.problem.empty()) sum.problem += "; ";
    sum.problem += fmt::format("{}: {}", dir.path, one.problem);
  }
  return sum;
}

std::vector<SsdTier::DirReport> SsdTier::Report() const {
  std::vector<DirReport> reports;
  reports.reserve(dirs_.size());
  for (const Dir& dir : dirs_) reports.push_back({dir.path, dir.log->GetStats(), dir.log->disk_info()});
  return reports;
}

}  // namespace kvpagefs
