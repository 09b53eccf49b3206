// One line on standard error that is rewritten while work goes on; silent when standard error is no terminal.
#pragma once

#include <string>

namespace kvpagefs {

class Progress {
 public:
  Progress();
  explicit Progress(bool visible) : visible_(visible) {}
  // Wipes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(const std::string& line);
  void Clear();

 private:
  bool visible_;
  bool shown_ = false;
};

}  // namespace kvpagefs
