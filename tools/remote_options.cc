#include "tools/remote_options.h"

#include <sstream>

#include <fmt/format.h>
#include <boost/program_options.hpp>

#include "base/size.h"
#include "tools/file_ops.h"

namespace kvpagefs {
namespace {

namespace po = boost::program_options;

constexpr uint64_t kSizeStep = 4096;
constexpr uint64_t kMaxPageBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxPages = 1 << 20;
constexpr uint64_t kMaxThreads = 256;
constexpr uint64_t kMaxRuns = 1000;

po::options_description Known() {
  po::options_description all("Options");
  const auto text = [] { return po::value<std::string>(); };
  all.add_options()("write", text(), "the mount on which pages are written (required)")(
      "read", text(), "the mount of another node, on which they are read (required)")(
      "against", text(), "a directory whose files the raw sockets move (default /dev/shm)")(
      "page-bytes", text(), "of a page that is read alone (default 1MiB)")(
      "pages", text(), "how many of those (default 128)")("batch-page-bytes", text(),
                                                          "of a page of the batch (default 76KiB)")(
      "batch-pages", text(), "pages of a batch (default 256)")("threads", text(), "that read a batch (default 16)")(
      "runs", text(), "batches; the median counts (default 5)")("seed", text(), "contents follow from it (default 1)")(
      "json", "prints everything as JSON")("help,h", "shows this");
  return all;
}

Status ReadBytes(const OptionReader& reader, const std::string& name, uint64_t& bytes) {
  if (Status read = reader.ReadSize(name, bytes); !read) return read.error();
  if (bytes == 0 || bytes > kMaxPageBytes || bytes % kSizeStep != 0) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("--{} '{}': write a multiple of 4KiB from 4KiB to 256MiB", name, FormatSize(bytes)));
  }
  return {};
}

}  // namespace

std::string RemoteHelp() {
  std::ostringstream text;
  text << "Usage: kvpagebench remote --write MOUNT --read MOUNT [OPTION]...\n\n"
          "Writes pages on one node and reads each once on another, where they are cold, and moves the same bytes "
          "between two\nprocesses over plain TCP sockets on loopback.\n\n"
       << Known();
  return text.str();
}

Result<RemoteOptions> ParseRemoteOptions(Arguments arguments) {
  const Result<OptionReader> reader = OptionReader::Parse(arguments, Known(), "kvpagebench remote");
  if (!reader) return reader.error();
  RemoteOptions options;
  options.against = "/dev/shm";
  options.help = reader->Has("help");
  options.json = reader->Has("json");
  if (options.help) return options;
  reader->Read("write", options.writer);
  reader->Read("read", options.reader);
  reader->Read("against", options.against);
  if (options.writer.empty()) return Error(ErrorCode::kInvalid, "--write is missing: name the mount to write on");
  if (options.reader.empty()) return Error(ErrorCode::kInvalid, "--read is missing: name another node's mount");
  if (Status directory = CheckDirectory(options.writer, "--write"); !directory) return directory.error();
  if (Status directory = CheckDirectory(options.reader, "--read"); !directory) return directory.error();
  if (Status directory = CheckDirectory(options.against, "--against"); !directory) return directory.error();
  if (Status read = ReadBytes(*reader, "page-bytes", options.page_bytes); !read) return read.error();
  if (Status read = ReadBytes(*reader, "batch-page-bytes", options.batch_page_bytes); !read) return read.error();
  if (Status read = reader->Read("pages", options.pages, {1, kMaxPages}); !read) return read.error();
  if (Status read = reader->Read("batch-pages", options.batch_pages, {1, kMaxPages}); !read) return read.error();
  if (Status read = reader->Read("threads", options.threads, {1, kMaxThreads}); !read) return read.error();
  if (Status read = reader->Read("runs", options.runs, {1, kMaxRuns}); !read) return read.error();
  if (Status read = reader->Read("seed", options.seed, {}); !read) return read.error();
  return options;
}

}  // namespace kvpagefs
