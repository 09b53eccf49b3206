#include "fs/options.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>

#include "fs/options_table.h"

namespace kvpagefs {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kStandalone = "standalone";
constexpr size_t kHelpColumn = 24;
constexpr std::string_view kSeeHelp = "'kvpagefs --help' lists what there is";

// What mount(8) and fstab lines carry along and is not for the file system.
constexpr std::array<std::string_view, 28> kIgnoredMountOptions = {
    "rw",         "defaults",    "auto",          "noauto",   "user",       "nouser",   "users",
    "owner",      "group",       "nofail",        "dev",      "nodev",      "suid",     "nosuid",
    "exec",       "noexec",      "atime",         "noatime",  "async",      "_netdev",  "relatime",
    "norelatime", "strictatime", "nostrictatime", "lazytime", "nolazytime", "diratime", "nodiratime"};

// One option as it was given: where (for the error text), which, and its value.
struct Given {
  std::string origin;
  const OptionRow* row;
  std::string value;
};

struct CommandLine {
  ParsedOptions::Action action = ParsedOptions::Action::kRun;
  bool foreground = false;
  bool debug = false;
  std::string config_path;
  std::vector<Given> given;  // in order: the last one wins
  std::vector<std::string> arguments;
};

Error Usage(std::string text) { return Error(ErrorCode::kInvalid, std::move(text)); }

bool IsIgnoredMountOption(std::string_view item) {
  return item.starts_with("x-") || item.starts_with("X-") || item.starts_with("comment=") ||
         std::find(kIgnoredMountOptions.begin(), kIgnoredMountOptions.end(), item) != kIgnoredMountOptions.end();
}

// The items of one -o; "\," and "\\" stand for themselves.
std::vector<std::string> SplitMountOptions(std::string_view text) {
  std::vector<std::string> items(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      items.emplace_back();
    } else {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      items.back() += text[i];
    }
  }
  std::erase(items, std::string());
  return items;
}

Status AddMountOption(const std::string& item, CommandLine* line) {
  if (IsIgnoredMountOption(item)) return {};
  if (item == "ro") return Usage("-o ro is not possible: a kvpagefs mount is always writable; leave 'ro' out");
  const size_t equals = item.find('=');
  const std::string name = item.substr(0, equals);
  const bool has_value = equals != std::string::npos;
  std::string value = has_value ? item.substr(equals + 1) : "yes";
  if (name == "config" && has_value) {
    line->config_path = value;
    return {};
  }
  const OptionRow* row = FindOption(name);
  if (row == nullptr) return Usage(fmt::format("unknown mount option '{}' in -o: {}", name, kSeeHelp));
  if (!has_value && row->kind == OptionRow::Kind::kValue) {
    return Usage(fmt::format("mount option '{0}' needs a value: write -o {0}={1}", name, row->value_name));
  }
  line->given.push_back({"-o " + name, row, std::move(value)});
  return {};
}

po::options_description Describe() {
  po::options_description all;
  auto add = all.add_options();
  add(",o", po::value<std::string>(), "")(",f", "")(",d", "")("help,h", "")("version,V", "")("print-config", "");
  add("config", po::value<std::string>(), "");
  for (const OptionRow& row : OptionTable()) {
    const std::string name(row.name);
    if (row.kind == OptionRow::Kind::kFlag) {
      add(name.c_str(), "");
    } else {
      add(name.c_str(), po::value<std::string>(), "");
    }
  }
  return all;
}

Status AddOption(const po::option& option, CommandLine* line) {
  const std::string& key = option.string_key;
  const std::string value = option.value.empty() ? "" : option.value.front();
  using Action = ParsedOptions::Action;
  if (key.empty()) {
    line->arguments.insert(line->arguments.end(), option.value.begin(), option.value.end());
  } else if (key == "-o") {
    for (const std::string& item : SplitMountOptions(value)) {
      if (Status added = AddMountOption(item, line); !added.ok()) return added;
    }
  } else if (key == "-f") {
    line->foreground = true;
  } else if (key == "-d") {
    line->debug = true;
  } else if (key == "help") {
    line->action = Action::kHelp;
  } else if (key == "version") {
    if (line->action != Action::kHelp) line->action = Action::kVersion;
  } else if (key == "print-config") {
    if (line->action == Action::kRun) line->action = Action::kPrintConfig;
  } else if (key == "config") {
    line->config_path = value;
  } else {
    const OptionRow* row = FindOption(key);
    line->given.push_back({"--" + key, row, row->kind == OptionRow::Kind::kFlag ? "yes" : value});
  }
  return {};
}

// Boost's texts say what is wrong; the remedy is added here.
Result<std::vector<po::option>> Tokenize(int argc, const char* const* argv) {
  const po::options_description described = Describe();
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  try {
    // No guessing: an abbreviation would change its meaning when an option is added.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    return po::command_line_parser(words).options(described).style(style).run().options;
  } catch (const po::unknown_option& e) {
    return Usage(fmt::format("unknown option '{}': {}", e.get_option_name(), kSeeHelp));
  } catch (const po::invalid_syntax& e) {
    const bool extra = e.kind() == po::invalid_syntax::extra_parameter;
    return Usage(
        fmt::format("option '{}' {}: {}", e.get_option_name(), extra ? "takes no value" : "needs a value", kSeeHelp));
  } catch (const po::error& e) {
    return Usage(fmt::format("{}: {}", e.what(), kSeeHelp));
  }
}

Status Apply(const std::vector<Given>& given, Options* options) {
  for (const Given& one : given) {
    if (Status set = one.row->set(one.value, options); !set.ok()) {
      return Usage(fmt::format("{}: {}", one.origin, set.error().text()));
    }
  }
  return {};
}

// Variables with an empty value count as not set, as shells make them easily.
std::map<std::string_view, std::string_view> ReadEnvironment(const char* const* environment) {
  std::map<std::string_view, std::string_view> variables;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals + 1 == entry.size()) continue;
    if (entry.starts_with("KVPAGEFS_")) variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

Status ApplyArguments(const CommandLine& line, Options* options) {
  const std::vector<std::string>& arguments = line.arguments;
  if (arguments.size() > 2) {
    return Usage(
        fmt::format("too many arguments, '{}' is one too much: write kvpagefs [SOURCE] MOUNTPOINT", arguments[2]));
  }
  if (arguments.empty()) {
    if (line.action != ParsedOptions::Action::kRun) return {};
    return Usage(fmt::format("no mount point given: write kvpagefs MOUNTPOINT; {}", kSeeHelp));
  }
  if (arguments.size() == 2) {
    options->source = arguments[0];
    if (arguments[0] != kStandalone) {
      Result<std::vector<Address>> addresses = ParseAddresses(arguments[0], kDefaultMetaPort);
      if (!addresses.ok()) {
        return Usage(fmt::format("source: {}; or write 'standalone'", addresses.error().Describe()));
      }
      options->meta_addresses = std::move(*addresses);
    }
  }
  if (arguments.back().empty()) return Usage("mount point '' is empty: name a directory");
  options->mount_point = AbsolutePath(arguments.back());
  return {};
}

Result<ParsedOptions> ParseAll(int argc, const char* const* argv, const char* const* environment) {
  const auto tokens = Tokenize(argc, argv);
  if (!tokens.ok()) return tokens.error();
  CommandLine line;
  for (const po::option& option : *tokens) {
    if (Status added = AddOption(option, &line); !added.ok()) return added.error();
  }

  ParsedOptions parsed{line.action, DefaultOptions()};
  if (line.action == ParsedOptions::Action::kHelp || line.action == ParsedOptions::Action::kVersion) return parsed;

  const auto variables = ReadEnvironment(environment);
  const auto config_variable = variables.find("KVPAGEFS_CONFIG");
  if (line.config_path.empty() && config_variable != variables.end()) line.config_path = config_variable->second;
  std::vector<Given> given;
  for (const OptionRow& row : OptionTable()) {
    const std::string name = EnvironmentName(row.name);
    const auto variable = variables.find(name);
    if (variable != variables.end()) given.push_back({name, &row, std::string(variable->second)});
  }
  given.insert(given.end(), line.given.begin(), line.given.end());

  Options* options = &parsed.options;
  options->foreground = line.foreground || line.debug;
  options->debug = line.debug;
  if (!line.config_path.empty()) {
    if (Status file = ApplyConfigFile(line.config_path, options); !file.ok()) return file.error();
  }
  if (Status applied = Apply(given, options); !applied.ok()) return applied.error();
  if (Status applied = ApplyArguments(line, options); !applied.ok()) return applied.error();
  // In a cluster the metadata daemon keeps the names.
  if (options->state_dir.empty() && !options->ssd_dirs.empty() && options->meta_addresses.empty())
    options->state_dir = options->ssd_dirs.front() + "/names";
  if (Status checked = CheckTogether(*options); !checked.ok()) return checked.error();
  return parsed;
}

}  // namespace

Result<ParsedOptions> ParseOptions(int argc, const char* const* argv, const char* const* environment) {
  Result<ParsedOptions> parsed = ParseAll(argc, argv, environment);
  if (parsed.ok()) return parsed;
  // Input is quoted in the text, and may hold anything.
  std::string text = parsed.error().text();
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, '?');
  return Error(parsed.code(), std::move(text));
}

std::string HelpText() {
  std::string text =
      "usage: kvpagefs [SOURCE] MOUNTPOINT [options]\n"
      "\n"
      "Mounts a file system over KV-cache pages. SOURCE is the address of a metadata daemon\n"
      "(kvpagemetad), host:port[,host:port]; without it, or with the word standalone, the node is alone.\n"
      "\n"
      "  -f                    stay in the foreground, log to standard error\n"
      "  -d                    as -f, and show every request of the kernel\n"
      "  -o OPT[,OPT...]       options as mount(8) gives them: any long option without its dashes\n"
      "  --config FILE         read options from FILE, in lines 'name = value' (KVPAGEFS_CONFIG)\n"
      "  --print-config        print the effective configuration and exit\n"
      "  -h, --help            print this and exit\n"
      "  -V, --version         print the version and exit\n"
      "\n";
  for (const OptionRow& row : OptionTable()) {
    const std::string name = fmt::format("--{}{}{}", row.name, row.value_name.empty() ? "" : " ", row.value_name);
    // A long name has its text on the next line.
    text += name.size() > kHelpColumn - 3 ? fmt::format("  {}\n{:{}}", name, "", kHelpColumn)
                                          : fmt::format("  {:<{}}", name, kHelpColumn - 2);
    text += fmt::format("{}\n{:{}}(default: {}; {})\n", row.help, "", kHelpColumn, row.default_text,
                        EnvironmentName(row.name));
  }
  text +=
      "\n"
      "The command line counts before the environment, the environment before the file.\n"
      "Sizes are written like 512M, 4GiB or 65536, times like 500ms or 2s. See kvpagefs(8).\n";
  return text;
}

}  // namespace kvpagefs
