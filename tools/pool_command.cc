#include "tools/pool_command.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "tools/aligned_buffer.h"
#include "tools/host_info.h"
#include "tools/latency.h"
#include "tools/page_content.h"
#include "tools/pool_side.h"
#include "tools/progress.h"
#include "tools/stop_signal.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

constexpr double kMiB = 1 << 20;
// Pages read by one thread, one after the other, for the latency of a single read.
constexpr uint64_t kSerialPages = 64;

struct Reading {
  int64_t elapsed_ns = 0;
  std::vector<int64_t> samples_ns;
};

struct Measured {
  double write_mib_s = 0;
  double read_mib_s = 0;
  LatencySummary parallel;
  LatencySummary serial;
};

double MibPerSecond(uint64_t bytes, int64_t ns) {
  return ns <= 0 ? 0 : static_cast<double>(bytes) / kMiB / (static_cast<double>(ns) / 1e9);
}

class PoolRun {
 public:
  PoolRun(const PoolOptions& options, StopSignal& stop, Progress& progress)
      : options_(options), stop_(stop), progress_(progress) {}

  Result<Measured> Measure(PoolSide& side, const std::string& what) {
    Measured measured;
    progress_.Show("writing " + what);
    const int64_t begin_ns = clock_.MonotonicNs();
    if (Status written = WriteAllPages(side); !written) return written.error();
    measured.write_mib_s = MibPerSecond(options_.pages * options_.page_bytes, clock_.MonotonicNs() - begin_ns);
    std::vector<uint64_t> order(options_.pages);
    std::iota(order.begin(), order.end(), uint64_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(options_.seed));
    // The last ones of the order are for the single reader, so that nobody has read them before.
    const uint64_t serial = std::min(kSerialPages, options_.pages / 2);
    progress_.Show("reading " + what);
    Result<Reading> parallel = ReadPages(side, std::span(order).first(order.size() - serial), options_.readers);
    if (!parallel) return parallel.error();
    measured.read_mib_s = MibPerSecond((order.size() - serial) * options_.page_bytes, parallel->elapsed_ns);
    measured.parallel = Summarize(std::move(parallel->samples_ns));
    Result<Reading> alone = ReadPages(side, std::span(order).last(serial), 1);
    if (!alone) return alone.error();
    measured.serial = Summarize(std::move(alone->samples_ns));
    return measured;
  }

 private:
  Status WriteAllPages(PoolSide& side) {
    const AlignedBuffer buffer(options_.page_bytes);
    for (uint64_t page = 0; page < options_.pages; ++page) {
      if (stop_.Requested()) return ErrorCode::kInterrupted;
      const auto bytes = buffer.Span(0, options_.page_bytes);
      FillContent(PoolContentSeed(options_, page), bytes.first(std::min<size_t>(bytes.size(), 4096)));
      if (Status written = side.Write(page, bytes); !written) return written;
    }
    return side.Sync();
  }

  Result<Reading> ReadPages(PoolSide& side, std::span<const uint64_t> order, uint64_t threads) {
    std::atomic<size_t> next{0};
    std::vector<Status> results(threads);
    std::vector<std::vector<int64_t>> samples(threads);
    const auto work = [&](size_t thread) {
      const AlignedBuffer buffer(options_.page_bytes);
      const auto bytes = buffer.Span(0, options_.page_bytes);
      for (size_t at = next++; at < order.size() && results[thread].ok(); at = next++) {
        const int64_t begin_ns = clock_.MonotonicNs();
        results[thread] = side.Read(order[at], bytes);
        samples[thread].push_back(clock_.MonotonicNs() - begin_ns);
        if (!results[thread].ok()) break;
        if (FindWrongByte(PoolContentSeed(options_, order[at]), bytes.first(std::min<size_t>(bytes.size(), 4096)))) {
          results[thread] = Error(ErrorCode::kLost, fmt::format("page {}: wrong bytes", order[at]));
        }
      }
    };
    Reading reading;
    const int64_t begin_ns = clock_.MonotonicNs();
    std::vector<std::thread> running;
    running.reserve(threads);
    for (size_t thread = 0; thread < threads; ++thread) running.emplace_back(work, thread);
    for (std::thread& thread : running) thread.join();
    reading.elapsed_ns = clock_.MonotonicNs() - begin_ns;
    for (const Status& result : results) {
      if (!result.ok()) return result.error();
    }
    for (const auto& some : samples) reading.samples_ns.insert(reading.samples_ns.end(), some.begin(), some.end());
    return reading;
  }

  const PoolOptions& options_;
  StopSignal& stop_;
  Progress& progress_;
  SystemClock clock_;
};

void PrintTable(const PoolOptions& options, const Measured& pages, const Measured& raw) {
  TextTable table({"case", "pages", "raw file", "ratio"});
  const auto row = [&table](const std::string& name, double a, double b) {
    table.AddRow({name, ShortNumber(a), ShortNumber(b), b > 0 ? ShortNumber(a / b) : "-"});
  };
  row("write, then all on disk, MiB/s", pages.write_mib_s, raw.write_mib_s);
  row(fmt::format("read by {} threads, MiB/s", options.readers), pages.read_mib_s, raw.read_mib_s);
  row(fmt::format("read by {} threads, p50 us", options.readers), pages.parallel.median_us, raw.parallel.median_us);
  row(fmt::format("read by {} threads, p99 us", options.readers), pages.parallel.p99_us, raw.parallel.p99_us);
  row("read by one thread, p50 us", pages.serial.median_us, raw.serial.median_us);
  row("read by one thread, p99 us", pages.serial.p99_us, raw.serial.p99_us);
  fmt::print("{} pages of {}, {} in all\n{}", options.pages, ShortSize(options.page_bytes),
             ShortSize(options.pages * options.page_bytes), table.Render());
}

nlohmann::json AsJson(const Measured& measured) {
  return {{"write_mib_s", measured.write_mib_s},        {"read_mib_s", measured.read_mib_s},
          {"read_p50_us", measured.parallel.median_us}, {"read_p99_us", measured.parallel.p99_us},
          {"serial_p50_us", measured.serial.median_us}, {"serial_p99_us", measured.serial.p99_us}};
}

void Print(const PoolOptions& options, const Measured& pages, const Measured& raw) {
  if (!options.json) return PrintTable(options, pages, raw);
  const HostInfo host = ReadHostInfo();
  const nlohmann::json all = {{"kernel", host.kernel},      {"cpus", host.cpus},
                              {"pages", options.pages},     {"page_bytes", options.page_bytes},
                              {"readers", options.readers}, {"dir", AsJson(pages)},
                              {"against", AsJson(raw)}};
  fmt::print("{}\n", all.dump(2));
}

Result<Measured> MeasureSide(PoolRun& run, Result<std::unique_ptr<PoolSide>> side, const std::string& what) {
  if (!side) return side.error();
  return run.Measure(**side, what);
}

}  // namespace

BenchExit RunPoolCommand(Arguments arguments) {
  const Result<PoolOptions> options = ParsePoolOptions(arguments);
  if (!options) return Complain(options.error(), BenchExit::kUsage);
  if (options->help) {
    fmt::print("{}", PoolHelp());
    return BenchExit::kOk;
  }
  StopSignal stop;
  Progress progress;
  PoolRun run(*options, stop, progress);
  const Result<Measured> raw = MeasureSide(run, MakeFileSide(*options), options->against);
  if (!raw) return Complain(raw.error(), stop.Requested() ? BenchExit::kInterrupted : BenchExit::kFailed);
  const Result<Measured> pages = MeasureSide(run, MakePageSide(*options), options->directory);
  if (!pages) return Complain(pages.error(), stop.Requested() ? BenchExit::kInterrupted : BenchExit::kFailed);
  progress.Clear();
  Print(*options, *pages, *raw);
  return BenchExit::kOk;
}

}  // namespace kvpagefs
