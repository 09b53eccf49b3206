#include "tools/option_reader.h"

#include <charconv>

#include <fmt/format.h>
#include <boost/program_options.hpp>

#include "base/size.h"

namespace kvpagefs {
namespace {

namespace po = boost::program_options;

}  // namespace

Result<OptionReader> OptionReader::Parse(Arguments arguments, const po::options_description& known,
                                         std::string command) {
  OptionReader reader;
  const auto invalid = [&command](const std::string& what) {
    return Error(ErrorCode::kInvalid, fmt::format("{}; see {} --help", what, command));
  };
  try {
    const std::vector<std::string> words(arguments.begin(), arguments.end());
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    const po::positional_options_description no_positional;
    po::store(po::command_line_parser(words).options(known).positional(no_positional).style(style).run(),
              reader.values_);
    po::notify(reader.values_);
  } catch (const po::too_many_positional_options_error&) {
    return invalid("an argument is no option");
  } catch (const po::error& e) {
    return invalid(e.what());
  }
  return reader;
}

void OptionReader::Read(const std::string& name, std::string& value) const {
  if (Has(name)) value = Text(name);
}

Status OptionReader::Read(const std::string& name, uint64_t& value, CountRange range) const {
  if (!Has(name)) return {};
  const std::string& text = Text(name);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && value >= range.min && value <= range.max) return {};
  const std::string limit =
      range.max == ~uint64_t{0} ? fmt::format(">= {}", range.min) : fmt::format("from {} to {}", range.min, range.max);
  return Error(ErrorCode::kInvalid, fmt::format("--{} '{}': write a whole number {}", name, text, limit));
}

Status OptionReader::ReadSize(const std::string& name, uint64_t& value) const {
  if (!Has(name)) return {};
  const Result<uint64_t> size = ParseSize(Text(name));
  if (!size) return Error(ErrorCode::kInvalid, fmt::format("--{}: {}", name, size.error().Describe()));
  if (*size == 0) return Error(ErrorCode::kInvalid, fmt::format("--{} '{}': must not be 0", name, Text(name)));
  value = *size;
  return {};
}

Status OptionReader::ReadFraction(const std::string& name, double& value) const {
  if (!Has(name)) return {};
  const std::string& text = Text(name);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value > 0 && value <= 1) return {};
  return Error(ErrorCode::kInvalid, fmt::format("--{} '{}': write a number above 0, at most 1", name, text));
}

void OptionReader::ReadList(const std::string& name, std::vector<std::string>& values) const {
  if (!Has(name)) return;
  values.clear();
  std::string_view rest = Text(name);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (comma != 0) values.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
}

}  // namespace kvpagefs
