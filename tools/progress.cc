#include "tools/progress.h"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace kvpagefs {

Progress::Progress() : visible_(::isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() { Clear(); }

void Progress::Show(const std::string& line) {
  if (!visible_) return;
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace kvpagefs
