#include "daemon/program_options.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr size_t kHelpColumn = 24;

enum class Common : uint8_t { kHelp, kVersion, kPrintConfig, kConfig, kForeground };

// One option as it was given: where (for the error text), which, and its value.
struct Given {
  std::string origin;
  const ProgramOption* option;
  std::string value;
};

struct Words {
  ProgramCall call;
  std::string config_path;
  std::vector<Given> given;  // in order: the last one wins
};

Error Usage(std::string text) { return {ErrorCode::kInvalid, std::move(text)}; }

std::string SeeHelp(const ProgramDescription& program) {
  return fmt::format("'{} --help' lists what there is", program.name);
}

std::optional<Common> FindCommon(std::string_view word) {
  std::map<std::string_view, Common> words = {
      {"-h", Common::kHelp}, {"-V", Common::kVersion}, {"-f", Common::kForeground}};
  const auto add = [&words](std::string_view name, Common what) { words[name] = what; };
  add("help", Common::kHelp);
  add("version", Common::kVersion);
  add("print-config", Common::kPrintConfig);
  add("config", Common::kConfig);
  const auto found = words.find(word.starts_with("--") ? word.substr(2) : word.starts_with("-") ? word : "--");
  if (found == words.end()) return std::nullopt;
  return found->second;
}

const ProgramOption* FindProgramOption(const ProgramDescription& program, std::string_view name) {
  const auto found = std::find_if(program.options.begin(), program.options.end(),
                                  [name](const ProgramOption& option) { return option.name == name; });
  return found == program.options.end() ? nullptr : &*found;
}

std::string VariableOf(const ProgramDescription& program, std::string_view name) {
  std::string variable(program.prefix);
  for (const char c : name) variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

void Note(Common what, Words* words) {
  ProgramAction& action = words->call.action;
  switch (what) {
    case Common::kHelp: action = ProgramAction::kHelp; break;
    case Common::kVersion:
      if (action != ProgramAction::kHelp) action = ProgramAction::kVersion;
      break;
    case Common::kPrintConfig:
      if (action == ProgramAction::kRun) action = ProgramAction::kPrintConfig;
      break;
    case Common::kForeground: words->call.foreground = true; break;
    case Common::kConfig: break;
  }
}

Result<Words> ReadCommandLine(const ProgramDescription& program, int argc, const char* const* argv) {
  Words words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const std::string name(word.substr(0, equals));
    const bool has_value = equals != std::string_view::npos;
    const std::optional<Common> common = FindCommon(name);
    const ProgramOption* option =
        name.starts_with("--") ? FindProgramOption(program, std::string_view(name).substr(2)) : nullptr;
    if (common && *common != Common::kConfig) {
      if (has_value) return Usage(fmt::format("option '{}' takes no value: {}", name, SeeHelp(program)));
      Note(*common, &words);
      continue;
    }
    if (!common && option == nullptr) {
      const char* what = word.starts_with("-") ? "unknown option" : "unexpected argument";
      return Usage(fmt::format("{} '{}': {}", what, name, SeeHelp(program)));
    }
    if (!has_value && i + 1 == argc) return Usage(fmt::format("option '{}' needs a value: {}", name, SeeHelp(program)));
    const std::string value(has_value ? word.substr(equals + 1) : std::string_view(argv[++i]));
    if (common) {
      words.config_path = value;
    } else {
      words.given.push_back({name, option, value});
    }
  }
  return words;
}

// Variables with an empty value count as not set, as shells make them easily.
std::map<std::string, std::string> ReadVariables(std::string_view prefix, const char* const* environment) {
  std::map<std::string, std::string> variables;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals + 1 == entry.size() || !entry.starts_with(prefix)) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// One line of a file; `seen` holds the names of the lines above.
Status ReadLine(const ProgramDescription& program, std::string_view line, std::set<std::string_view>* seen,
                std::vector<Given>* given) {
  line = Trim(line);
  if (line.empty() || line.front() == '#') return {};
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return Usage(fmt::format("'{}' has no '=': write 'name = value'", line));
  const std::string_view name = Trim(line.substr(0, equals));
  const ProgramOption* option = FindProgramOption(program, name);
  if (option == nullptr) {
    return Usage(fmt::format("unknown key '{}': '{} --print-config' prints all keys", name, program.name));
  }
  if (!seen->insert(option->name).second) {
    return Usage(fmt::format("key '{}' is there twice: keep one of the lines", name));
  }
  given->push_back({std::string(name), option, std::string(Trim(line.substr(equals + 1)))});
  return {};
}

Result<std::vector<Given>> ReadConfigFile(const ProgramDescription& program, const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::string line;
  std::set<std::string_view> seen;
  std::vector<Given> given;
  // A directory opens and fails at the first read.
  for (int number = 1; file && std::getline(file, line); ++number) {
    const size_t before = given.size();
    if (Status read = ReadLine(program, line, &seen, &given); !read.ok()) {
      return Usage(fmt::format("{}:{}: {}", path, number, read.error().text()));
    }
    if (given.size() > before) given.back().origin = fmt::format("{}:{}: {}", path, number, given.back().origin);
  }
  if (!file.eof()) {
    return Error::FromSystem(errno != 0 ? errno : EIO,
                             fmt::format("configuration file '{}' cannot be read, check --config", path));
  }
  return given;
}

Result<ProgramCall> ParseAll(const ProgramDescription& program, int argc, const char* const* argv,
                             const char* const* environment) {
  Result<Words> words = ReadCommandLine(program, argc, argv);
  if (!words.ok()) return words.error();
  const ProgramAction action = words->call.action;
  if (action == ProgramAction::kHelp || action == ProgramAction::kVersion) return words->call;

  const auto variables = ReadVariables(program.prefix, environment);
  const auto config = variables.find(VariableOf(program, "config"));
  if (words->config_path.empty() && config != variables.end()) words->config_path = config->second;
  std::vector<Given> given;
  if (!words->config_path.empty()) {
    Result<std::vector<Given>> file = ReadConfigFile(program, words->config_path);
    if (!file.ok()) return file.error();
    given = *std::move(file);
  }
  for (const ProgramOption& option : program.options) {
    const auto variable = variables.find(VariableOf(program, option.name));
    if (variable != variables.end()) given.push_back({variable->first, &option, variable->second});
  }
  given.insert(given.end(), words->given.begin(), words->given.end());
  for (const Given& one : given) {
    if (Status set = one.option->set(one.value); !set.ok()) {
      return Usage(fmt::format("{}: {}", one.origin, set.error().text()));
    }
  }
  return words->call;
}

}  // namespace

Result<ProgramCall> ParseProgramOptions(const ProgramDescription& program, int argc, const char* const* argv,
                                        const char* const* environment) {
  Result<ProgramCall> call = ParseAll(program, argc, argv, environment);
  if (call.ok()) return call;
  // Input is quoted in the text, and may hold anything.
  std::string text = call.error().Describe();
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, '?');
  return Error(call.code(), std::move(text));
}

std::string ProgramHelp(const ProgramDescription& program) {
  std::string text = fmt::format(
      "usage: {} [options]\n"
      "\n"
      "{}\n"
      "\n"
      "  -f                    stay in the foreground, log to standard error\n"
      "  --config FILE         read options from FILE, in lines 'name = value' ({})\n"
      "  --print-config        print the effective configuration and exit\n"
      "  -h, --help            print this and exit\n"
      "  -V, --version         print the version and exit\n"
      "\n",
      program.name, program.summary, VariableOf(program, "config"));
  for (const ProgramOption& option : program.options) {
    const std::string name = fmt::format("--{} {}", option.name, option.value_name);
    // A long name has its text on the next line.
    text += name.size() > kHelpColumn - 3 ? fmt::format("  {}\n{:{}}", name, "", kHelpColumn)
                                          : fmt::format("  {:<{}}", name, kHelpColumn - 2);
    text += fmt::format("{}\n{:{}}(default: {}; {})\n", option.help, "", kHelpColumn, option.default_text,
                        VariableOf(program, option.name));
  }
  return text + fmt::format(
                    "\n"
                    "The command line counts before the environment, the environment before the file.\n"
                    "Times are written like 500ms or 2s. See {}(8).\n",
                    program.name);
}

std::string ProgramConfig(const ProgramDescription& program) {
  std::string text = fmt::format("# {} {}\n", program.name, program.version);
  for (const ProgramOption& option : program.options) {
    const std::string value = option.get();
    text += fmt::format("{} ={}{}\n", option.name, value.empty() ? "" : " ", value);
  }
  return text;
}

}  // namespace kvpagefs
