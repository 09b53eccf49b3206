// Columns of text: the first column left, the others right aligned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvpagefs {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);

  // As many cells as the header has.
  void AddRow(std::vector<std::string> cells);
  // Every line ends with a newline; no line ends with blanks.
  std::string Render() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "64 KiB", "1 MiB", "1.5 MiB": FormatSize without a useless ".0".
std::string ShortSize(uint64_t bytes);

// Three significant digits: "0.85", "12.3", "1234".
std::string ShortNumber(double value);

}  // namespace kvpagefs
