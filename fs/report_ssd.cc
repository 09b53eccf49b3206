#include "fs/report_ssd.h"

#include <fmt/format.h>

namespace kvpagefs {
namespace {

double As(uint64_t value) { return static_cast<double>(value); }

// What was written for each byte of pages; 1 while nothing was.
double WriteAmplification(const SsdLog::Stats& stats) {
  return stats.appended_bytes == 0 ? 1 : As(stats.written_bytes) / As(stats.appended_bytes);
}

}  // namespace

std::vector<Gauge> SsdGauges(const Tiering& tiering) {
  if (!tiering.has_ssd()) return {};
  const SsdLog::Stats stats = tiering.ssd()->GetStats();
  const Spiller::Stats spill = tiering.spill_stats();
  return {
      {"ssd_capacity_bytes", As(stats.capacity_bytes), "Bytes of disk that the SSD tier may take."},
      {"ssd_file_bytes", As(stats.file_bytes), "Bytes of disk that its files take."},
      {"ssd_live_bytes", As(stats.live_bytes), "Of them bytes of pages that are stored, with their headers."},
      {"ssd_pages", As(stats.pages), "Pages on SSD."},
      {"ssd_regions", As(stats.regions), "Regions of the logs."},
      {"ssd_suspended", stats.suspended ? 1.0 : 0.0, "1: a directory takes no pages because its writes fail."},
      {"spill_queued_pages", As(spill.queued_pages), "Pages that wait to be written to SSD."},
      {"spill_pages_in_flight", As(spill.pages_in_flight), "Pages that are being written to SSD."},
      {"spill_bytes_in_flight", As(spill.bytes_in_flight), "Their bytes."},
      {"fetches_waiting", As(tiering.fetches_waiting()), "Opens that wait for a page from SSD."},
  };
}

std::vector<Gauge> SsdCounts(const Tiering& tiering) {
  if (!tiering.has_ssd()) return {};
  const SsdLog::Stats stats = tiering.ssd()->GetStats();
  return {
      {"ssd_appended_pages", As(stats.appended_pages), "Pages written to SSD."},
      {"ssd_appended_bytes", As(stats.appended_bytes), "Their bytes."},
      {"ssd_rewritten_bytes", As(stats.rewritten_bytes), "Bytes of pages written again by reclaim."},
      {"ssd_written_bytes", As(stats.written_bytes), "All bytes written to SSD, with headers, padding and indexes."},
      {"ssd_read_pages", As(stats.read_pages), "Pages read from SSD."},
      {"ssd_read_bytes", As(stats.read_bytes), "Their bytes."},
      {"ssd_reclaimed_regions", As(stats.reclaimed_regions), "Regions emptied to be filled again."},
      {"ssd_dropped_pages", As(stats.dropped_pages), "Pages that went with a reclaimed region."},
      {"ssd_quarantined_pages", As(stats.quarantined_pages), "Pages dropped because their bytes were wrong."},
      {"ssd_read_errors", As(stats.read_errors), "Reads that the disk failed."},
      {"ssd_write_errors", As(stats.write_errors), "Writes that the disk failed."},
      {"ssd_no_space_errors", As(stats.no_space_errors), "Times that the disk was full."},
      {"ssd_lost_files", As(stats.lost_files), "Region files that were missing or cut off."},
  };
}

std::string SsdDirLines(const Tiering& tiering) {
  if (!tiering.has_ssd()) return {};
  std::string text = fmt::format("ssd_write_amplification {:.3f}\n", WriteAmplification(tiering.ssd()->GetStats()));
  for (const SsdTier::DirReport& dir : tiering.ssd()->Report()) {
    text += fmt::format("ssd_dir {} {}, {}, {} bytes of memory registered, problem: {}{}\n", dir.path,
                        dir.disk.uses_io_uring ? "io_uring" : "threads", dir.disk.direct ? "O_DIRECT" : "page cache",
                        dir.disk.registered_bytes, dir.stats.problem.empty() ? "none" : dir.stats.problem,
                        dir.disk.note.empty() ? "" : ", note: " + dir.disk.note);
  }
  return text;
}

}  // namespace kvpagefs
