#include "tools/remote_command.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "tools/aligned_buffer.h"
#include "tools/file_ops.h"
#include "tools/host_info.h"
#include "tools/latency.h"
#include "tools/page_content.h"
#include "tools/progress.h"
#include "tools/remote_options.h"
#include "tools/socket_peer.h"
#include "tools/stop_signal.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

constexpr size_t kStreams = 4;  // of the raw batch
constexpr uint64_t kPublishes = 200;
constexpr uint64_t kPublishBytes = 4096;
// A page that is not seen after so long will not be.
constexpr int64_t kVisibleLimitNs = 5'000'000'000;

struct Measured {
  LatencySummary page;
  LatencySummary raw_page;
  LatencySummary batch;
  LatencySummary raw_batch;
  LatencySummary visible;
};

class RemoteRun {
 public:
  RemoteRun(const RemoteOptions& options, StopSignal& stop, Progress& progress)
      : options_(options), stop_(stop), progress_(progress), folder_(fmt::format("kvpagebench-{}", getpid())) {}
  ~RemoteRun() {
    RemoveTree(options_.writer + "/" + folder_);
    unlink(RawPath().c_str());
  }

  // Forks, so it comes first.
  Status StartRaw() {
    const uint64_t bytes = std::max(options_.page_bytes, options_.batch_page_bytes);
    const AlignedBuffer buffer(bytes);
    FillContent(options_.seed, buffer.Span(0, bytes));
    if (Status written = WriteFile(RawPath(), buffer.Span(0, bytes)); !written.ok()) return written;
    auto peer = SocketPeer::Start(RawPath(), bytes);
    if (!peer.ok()) return peer.error();
    raw_ = std::move(*peer);
    return MakeDirectory(options_.writer + "/" + folder_);
  }

  Result<Measured> Measure() {
    Measured measured;
    if (Status done = MeasurePages(&measured); !done.ok()) return done.error();
    if (Status done = MeasureBatches(&measured); !done.ok()) return done.error();
    if (Status done = MeasurePublishing(&measured); !done.ok()) return done.error();
    return measured;
  }

 private:
  std::string RawPath() const { return options_.against + "/" + folder_ + ".raw"; }
  std::string Path(const std::string& mount, const std::string& page) const {
    return mount + "/" + folder_ + "/" + page;
  }
  Status Write(const std::string& page, uint64_t bytes) {
    if (stop_.Requested()) return ErrorCode::kInterrupted;
    const AlignedBuffer buffer(bytes);
    FillContent(ContentSeed(page), buffer.Span(0, bytes));
    return WriteFile(Path(options_.writer, page), buffer.Span(0, bytes));
  }
  Status Check(const std::string& page, std::span<const std::byte> bytes) const {
    if (!FindWrongByte(ContentSeed(page), bytes)) return {};
    return Error(ErrorCode::kLost, fmt::format("page {}: wrong bytes", page));
  }

  // One after the other, a page and a raw transfer in turn, so that the drift of the machine cancels.
  Status MeasurePages(Measured* measured) {
    progress_.Show("reading pages alone");
    const Result<UniqueFd> connection = raw_->Connect();
    if (!connection.ok()) return connection.error();
    const AlignedBuffer buffer(options_.page_bytes);
    const auto bytes = buffer.Span(0, options_.page_bytes);
    for (uint64_t i = 0; i < options_.pages; ++i) {
      if (Status written = Write(fmt::format("page-{}", i), options_.page_bytes); !written.ok()) return written;
    }
    std::vector<int64_t> pages;
    std::vector<int64_t> raws;
    for (uint64_t i = 0; i < options_.pages; ++i) {
      const std::string page = fmt::format("page-{}", i);
      int64_t begin_ns = clock_.MonotonicNs();
      if (Status read = ReadFile(Path(options_.reader, page), O_RDONLY | O_DIRECT, bytes); !read.ok()) return read;
      pages.push_back(clock_.MonotonicNs() - begin_ns);
      if (Status right = Check(page, bytes); !right.ok()) return right;
      begin_ns = clock_.MonotonicNs();
      if (Status fetched = SocketPeer::Fetch(connection->get(), bytes); !fetched.ok()) return fetched;
      raws.push_back(clock_.MonotonicNs() - begin_ns);
    }
    measured->page = Summarize(std::move(pages));
    measured->raw_page = Summarize(std::move(raws));
    return {};
  }

  // Runs `work` in so many threads; the first error, and how long it took.
  Result<int64_t> InThreads(size_t threads, const std::function<Status(size_t thread)>& work) {
    std::vector<Status> results(threads);
    std::vector<std::thread> running;
    running.reserve(threads);
    const int64_t begin_ns = clock_.MonotonicNs();
    for (size_t i = 0; i < threads; ++i) running.emplace_back([&, i] { results[i] = work(i); });
    for (std::thread& thread : running) thread.join();
    const int64_t elapsed_ns = clock_.MonotonicNs() - begin_ns;
    for (const Status& result : results) {
      if (!result.ok()) return result.error();
    }
    return elapsed_ns;
  }

  Result<int64_t> ReadBatch(uint64_t run) {
    std::atomic<uint64_t> next{0};
    return InThreads(options_.threads, [&](size_t) -> Status {
      const AlignedBuffer buffer(options_.batch_page_bytes);
      const auto bytes = buffer.Span(0, options_.batch_page_bytes);
      for (uint64_t i = next++; i < options_.batch_pages; i = next++) {
        const std::string page = fmt::format("batch-{}-{}", run, i);
        if (Status read = ReadFile(Path(options_.reader, page), O_RDONLY | O_DIRECT, bytes); !read.ok()) return read;
      }
      return {};
    });
  }

  Result<int64_t> FetchBatch(const std::vector<UniqueFd>& connections) {
    std::atomic<uint64_t> next{0};
    return InThreads(connections.size(), [&](size_t thread) -> Status {
      const AlignedBuffer buffer(options_.batch_page_bytes);
      const auto bytes = buffer.Span(0, options_.batch_page_bytes);
      while (next++ < options_.batch_pages) {
        if (Status fetched = SocketPeer::Fetch(connections[thread].get(), bytes); !fetched.ok()) return fetched;
      }
      return {};
    });
  }

  Status MeasureBatches(Measured* measured) {
    progress_.Show("reading batches");
    std::vector<UniqueFd> connections;
    for (size_t i = 0; i < kStreams; ++i) {
      Result<UniqueFd> connection = raw_->Connect();
      if (!connection.ok()) return connection.error();
      connections.push_back(std::move(*connection));
    }
    std::vector<int64_t> batches;
    std::vector<int64_t> raws;
    for (uint64_t run = 0; run < options_.runs; ++run) {
      for (uint64_t i = 0; i < options_.batch_pages; ++i) {
        const std::string page = fmt::format("batch-{}-{}", run, i);
        if (Status written = Write(page, options_.batch_page_bytes); !written.ok()) return written;
      }
      const Result<int64_t> batch = ReadBatch(run);
      if (!batch.ok()) return batch.error();
      batches.push_back(*batch);
      const Result<int64_t> raw = FetchBatch(connections);
      if (!raw.ok()) return raw.error();
      raws.push_back(*raw);
    }
    measured->batch = Summarize(std::move(batches));
    measured->raw_batch = Summarize(std::move(raws));
    return {};
  }

  // From the return of close on one node to the first open that finds the page on the other.
  Status MeasurePublishing(Measured* measured) {
    progress_.Show("publishing");
    std::vector<int64_t> samples;
    for (uint64_t i = 0; i < kPublishes; ++i) {
      const std::string page = fmt::format("publish-{}", i);
      if (Status written = Write(page, kPublishBytes); !written.ok()) return written;
      const int64_t begin_ns = clock_.MonotonicNs();
      for (;;) {
        const Result<UniqueFd> found = OpenFile(Path(options_.reader, page), O_RDONLY);
        const int64_t elapsed_ns = clock_.MonotonicNs() - begin_ns;
        if (found.ok()) {
          samples.push_back(elapsed_ns);
          break;
        }
        if (elapsed_ns > kVisibleLimitNs) return found.error();
      }
    }
    measured->visible = Summarize(std::move(samples));
    return {};
  }

  const RemoteOptions& options_;
  StopSignal& stop_;
  Progress& progress_;
  const std::string folder_;
  std::unique_ptr<SocketPeer> raw_;
  SystemClock clock_;
};

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

void PrintTable(const RemoteOptions& options, const Measured& measured) {
  TextTable table({"case", "pages", "raw socket", "ratio"});
  const auto row = [&table](const std::string& name, double a, double b) {
    table.AddRow({name, ShortNumber(a), b > 0 ? ShortNumber(b) : "-", b > 0 ? ShortNumber(Ratio(a, b)) : "-"});
  };
  const std::string one = fmt::format("open, read, close of {}, cold", ShortSize(options.page_bytes));
  row(one + ", p50 us", measured.page.median_us, measured.raw_page.median_us);
  row(one + ", p99 us", measured.page.p99_us, measured.raw_page.p99_us);
  row(fmt::format("{} of {} by {} threads, p50 us", options.batch_pages, ShortSize(options.batch_page_bytes),
                  options.threads),
      measured.batch.median_us, measured.raw_batch.median_us);
  row("close here to open there, p50 us", measured.visible.median_us, 0);
  row("close here to open there, p99 us", measured.visible.p99_us, 0);
  fmt::print("{}", table.Render());
}

nlohmann::json AsJson(const LatencySummary& summary) {
  return {{"count", summary.count},
          {"p50_us", summary.median_us},
          {"p99_us", summary.p99_us},
          {"min_us", summary.min_us},
          {"max_us", summary.max_us}};
}

void Print(const RemoteOptions& options, const Measured& measured) {
  if (!options.json) return PrintTable(options, measured);
  const HostInfo host = ReadHostInfo();
  const nlohmann::json all = {{"kernel", host.kernel},
                              {"cpus", host.cpus},
                              {"page_bytes", options.page_bytes},
                              {"page", AsJson(measured.page)},
                              {"raw_page", AsJson(measured.raw_page)},
                              {"batch_pages", options.batch_pages},
                              {"batch_page_bytes", options.batch_page_bytes},
                              {"threads", options.threads},
                              {"batch", AsJson(measured.batch)},
                              {"raw_batch", AsJson(measured.raw_batch)},
                              {"visible", AsJson(measured.visible)}};
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

BenchExit RunRemoteCommand(Arguments arguments) {
  const Result<RemoteOptions> options = ParseRemoteOptions(arguments);
  if (!options) return Complain(options.error(), BenchExit::kUsage);
  if (options->help) {
    fmt::print("{}", RemoteHelp());
    return BenchExit::kOk;
  }
  StopSignal stop;
  Progress progress;
  RemoteRun run(*options, stop, progress);
  const Status started = run.StartRaw();
  if (!started.ok()) return Complain(started.error(), BenchExit::kFailed);
  const Result<Measured> measured = run.Measure();
  if (!measured) return Complain(measured.error(), stop.Requested() ? BenchExit::kInterrupted : BenchExit::kFailed);
  progress.Clear();
  Print(*options, *measured);
  return BenchExit::kOk;
}

}  // namespace kvpagefs
