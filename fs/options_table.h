// The one table of options: private to fs/options*.cc and the tests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/options.h"

namespace kvpagefs {

struct OptionRow {
  enum class Kind : uint8_t {
    kValue,  // --name VALUE
    kFlag,   // --name; in -o the bare word; in a file and the environment `yes` or `no`
    kYesNo,  // --name yes|no; in -o also the bare word for yes
  };

  std::string_view name;  // without dashes, words joined by '-'
  Kind kind;
  std::string_view value_name;    // for people: SIZE, PATH, "auto|on|off"; empty for flags
  std::string_view default_text;  // for people
  std::string_view help;

  // Checks and stores. kInvalid names the value and what would be right, not the option.
  Status (*set)(std::string_view text, Options* options);
  // What `set` would take to give the same value.
  std::string (*get)(const Options& options);
};

std::span<const OptionRow> OptionTable();

// Null when there is none. '_' counts as '-', as mount(8) options are spelled both ways.
const OptionRow* FindOption(std::string_view name);

// "KVPAGEFS_HIGH_WATERMARK" for "high-watermark".
std::string EnvironmentName(std::string_view option_name);

// The options as they are when nothing is given; asks the machine for its memory and its name.
Options DefaultOptions();

// What the rows cannot check one by one: the watermarks' order, --memory against the machine.
Status CheckTogether(const Options& options);

// `path` from the current directory, without trailing slashes; an empty path stays empty.
std::string AbsolutePath(std::string_view path);

// Applies a --config file. kInvalid, kNotFound or kNotPermitted: the text names file, line and key.
Status ApplyConfigFile(const std::string& path, Options* options);

}  // namespace kvpagefs
