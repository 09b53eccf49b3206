#include "tools/fsck_command.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include "base/size.h"
#include "spill/ssd_check.h"
#include "spill/ssd_directory.h"

namespace kvpagefs {
namespace {

namespace po = boost::program_options;

po::options_description Known() {
  po::options_description all("Options");
  all.add_options()("dir", po::value<std::string>(), "the SSD directory (also given as the first word)")(
      "json", "prints everything as JSON")("help,h", "shows this");
  return all;
}

void PrintHelp() {
  std::ostringstream text;
  text << "Usage: kvpagectl fsck DIR [--json]\n\n"
          "Reads every region, record and page in an SSD directory and checks all checksums. Nothing is changed. The "
          "node that\nuses the directory must be stopped.\n\n"
       << Known() << "\nExit status: 0 clean, 1 something is damaged, 2 wrong command line, 3 could not be checked.\n";
  fmt::print("{}", text.str());
}

// A node that uses a directory makes it when it is missing; a check must not.
Status CheckIsDirectory(const std::string& dir) {
  struct stat info{};
  if (stat(dir.c_str(), &info) != 0) return Error::FromSystem(errno, fmt::format("'{}'", dir));
  if (!S_ISDIR(info.st_mode)) {
    return Error(ErrorCode::kNotDirectory, fmt::format("'{}' is not a directory: name what --ssd-dir names", dir));
  }
  if (stat((dir + "/identity").c_str(), &info) != 0) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' has no file 'identity': it is not a directory of a kvpagefs SSD tier", dir));
  }
  return {};
}

struct Finding {
  SsdCheckSummary summary;
  std::vector<SsdDamage> damages;
};

Result<Finding> Check(const std::string& dir) {
  if (Status is_directory = CheckIsDirectory(dir); !is_directory.ok()) return is_directory.error();
  SsdDirectory::Options options;
  options.path = dir;
  options.owner_text = "kvpagectl fsck";
  Result<SsdDirectory> directory = SsdDirectory::Open(options);
  if (!directory.ok()) return directory.error();
  SsdCheckOptions check_options;
  check_options.node_identity = directory->identity();
  Result<std::unique_ptr<SsdDisk>> disk = directory->TakeDisk();
  if (!disk.ok()) return disk.error();
  Finding finding;
  const auto report = [&finding](const SsdDamage& damage) { finding.damages.push_back(damage); };
  Result<SsdCheckSummary> summary = CheckDirectory(std::move(*disk), check_options, report);
  if (!summary.ok()) return summary.error();
  finding.summary = *summary;
  return finding;
}

void PrintText(const std::string& dir, const Finding& finding) {
  const SsdCheckSummary& sum = finding.summary;
  for (const SsdDamage& damage : finding.damages) {
    fmt::print("{} at {}: {}\n", damage.file, damage.offset, damage.reason);
  }
  fmt::print("{}: {} regions with records ({} without an index), {} free, {} of other nodes\n", dir, sum.regions,
             sum.unsealed_regions, sum.free_regions, sum.foreign_regions);
  fmt::print("{} records: {} pages ({}), {} superseded, {} removed\n", sum.records, sum.live_records,
             FormatSize(sum.live_bytes), sum.superseded_records, sum.removed_records);
  fmt::print("{}\n", sum.clean() ? "clean" : fmt::format("{} damaged places", sum.damaged));
}

void PrintJson(const std::string& dir, const Finding& finding) {
  const SsdCheckSummary& sum = finding.summary;
  nlohmann::json damages = nlohmann::json::array();
  for (const SsdDamage& damage : finding.damages) {
    damages.push_back({{"file", damage.file}, {"offset", damage.offset}, {"reason", damage.reason}});
  }
  const nlohmann::json all = {{"dir", dir},
                              {"clean", sum.clean()},
                              {"regions", sum.regions},
                              {"unsealed_regions", sum.unsealed_regions},
                              {"free_regions", sum.free_regions},
                              {"foreign_regions", sum.foreign_regions},
                              {"records", sum.records},
                              {"pages", sum.live_records},
                              {"page_bytes", sum.live_bytes},
                              {"superseded_records", sum.superseded_records},
                              {"removed_records", sum.removed_records},
                              {"damaged", sum.damaged},
                              {"damages", damages}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

CtlExit RunFsckCommand(Arguments arguments) {
  std::vector<std::string> words(arguments.begin(), arguments.end());
  if (!words.empty() && !words.front().starts_with('-')) words.insert(words.begin(), "--dir");
  const Result<OptionReader> reader = OptionReader::Parse(words, Known(), "kvpagectl fsck");
  if (!reader.ok()) return ComplainCtl(reader.error(), CtlExit::kUsage);
  if (reader->Has("help")) {
    PrintHelp();
    return CtlExit::kOk;
  }
  std::string dir;
  reader->Read("dir", dir);
  if (dir.empty()) {
    return ComplainCtl({ErrorCode::kInvalid, "fsck: name the SSD directory: kvpagectl fsck DIR"}, CtlExit::kUsage);
  }
  const Result<Finding> finding = Check(dir);
  if (!finding.ok()) return ComplainCtl(finding.error(), CtlExit::kFailed);
  if (reader->Has("json")) {
    PrintJson(dir, *finding);
  } else {
    PrintText(dir, *finding);
  }
  return finding->summary.clean() ? CtlExit::kOk : CtlExit::kFound;
}

}  // namespace kvpagefs
