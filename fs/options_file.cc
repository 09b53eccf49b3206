// The --config file and its text form:
//
//   file    = { line "\n" }
//   line    = blank | "#" comment | name "=" value
//
// Blanks around name and value do not count. A comment has a line of its own: a value may hold any '#'. `name` is
// that of a long option, without dashes; an empty value is allowed where the option takes a path.
#include <cerrno>
#include <fstream>
#include <set>
#include <string>

#include <fmt/format.h>

#include "fs/options_table.h"

namespace kvpagefs {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// One line; `seen` holds the keys of the lines above. The error text has neither file nor line.
Status ApplyLine(std::string_view line, std::set<std::string_view>* seen, Options* options) {
  line = Trim(line);
  if (line.empty() || line.front() == '#') return {};
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return Error(ErrorCode::kInvalid, fmt::format("'{}' has no '=': write 'name = value'", line));
  }
  const std::string_view key = Trim(line.substr(0, equals));
  const OptionRow* row = FindOption(key);
  if (row == nullptr) {
    return Error(ErrorCode::kInvalid, fmt::format("unknown key '{}': 'kvpagefs --print-config' prints all keys", key));
  }
  if (!seen->insert(row->name).second) {
    return Error(ErrorCode::kInvalid, fmt::format("key '{}' is there twice: keep one of the lines", key));
  }
  if (Status set = row->set(Trim(line.substr(equals + 1)), options); !set.ok()) {
    return Error(ErrorCode::kInvalid, fmt::format("{}: {}", key, set.error().text()));
  }
  return {};
}

}  // namespace

Status ApplyConfigFile(const std::string& path, Options* options) {
  errno = 0;
  std::ifstream file(path);
  std::string line;
  std::set<std::string_view> seen;
  int number = 0;
  // A directory opens and fails at the first read.
  while (file && std::getline(file, line)) {
    ++number;
    if (Status applied = ApplyLine(line, &seen, options); !applied.ok()) {
      return Error(ErrorCode::kInvalid, fmt::format("{}:{}: {}", path, number, applied.error().text()));
    }
  }
  if (!file.eof()) {
    const int reason = errno;
    const Error error = Error::FromSystem(reason != 0 ? reason : EIO,
                                          fmt::format("configuration file '{}' cannot be read, check --config", path));
    return error;
  }
  return {};
}

std::string ConfigText(const Options& options) {
  std::string where = options.mount_point;
  for (char& c : where) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  std::string text = fmt::format("# kvpagefs {}{}{}\n", KVPAGEFS_VERSION, where.empty() ? "" : ", mount point ", where);
  for (const OptionRow& row : OptionTable()) {
    const std::string value = row.get(options);
    text += fmt::format("{} ={}{}\n", row.name, value.empty() ? "" : " ", value);
  }
  return text;
}

}  // namespace kvpagefs
