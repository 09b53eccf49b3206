// One command line as text values, and checked conversions that name the option and say what would be right.
//
// A thin cover over boost::program_options: no exception leaves it, abbreviations are not guessed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>

#include "base/result.h"

namespace kvpagefs {

using Arguments = std::span<const std::string>;

struct CountRange {
  uint64_t min = 0;
  uint64_t max = ~uint64_t{0};
};

class OptionReader {
 public:
  // Options of `known` are strings or flags; words that are no options are kInvalid.
  static Result<OptionReader> Parse(Arguments arguments, const boost::program_options::options_description& known,
                                    std::string command);

  bool Has(const std::string& name) const { return values_.count(name) > 0; }
  // Leave `value` alone when the option is not given.
  void Read(const std::string& name, std::string& value) const;
  Status Read(const std::string& name, uint64_t& value, CountRange range) const;
  Status ReadSize(const std::string& name, uint64_t& value) const;
  Status ReadFraction(const std::string& name, double& value) const;
  // Comma-separated words.
  void ReadList(const std::string& name, std::vector<std::string>& values) const;

 private:
  OptionReader() = default;
  const std::string& Text(const std::string& name) const { return values_[name].as<std::string>(); }

  boost::program_options::variables_map values_;
};

}  // namespace kvpagefs
