#include "tools/micro_options.h"

#include <sstream>

#include <fmt/format.h>
#include <boost/program_options.hpp>

#include "base/size.h"
#include "tools/file_ops.h"

namespace kvpagefs {
namespace {

namespace po = boost::program_options;

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;
// O_DIRECT reads whole logical blocks.
constexpr uint64_t kSizeStep = 4096;

po::options_description Known() {
  po::options_description all("Options");
  const auto text = [] { return po::value<std::string>(); };
  all.add_options()("dir", text(), "the directory to measure, such as a mount (required)")(
      "against", text(), "the directory to compare with (default /dev/shm)")(
      "runs", text(), "measured runs of each case, after one that is not counted (default 15)")(
      "files", text(), "files of each size, each used once a run (default 8)")(
      "sizes", text(), "sizes of the single-file cases (default 64KiB,1MiB,8MiB)")(
      "only", text(), "only these cases: names, or their beginnings up to a '-'")(
      "list-entries", text(), "entries of the listed directory (default 20000)")(
      "list-bytes", text(), "size of each listed file: 0 (default) or 4096")(
      "seed", text(), "contents and the order of files follow from it (default 1)")(
      "check", "exit status 3 when a target is missed")("json", "prints everything as JSON")("help,h", "shows this");
  return all;
}

Status ReadSizes(const OptionReader& reader, std::vector<uint64_t>& sizes_bytes) {
  sizes_bytes = DefaultMicroSizes();
  if (!reader.Has("sizes")) return {};
  std::vector<std::string> words;
  reader.ReadList("sizes", words);
  sizes_bytes.clear();
  for (const std::string& word : words) {
    const Result<uint64_t> size = ParseSize(word);
    if (!size) return Error(ErrorCode::kInvalid, fmt::format("--sizes: {}", size.error().Describe()));
    if (*size == 0 || *size > kMaxFileBytes || *size % kSizeStep != 0) {
      return Error(ErrorCode::kInvalid, fmt::format("--sizes '{}': write multiples of 4KiB from 4KiB to 256MiB", word));
    }
    sizes_bytes.push_back(*size);
  }
  return {};
}

Status ReadDirectories(const OptionReader& reader, MicroOptions& options) {
  reader.Read("dir", options.directory);
  if (options.directory.empty()) return Error(ErrorCode::kInvalid, "--dir is missing: name the directory to measure");
  if (Status directory = CheckDirectory(options.directory, "--dir"); !directory) return directory;
  reader.Read("against", options.against);
  return CheckDirectory(options.against, "--against");
}

}  // namespace

std::vector<uint64_t> DefaultMicroSizes() { return {64 << 10, 1 << 20, 8 << 20}; }

std::string MicroHelp() {
  std::ostringstream text;
  text << "Usage: kvpagebench micro --dir MOUNT [--against DIR] [OPTION]...\n\n"
          "Runs each operation on MOUNT and on DIR in turn and prints medians and their ratio.\n\n"
       << Known();
  return text.str();
}

Result<MicroOptions> ParseMicroOptions(Arguments arguments) {
  MicroOptions options;
  const Result<OptionReader> reader = OptionReader::Parse(arguments, Known(), "kvpagebench micro");
  if (!reader) return reader.error();
  options.help = reader->Has("help");
  if (options.help) return options;
  options.json = reader->Has("json");
  options.check = reader->Has("check");
  reader->ReadList("only", options.only);
  if (Status read = reader->Read("runs", options.runs, {1, 100'000}); !read) return read.error();
  if (Status read = reader->Read("files", options.files, {1, 10'000}); !read) return read.error();
  if (Status read = reader->Read("list-entries", options.list_entries, {1, 100'000'000}); !read) return read.error();
  if (Status read = reader->Read("list-bytes", options.list_bytes, {0, 1 << 20}); !read) return read.error();
  if (Status read = reader->Read("seed", options.seed, {}); !read) return read.error();
  if (Status read = ReadSizes(*reader, options.sizes_bytes); !read) return read.error();
  if (Status read = ReadDirectories(*reader, options); !read) return read.error();
  return options;
}

}  // namespace kvpagefs
