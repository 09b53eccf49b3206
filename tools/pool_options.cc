#include "tools/pool_options.h"

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
constexpr uint64_t kMaxPages = 1 << 24;
constexpr uint64_t kMaxReaders = 256;

po::options_description Known() {
  po::options_description all("Options");
  const auto text = [] { return po::value<std::string>(); };
  all.add_options()("dir", text(), "the directory to measure, such as a mount with an SSD tier (required)")(
      "against", text(), "a directory on the disk that the tier is on (required)")("page-bytes", text(),
                                                                                   "size of a page (default 1MiB)")(
      "pages", text(), "how many; together they should be several times the node's memory (default 512)")(
      "readers", text(), "threads that read (default 16)")(
      "seed", text(), "contents and the order of reads follow from it (default 1)")(
      "json", "prints everything as JSON")("help,h", "shows this");
  return all;
}

}  // namespace

std::string PoolHelp() {
  std::ostringstream text;
  text << "Usage: kvpagebench pool --dir MOUNT --against DIR [OPTION]...\n\n"
          "Writes more pages than memory holds, then reads each once in random order with O_DIRECT, and does the same "
          "on one plain\nfile in DIR.\n\n"
       << Known();
  return text.str();
}

Result<PoolOptions> ParsePoolOptions(Arguments arguments) {
  const Result<OptionReader> reader = OptionReader::Parse(arguments, Known(), "kvpagebench pool");
  if (!reader) return reader.error();
  PoolOptions options;
  options.help = reader->Has("help");
  options.json = reader->Has("json");
  if (options.help) return options;
  reader->Read("dir", options.directory);
  reader->Read("against", options.against);
  if (options.directory.empty()) return Error(ErrorCode::kInvalid, "--dir is missing: name the directory to measure");
  if (options.against.empty()) return Error(ErrorCode::kInvalid, "--against is missing: name a directory on the disk");
  if (Status directory = CheckDirectory(options.directory, "--dir"); !directory) return directory.error();
  if (Status directory = CheckDirectory(options.against, "--against"); !directory) return directory.error();
  if (Status read = reader->ReadSize("page-bytes", options.page_bytes); !read) return read.error();
  if (options.page_bytes == 0 || options.page_bytes > kMaxPageBytes || options.page_bytes % kSizeStep != 0) {
    return Error(ErrorCode::kInvalid, fmt::format("--page-bytes '{}': write a multiple of 4KiB from 4KiB to 256MiB",
                                                  FormatSize(options.page_bytes)));
  }
  if (Status read = reader->Read("pages", options.pages, {1, kMaxPages}); !read) return read.error();
  if (Status read = reader->Read("readers", options.readers, {1, kMaxReaders}); !read) return read.error();
  if (Status read = reader->Read("seed", options.seed, {}); !read) return read.error();
  return options;
}

}  // namespace kvpagefs
