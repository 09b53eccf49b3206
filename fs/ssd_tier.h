// The node's SSD tier: one log (spill/ssd_log.h) in each of the configured directories, seen as one.
//
// A page is in one directory. New pages go to the directories in turn; one whose log is suspended is passed over.
// Threads, completions and the listener: as SsdLog.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "spill/ssd_log.h"

namespace kvpagefs {

class SsdTier {
 public:
  struct Options {
    std::vector<std::string> dirs;  // absolute
    uint64_t capacity_bytes = 0;    // of all together
    uint64_t max_page_bytes = 0;
    std::string owner;                     // for the lock's text: what a second process is told
    SsdLog::Listener* listener = nullptr;  // outlives the tier, as does the clock
    const Clock* clock = nullptr;
    Log log = Log::Discard();
  };
  struct Recovered {
    PageId id;
    uint64_t bytes = 0;
    uint64_t checksum = 0;
    std::string description;
  };

  // Errors name --ssd-dir or --ssd, the value and the remedy. Logs what each directory had. A page that several
  // directories have is in `recovered` once.
  static Result<std::unique_ptr<SsdTier>> Open(const Options& options, std::vector<Recovered>* recovered);

  void Append(SsdLog::AppendRequest request);
  void Read(PageId id, std::vector<iovec> pieces, std::function<void(const Status&)> done);
  void Remove(std::span<const PageId> ids);
  bool Has(PageId id) const;
  // Everything whose Append or Remove is done is durable in all directories, or the first error.
  void Sync(const std::function<void(const Status&)>& done);
  // Speeds transfers up; a directory that cannot goes on without.
  void RegisterMemory(std::span<const iovec> memory);

  // Which node's pages are in the first directory (spill/ssd_directory.h).
  uint64_t identity() const { return identity_; }

  // Sums; `problem` joins what the directories say.
  SsdLog::Stats GetStats() const;
  struct DirReport {
    std::string path;
    SsdLog::Stats stats;
    SsdDisk::Info disk;
  };
  std::vector<DirReport> Report() const;

 private:
  struct Dir {
    std::string path;
    std::unique_ptr<SsdLog> log;
  };
  SsdLog* LogOf(PageId id) const;  // null

  uint64_t identity_ = 0;
  std::vector<Dir> dirs_;
  std::atomic<size_t> next_{0};
};

}  // namespace kvpagefs
